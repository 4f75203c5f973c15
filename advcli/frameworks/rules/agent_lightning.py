"""agent-lightning."""

from advcli.frameworks.rule import GROUP, NONE, Unit, grpo

_LIGHTNING = "agentlightning/verl/rollout_level_advantage.py"

_EQUAL = Unit(by_turn=False, differ=0.0)

_AS_VERL = {"single": "raw-eps", "variance": "whole"}

ROWS = [
    grpo(
        "agent-lightning",
        eps=1e-6,
        knobs={**_AS_VERL, "dtype": "bfloat16"},
        scales=GROUP | NONE,
        unit=_EQUAL,
        lost=("rows dropped to fill whole mini-batches",),
        source=_LIGHTNING,
        proof="code",
    ),
]
