"""RAGEN."""

from advcli.frameworks.rule import GROUP, NONE, TOKENS_OF_TURNS, Rule, Unit, grpo

_RAGEN = "ragen/trainer/core_algos.py"

# The first row in the file represents its rollout, whatever its turn.
_FIRST = Unit(reward="first", by_turn=False)

_AS_VERL = {"single": "raw-eps", "variance": "whole"}

ROWS = [
    grpo("ragen", eps=1e-6, knobs=_AS_VERL, scales=GROUP | NONE, unit=_FIRST, source=_RAGEN, proof="code"),
    Rule(
        "ragen",
        "bi_level_gae",
        "GAE over turns with high_gamma, whose A + V is the reward of each turn in a GAE over its tokens; whitened",
        f"{TOKENS_OF_TURNS}:bi_level_gae",
        ("token_rewards", "values", "row", "place", "step", "counted"),
        {},
        options={"gamma": 1.0, "lam": 1.0, "high_gamma": 0.95},
        level="token",
        scope="step",
        masked=True,
        returns=True,
        source=_RAGEN,
        proof="code",
    ),
]
