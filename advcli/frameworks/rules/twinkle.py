"""twinkle."""

from advcli.frameworks.rule import (
    BATCH,
    GROUP,
    GROUPED,
    NONE,
    PER_TOKEN,
    Rule,
    grpo,
)

_TWINKLE_ROWS = [
    grpo(
        "twinkle",
        eps=1e-8,
        scales={
            "group": {"divide": "group", "single": "raw"},
            "batch": {"divide": "batch", "single": "batch"},
            "none": {"divide": "none", "single": "batch"},
        },
        positional=True,
        step_scales=("batch", "none"),
        sums="sum",
        source="twinkle/advantage/grpo.py",
        proof="package",
    ),
    Rule(
        "twinkle",
        "rloo",
        "A_i = (r_i − mean_{j≠i} r_j) / (std_g + 1e-8)",
        **GROUPED,  # type: ignore[arg-type]
        knobs={"centre": "others-sum", "eps": 1e-8, "single": "error"},
        scales=GROUP | BATCH | NONE,
        positional=True,
        sums="sum",
        source="twinkle/advantage/rloo.py",
        proof="package",
    ),
    Rule(
        "twinkle",
        "gae",
        "Σ_k (γλ)^k δ_{t+k}, normalised over tokens: (A_t − m) / (std + 1e-8), ddof 0",
        f"{PER_TOKEN}:gae",
        ("rewards", "values", "row", "place", "step"),
        {"ddof": 0, "outer": 1e-8, "variance": "flat"},
        scales={"batch": {}, "none": {"whiten": False}},
        options={"gamma": 1.0, "lam": 0.95},
        level="token",
        versions=">=0.5.1",
        shaped=("kl",),
        source="twinkle/advantage/gae.py",
        proof="package",
    ),
]

ROWS = _TWINKLE_ROWS
