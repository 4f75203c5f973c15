"""RAGEN."""

from advcli.frameworks.rule import GROUP, NONE, Unit, grpo

_RAGEN = "ragen/trainer/core_algos.py"

# The first row that is met stands for its rollout, whatever its turn.
_FIRST = Unit(reward="first", by_turn=False)

_AS_VERL = {"single": "raw-eps", "variance": "whole"}

ROWS = [
    grpo("ragen", eps=1e-6, knobs=_AS_VERL, scales=GROUP | NONE, unit=_FIRST, source=_RAGEN, proof="code"),
]
