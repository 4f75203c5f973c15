"""advcli against the frameworks' own packages where a row has an advantage per token, or KL in the reward."""

import json
import math
from pathlib import Path

import pytest
import torch

from advcli import compute_advantages

DATA = Path(__file__).parent / "data"

# Relative to the largest |A| of the case. A recursion over the tokens of a row rounds once per token, and the
# trainers make it in float32 from the last token to the first.
TOLERANCE = 2e-6

# file → (like, the framework's name → ours where it differs)
LIKE = {
    "verl": ("verl@0.9.1", {}),
    "verl-0.8.0": ("verl@0.8.0", {}),
    "verl-0.7.1": ("verl@0.7.1", {}),
    "verl-0.4.1": ("verl@0.4.1", {}),
    "skyrl": ("skyrl", {}),
    "twinkle": ("twinkle", {"GAEAdvantage": "gae"}),
    "openrlhf": ("openrlhf", {}),
    "ms-swift": ("ms-swift", {}),
    "trinity-rft": ("trinity-rft@0.6.0", {}),
}
OPTIONS = {
    "rank_penalty": "rank_penalty",
    "gamma": "gamma",
    "lam": "lam",
    "lambd": "lam",
    "gae_lambda": "lam",
}
PER_TOKEN = ("values", "log_probs", "sum_pi_squared", "masks", "kl")


def is_ours(case):
    return any(case.get(name) is not None for name in PER_TOKEN) or isinstance(case["advantages"][0], list)


CASES = [
    (path.stem, case)
    for path in sorted(DATA.glob("*.json"))
    if path.stem in LIKE
    for case in json.loads(path.read_text(encoding="utf-8"))["cases"]
    if is_ours(case)
]


def arguments(case):
    knobs = case["knobs"]
    given = {OPTIONS[name]: value for name, value in knobs.items() if name in OPTIONS}
    if case["estimator"] in ("rloo", "group_norm", "dr_grpo", "flash_reinforce"):
        given.pop("gamma", None)
    given |= {name: case[name] for name in ("values", "log_probs", "sum_pi_squared") if name in case}
    if case.get("masks") is not None:
        given["mask"] = case["masks"]
    if case.get("kl") is not None:
        given |= {"kl": case["kl"], "shaping": {"kl": {"coef": knobs.get("kl_coef", knobs.get("beta"))}}}
    scale = knobs.get("scale_rewards", knobs.get("std_cal_level"))
    if "normalize" in knobs:
        scale = "batch" if knobs["normalize"] else "none"
    return {**given, "scale": scale}


def lengths(case):
    """Tokens that the policy wrote, which is what the trainers sum over."""
    masks = case.get("masks")
    return case["lengths"] if masks is None else [sum(mask) for mask in masks]


def rule_of(file, case):
    """What we call the rule of a case: like and estimator."""
    like, names = LIKE[file]
    return like, names.get(case["estimator"], case["estimator"])


def result(file, case):
    like, estimator = rule_of(file, case)
    return compute_advantages(
        case["rewards"],
        case["groups"],
        like=like,
        estimator=estimator,
        lengths=lengths(case),
        **arguments(case),
    )


def both(file, case):
    """Our numbers and theirs on every token that the policy wrote, row after row."""
    found, expected = result(file, case), case["advantages"]
    masks = case.get("masks") or [[1] * n for n in case["lengths"]]
    if found.tokens is None:
        rows = [[a] * n for a, n in zip(found.original.tolist(), case["lengths"], strict=True)]
    else:
        assert found.token_counts.tolist() == case["lengths"]
        rows = [row.tolist() for row in found.tokens.split(found.token_counts.tolist())]
        pairs = zip(rows, masks, strict=True)
        means = [math.fsum(a for a, m in zip(*pair, strict=True) if m) / sum(pair[1]) for pair in pairs]
        assert found.original.tolist() == pytest.approx(means, rel=2e-6, abs=2e-6)
    theirs = [
        row if isinstance(row, list) else [row] * len(mask) for row, mask in zip(expected, masks, strict=True)
    ]
    # What a framework leaves at the tokens of a tool takes no part in its loss.
    keep = [bool(m) for mask in masks for m in mask]
    return tuple(
        [a for a, kept in zip((a for row in side for a in row), keep, strict=True) if kept]
        for side in (rows, theirs)
    )


