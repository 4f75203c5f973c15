"""ART."""

from advcli.frameworks.rule import NONE, grpo

_DOUBLE = {"dtype": "float64"}

ROWS = [
    grpo(
        "art",
        eps=1e-6,
        ddof=0,
        knobs={"centre": "mean-running", "variance": "about-0", **_DOUBLE},
        scales={"group": {"divide": "group-centred"}, **NONE},
        source="src/art/preprocessing/tokenize.py",
        proof="package",
    ),
]
