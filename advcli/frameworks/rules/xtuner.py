"""XTuner."""

from advcli.frameworks.rule import RLOO, Unit, centred, grpo

_XTUNER = "xtuner/v1/train/rl_trainer.py"

# The first row that is met stands for its rollout, whatever its turn.
_FIRST = Unit(reward="first", by_turn=False)

ROWS = [
    grpo("xtuner", eps=1e-8, knobs={"single": "nan"}, unit=_FIRST, source=_XTUNER, proof="code"),
    centred(
        "xtuner",
        "rloo",
        knobs={"centre": "others", "single": "raw"},
        formula=RLOO,
        unit=_FIRST,
        source=_XTUNER,
        proof="code",
    ),
]
