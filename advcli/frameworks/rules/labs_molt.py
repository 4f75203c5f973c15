"""labs-molt."""

from advcli.frameworks.rule import RLOO, Unit, centred, grpo

_MOLT = "experience_maker.py"

# The first row that is met stands for its rollout, whatever its turn.
_FIRST = Unit(reward="first", by_turn=False)

ROWS = [
    grpo("labs-molt", eps=1e-9, unit=_FIRST, source=_MOLT, proof="code"),
    centred("labs-molt", "dr_grpo", unit=_FIRST, source=_MOLT, proof="code"),
    centred(
        "labs-molt",
        "rloo",
        knobs={"centre": "others-sum", "single": "raw"},
        formula=RLOO,
        unit=_FIRST,
        source=_MOLT,
        proof="code",
    ),
]
