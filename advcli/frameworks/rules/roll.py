"""ROLL, which normalises every step of an environment."""

from dataclasses import replace
from typing import Any

from advcli.frameworks.critic import IF_ASKED, through_gaps
from advcli.frameworks.rule import (
    BATCH,
    COUNT_ROWS,
    GROUP,
    GROUPED,
    GRPO,
    KL,
    NONE,
    Rule,
    turn_rule,
)
from advcli.frameworks.token_rows import after_kl

_RLVR = "roll/utils/functionals.py"

_AGENTIC = "roll/pipeline/agentic/utils.py"

_RLVR_LOST = (KL, "reward_clip, advantage_clip", "whiten_rewards, whiten_advantages", "gamma below 1")

_HALF = {"dtype": "float16", "eps": 1e-6}

_DEAD = {"dead": 1e-6, "variance": "whole", "single": "dead", "eps": 1e-6}

_TWICE = {"batch": {"centre": "batch", "divide": "batch"}}


def _roll(estimator: str, formula: str, **row: Any) -> Rule:  # noqa: ANN401
    """A row for a combination of ROLL's norm_mean_type and norm_std_type."""
    agentic = estimator.startswith("agentic")
    if not agentic:
        row["per_token"] = after_kl(
            "roll", estimator, row["knobs"], row.get("scales", {}), ("kl",), scope=row.get("scope", "group")
        )
    return Rule(
        "roll",
        estimator,
        formula,
        **GROUPED,  # type: ignore[arg-type]
        positional=not agentic,
        lost=("reward_clip",) if agentic else _RLVR_LOST,
        source=_AGENTIC if agentic else _RLVR,
        proof="code",
        **row,
    )


_ROLL_ROWS = [
    _roll("grpo", GRPO.format(eps="1e-6", ddof=1), knobs={"single": "nan", **_HALF}, scales=GROUP),
    _roll(
        "reinforce",
        "A_i = r_i; scale group (r_i − mean_g) / (std_g + 1e-6), batch the same over the batch",
        knobs={"single": "nan", **_HALF},
        scales={"none": {"centre": "raw", "divide": "none"}, **GROUP, **_TWICE},
    ),
    _roll(
        "lite_ppo",
        "A_i = (r_i − mean_g) / (std of the batch + 1e-6), ddof 1",
        knobs=_HALF | {"divide": "batch"},
        scope="step",
    ),
    _roll(
        "agentic_grpo",
        "A_i = (r_i − mean_g) / (std + 1e-6), ddof 1, 0 where std ≤ 1e-6 or n = 1",
        knobs=_DEAD,
        scales=GROUP | BATCH | NONE,
    ),
    _roll(
        "agentic_reinforce",
        "A_i = r_i; scale group or batch (r_i − mean) / (std + 1e-6), 0 where std ≤ 1e-6 or n = 1",
        knobs=_DEAD,
        scales={"none": {"centre": "raw", "divide": "none"}, **GROUP, **_TWICE},
    ),
    through_gaps(
        "roll",
        "gae",
        lam=0.95,
        scales=IF_ASKED,
        shaped=("kl",),
        lost=("reward normalisation and clipping, advantage_clip", KL),
        source="roll/utils/functionals.py",
        proof="code",
    ),
]

_STEPS = ("rewards", "group", "step", "rollout", "turn")
_METHOD = {"gamma": 0.95, "grouping": "batch", "method": "identity", "clip": 0.0}
_N = "N(x) = x, minus the mean (method mean), over std + 1e-6 too (mean_std), of the group or the batch"

_BY_TURN = [
    turn_rule(
        "roll",
        "gigpo",
        f"A = w_e N(S) + w N(R) with R over rows of equal state in the batch; {_N}",
        "turns:roll_gigpo",
        (*_STEPS, "anchor", "episode"),
        options={**_METHOD, "episode_weight": 1.0, "weight": 1.0},
        scope="step",
        source=_AGENTIC,
    ),
    turn_rule(
        "roll",
        "step_reinforce",
        f"A = N(R), R = Σ γ^k r_{{t+k}}; {_N}",
        "turns:roll_step_reinforce",
        _STEPS,
        options=_METHOD,
        scope="step",
        source=_AGENTIC,
    ),
]

ROWS = [*(replace(row, unit=COUNT_ROWS) for row in _ROLL_ROWS), *_BY_TURN]