@pytest.mark.parametrize(
    ("file", "case"),
    CASES,
    ids=lambda value: value if isinstance(value, str) else f"{value['estimator']}-{value['batch']}",
)
def test_case(file, case):
    found, expected = both(file, case)
    assert found == pytest.approx(expected, abs=TOLERANCE * max(map(abs, expected)))


def test_every_token_estimator_of_the_references_is_here():
    assert {case["estimator"] for _, case in CASES} >= {
        "gae",
        "GAEAdvantage",
        "optimal_token_baseline",
        "tir_optimal_token_baseline",
        "reinforce_plus_plus",
        "reinforce",
        "group_norm",
    }
    assert len(CASES) > 40


def test_the_kl_of_a_row_is_not_that_of_its_group():
    # Where the KL is part of the reward it moves the baseline of the others too; in OpenRLHF it does not.
    rewards, groups, kl = [1.0, 0.0], ["p", "p"], [[0.5], [0.0]]
    common = {"kl": kl, "shaping": {"kl": {"coef": 1.0}}, "lengths": [1, 1]}
    before = compute_advantages(rewards, groups, like="ms-swift", estimator="grpo", scale="none", **common)
    after = compute_advantages(rewards, groups, like="openrlhf", estimator="dr_grpo", **common)
    torch.testing.assert_close(before.original, torch.tensor([0.25, -0.25]))
    torch.testing.assert_close(after.original, torch.tensor([0.0, -0.5]))


def shaping(case):
    """The trainer's words for what it does to a reward, as ours."""
    knobs = case["knobs"]
    if knobs.get("reward_clip_range"):
        low, high = knobs["reward_clip_range"]
        return {"clip": {"min": low, "max": high}}
    if knobs.get("overlong_buffer_len"):
        given = {"max": knobs["max_new_tokens"], "buffer": knobs["overlong_buffer_len"], "cap": 1}
        return {"overlong": {**given, "factor": knobs["overlong_penalty_factor"]}}
    return {}


SHAPED = [
    (path.stem, case)
    for path in sorted(DATA.glob("*.json"))
    for case in json.loads(path.read_text(encoding="utf-8"))["cases"]
    if shaping(case)
]


def shaped_rule_of(file, case):
    """What we call the rule of a case with a shaped reward: like and estimator."""
    package = json.loads((DATA / f"{file}.json").read_text(encoding="utf-8"))
    return f"{package['package']}@{package['version']}", case["estimator"].lower()


def both_shaped(file, case):
    """Our numbers and theirs, row by row."""
    rewards = [row if isinstance(row, list) else [row] for row in case["rewards"]]
    like, estimator = shaped_rule_of(file, case)
    found = compute_advantages(
        torch.tensor([[math.nan if x is None else x for x in row] for row in rewards], dtype=torch.float64),
        case["groups"],
        like=like,
        estimator=estimator,
        weights=case["knobs"].get("reward_weights"),
        lengths=case["lengths"],
        shaping=shaping(case),
    )
    return found.original.tolist(), [math.nan if a is None else a for a in case["advantages"]]


@pytest.mark.parametrize(
    ("file", "case"),
    SHAPED,
    ids=lambda value: value if isinstance(value, str) else f"{value['estimator']}-{value['batch']}",
)
def test_shaped_rewards(file, case):
    found, expected = both_shaped(file, case)
    peak = max(abs(a) for a in expected if not math.isnan(a))
    assert found == pytest.approx(expected, abs=TOLERANCE * peak, nan_ok=True)


def test_shaping_of_both_trainers_is_compared():
    assert {file for file, _ in SHAPED} == {"openrlhf", "trl", "trl-1.5.1", "trl-0.22.0"}
