"""Which case of the references is compared with which row of `--like`, how closely, and what is left out and why."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import torch

from advcli import compute_advantages
from advcli.frameworks.catalog import find

DATA = Path(__file__).parent / "data"

# Relative to the largest |A| of the case; float32 leaves 6e-8 a step.
TOLERANCE = 2e-6
# Batches that were made to lose digits: rewards far from 0, or close together, in a group or in the whole step.
HARD = ("offset-n4", "narrow-n4", "far-", "near-")
# TRL's AsyncGRPO and ART compute in float64.
DOUBLE = {("trl", "AsyncGRPO"), ("art", "grpo"), *(("tunix", name) for name in ("grpo", "rloo", "drgrpo"))}
DOUBLE_TOLERANCE, DOUBLE_HARD = 1e-12, 1e-9
# Four units in the last place of float32.
_LAST_DIGITS = 4 * 2.0**-23

# (file, the framework's name) → (like, estimator)
NAMES = {
    "verl": {name: ("verl", name) for name in (
        "grpo", "grpo_vectorized", "grpo_passk", "rloo", "rloo_vectorized", "opo", "gpg", "remax", "gdpo",
        "reinforce_plus_plus", "reinforce_plus_plus_baseline",
    )},
    "verl-0.8.0": {"grpo_vectorized": ("verl@0.8.0", "grpo_vectorized"), "opo": ("verl@0.8.0", "opo")},
    "verl-0.7.1": {name: ("verl@0.7.1", name) for name in ("grpo_vectorized", "rloo_vectorized", "opo")},
    "twinkle": {"GRPOAdvantage": ("twinkle", "grpo"), "RLOOAdvantage": ("twinkle", "rloo")},
    "ms-swift": {name: ("ms-swift", name) for name in ("grpo", "rloo", "reinforce_plus_plus")},
    "trl": {"GRPO": ("trl@1.16.0", "grpo"), "RLOO": ("trl@1.16.0", "rloo"), "AsyncGRPO": ("trl@1.16.0", "async_grpo")},
    "trl-1.5.1": {"GRPO": ("trl@1.5.1", "grpo"), "RLOO": ("trl@1.5.1", "rloo")},
    "trl-0.22.0": {"GRPO": ("trl@0.22.0", "grpo"), "RLOO": ("trl@0.22.0", "rloo")},
    "trl-0.21.0": {"GRPO": ("trl@0.21.0", "grpo")},
    "openrlhf": {name: ("openrlhf", name) for name in (
        "rloo", "dr_grpo", "group_norm", "reinforce_baseline", "reinforce", "flash_reinforce",
    )},
    "skyrl": {name: ("skyrl", name) for name in ("grpo", "rloo", "maxrl", "reinforce++")},
    "areal": {name: ("areal@1.0.4", name) for name in ("grpo", "drgrpo", "liteppo", "rloo", "batch")}
    | {"rloo_std": ("areal@1.0.4", "rloo")},
    "art": {"grpo": ("art", "grpo")},
    "tinker-cookbook": {"grpo": ("tinker-cookbook", "grpo")},
    "trinity-rft": {name: ("trinity-rft@0.6.0", name) for name in (
        "grpo", "grpo_verl", "opmd", "opmd_verl", "asymre", "asymre_verl", "rec", "reinforce", "rloo", "remax",
        "reinforceplusplus",
    )},
    "tunix": {name: ("tunix@0.1.7", name) for name in ("grpo", "rloo", "drgrpo")},
    "rlinf": {name: ("rlinf@0.3.0", name) for name in ("grpo", "reinpp", "raw")},
    "siirl": {name: ("siirl@0.2.0", name) for name in ("grpo", "cpgd")},
    "areno": {name: ("areno@0.10.0", name) for name in ("grpo", "agentic_grpo")},
}  # fmt: skip

# siiRL's word for the weight → the scale.
CPGD = {"STD_weight": "group", "naive": "none", "clip_filter_like_weight": "batch"}

# What is compared elsewhere, or not at all, each with its reason.
ELSEWHERE = "compared in test_token_parity.py"
LEFT_OUT = {
    "gae": ELSEWHERE,
    "ppo": ELSEWHERE,
    "log_probs": ELSEWHERE,
    "GAEAdvantage": ELSEWHERE,
    "optimal_token_baseline": ELSEWHERE,
    "tir_optimal_token_baseline": ELSEWHERE,
    "gamma": ELSEWHERE,
    "masks": ELSEWHERE,
    "kl": ELSEWHERE,
    "beta": ELSEWHERE,
    "overlong_buffer_len": ELSEWHERE,
    "reward_clip_range": ELSEWHERE,
    "truncated": "the penalty of OpenRLHF for truncated rows: a dump does not tell which rows those are",
    "clip_range": "a range of OpenRLHF's clipping other than the default of ±10",
    "requests": "conversations of several rows in ms-swift: the ids that join them are not in a dump",
}


def reason_to_leave_out(case: Mapping) -> str | None:
    """Why a case is not compared; None if it is."""
    knobs = case["knobs"]
    active = {name for name, value in knobs.items() if value is not None and value is not False}
    if list(knobs.get("clip_range") or ()) == [-10.0, 10.0]:
        active.discard("clip_range")
    if "clip_range" in knobs and knobs["clip_range"] is None:
        active.add("clip_range")
    active |= {
        name for name in ("masks", "kl", "log_probs", "requests", "truncated") if case.get(name) is not None
    }
    if case["estimator"] == "reinforce_plus_plus" and knobs.get("gamma") == 1.0:
        active.discard("gamma")
    return next((LEFT_OUT[word] for word in (case["estimator"], *sorted(active)) if word in LEFT_OUT), None)


def heads() -> dict[str, tuple[str, str]]:
    """File → package and version."""
    found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(DATA.glob("*.json"))}
    return {name: (file["package"], file["version"]) for name, file in found.items()}


def references() -> Iterator[tuple[str, Mapping]]:
    """Every case with the file that it is in."""
    for path in sorted(DATA.glob("*.json")):
        for case in json.loads(path.read_text(encoding="utf-8"))["cases"]:
            yield path.stem, case


CASES = [(name, case) for name, case in references() if reason_to_leave_out(case) is None]


def target(file: str, case: Mapping) -> tuple[str, str, str | None]:
    """`like`, estimator and scale of `compute_advantages` that a case is compared with."""
    like, estimator = NAMES[file][case["estimator"]]
    scale = _scale(case)
    if scale == "gdpo" and (estimator == "reinforce_plus_plus" or case["knobs"].get("dynamic")):
        scale = "none"  # ms-swift has no such branch there and falls through to the centred rewards
    if scale == "gdpo" or case["knobs"].get("multi_objective_aggregation") == "normalize_then_sum":
        estimator, scale = "gdpo", None
    return like, estimator, scale


def _scale(case: Mapping) -> str | None:
    """The framework's own word for the scale, as advcli's."""
    knobs = case["knobs"]
    for name in ("norm_adv_by_std_in_grpo", "grpo_norm_by_std"):
        if name in knobs:
            return "group" if knobs[name] else "none"
    if knobs.get("no_std_norm"):
        return "none"
    if knobs.get("normalize_advantages"):
        return "batch"
    if case["estimator"] == "rloo_std":
        return "group"
    if case["estimator"] == "rec":
        return "group" if knobs.get("std_normalize") else "none"
    if "weight_factor_in_cpgd" in knobs:
        return CPGD[knobs["weight_factor_in_cpgd"]]
    scale = knobs.get("scale_rewards", knobs.get("scale", knobs.get("std_cal_level")))
    return {True: "group", False: "none"}.get(scale, scale)


def computed(file: str, case: Mapping) -> list[float]:
    """What advcli gives for a case."""
    return together(file, [case])[0]


def together(file: str, cases: Sequence[Mapping]) -> list[list[float]]:
    """What advcli gives for cases of one rule as the steps of one data set."""
    like, estimator, scale = target(file, cases[0])
    knobs = cases[0]["knobs"]
    rows = [row if isinstance(row, list) else [row] for case in cases for row in case["rewards"]]
    given = {
        name: [value for case in cases for value in case[name]]
        for name in ("lengths", "baselines")
        if cases[0].get(name) is not None
    }
    found = compute_advantages(
        torch.tensor([[math.nan if x is None else x for x in row] for row in rows], dtype=torch.float64),
        [(step, group) for step, case in enumerate(cases) for group in case["groups"]],
        like=like,
        estimator=estimator,
        scale=scale,
        weights=knobs.get("weights") or knobs.get("reward_weights"),
        steps=[step for step, case in enumerate(cases) for _ in case["groups"]],
        **given,
        **{name: knobs[name] for name in find(like, estimator).options if name in knobs},
    ).original
    return [part.tolist() for part in found.split([len(case["groups"]) for case in cases])]


def expected(case: Mapping) -> list[float]:
    """What the framework gave."""
    return [math.nan if a is None else a for a in case["advantages"]]


def tolerance(file: str, case: Mapping) -> float:
    """The largest difference that is allowed, relative to the largest |A| of the case."""
    if (file, case["estimator"]) in DOUBLE:
        return DOUBLE_HARD if is_hard(case) else DOUBLE_TOLERANCE
    if case["knobs"].get("opmd_baseline") == "logavgexp" and is_hard(case):
        # The last digit of an exponential depends on the processor, and the rewards differ by little more than that.
        peak = max(abs(a) for a in expected(case) if math.isfinite(a))
        return max(TOLERANCE, _LAST_DIGITS * max(map(abs, case["rewards"])) / peak)
    return TOLERANCE


def is_hard(case: Mapping) -> bool:
    """Whether the batch was made to lose digits."""
    return case["batch"].startswith(HARD)


def dead_rows(case: Mapping) -> set[int]:
    """Rows of groups in which every row has the same rewards."""
    members: dict[str, list[int]] = {}
    for row, group in enumerate(case["groups"]):
        members.setdefault(group, []).append(row)
    return {r for rows in members.values() if len({str(case["rewards"][r]) for r in rows}) == 1 for r in rows}
