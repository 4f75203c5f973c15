"""agent-lightning."""

from typing import Any

from advcli.frameworks.rule import GROUP, NONE, Rule, Unit, grpo

_LIGHTNING = "agentlightning/verl/rollout_level_advantage.py"

_EQUAL = Unit(by_turn=False, differ=0.0)

_AS_VERL = {"single": "raw-eps", "variance": "whole"}


def _grpo(versions: str, **knobs: Any) -> Rule:  # noqa: ANN401
    return grpo(
        "agent-lightning",
        eps=1e-6,
        knobs={**_AS_VERL, **knobs},
        scales=GROUP | NONE,
        options={"token_norm": 0.0},
        versions=versions,
        unit=_EQUAL,
        lost=("rows dropped to fill whole mini-batches",),
        source=_LIGHTNING,
        proof="code",
    )


# token_norm=1 is loss_mode per_rollout_mean: divided by the tokens of the rollout and the rows of the step.
ROWS = [_grpo(">1.0.1", dtype="bfloat16"), _grpo("<=1.0.1")]
