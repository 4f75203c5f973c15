"""miles."""

from advcli.frameworks.rule import GROUP, NONE, Unit, centred, grpo

_MILES = "miles/ray/rollout/train_data_conversion.py"

_EQUAL = Unit(by_turn=False, differ=0.0)

ROWS = [
    # It loops over the groups, so the standard deviation is that of a flat tensor.
    grpo(
        "miles",
        eps=1e-6,
        scales=GROUP | NONE,
        knobs={"dead": 0.0, "variance": "whole"},
        unit=_EQUAL,
        source=_MILES,
        proof="code",
    ),
    centred("miles", "reinforce_plus_plus_baseline", unit=_EQUAL, source=_MILES, proof="code"),
    # Used without rewards_normalization, and for every other estimator of the trainer.
    centred(
        "miles",
        "raw_reward",
        knobs={"centre": "raw"},
        formula="A_i = r_i",
        unit=_EQUAL,
        source=_MILES,
        proof="notes",
    ),
]
