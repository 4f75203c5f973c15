"""tunix, whose rewards are float64 until the advantages go to jax."""

from advcli.frameworks.rule import RLOO, centred, grpo

_TUNIX = "tunix/rl/algo_core.py"

_DOUBLE = {"dtype": "float64"}

ROWS = [
    grpo(
        "tunix", eps=1e-6, knobs={"single": "nan", **_DOUBLE}, positional=True, source=_TUNIX, proof="package"
    ),
    centred(
        "tunix",
        "rloo",
        knobs={"centre": "others-sum", **_DOUBLE},
        formula=RLOO,
        positional=True,
        source=_TUNIX,
        proof="package",
    ),
    centred("tunix", "drgrpo", knobs=_DOUBLE, positional=True, source=_TUNIX, proof="package"),
]
