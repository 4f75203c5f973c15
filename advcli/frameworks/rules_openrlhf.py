"""OpenRLHF and twinkle."""

from advcli.frameworks.rule import (
    BATCH,
    CENTRED,
    GROUP,
    GROUPED,
    HERE,
    KL,
    NONE,
    RLOO,
    TOKENS,
    Rule,
    centred,
    grpo,
)

_OPENRLHF = "openrlhf/trainer/ppo_utils/experience_maker.py"

_CLIP = {"clip": 10.0}
_FLOOR = {"ddof": 0, "eps": 0.0, "floor": 1e-8}
# Scale none is what OpenRLHF calls no_std_norm: the mean of the tokens is still subtracted.
_STD_NORM = {"batch": {}, "none": {"divide": False}}
_OPENRLHF_ROWS = [
    grpo(
        "openrlhf",
        eps=1e-9,
        estimator="group_norm",
        versions=">=0.6",
        knobs={"single": "nan", **_CLIP},
        positional=True,
        lost=(KL,),
        source=_OPENRLHF,
        proof="package",
    ),
    centred(
        "openrlhf",
        "rloo",
        knobs={"centre": "others-sum", "single": "nan", **_CLIP},
        formula=RLOO + ", clipped to ±10",
        versions=">=0.8.5",
        positional=True,
        lost=(KL,),
        source=_OPENRLHF,
        proof="package",
    ),
    Rule(
        "openrlhf",
        "rloo",
        "c = r − mean_{j≠i} r_j, clipped to ±10, whitened over tokens: (c_i − m) / sqrt(max(v, 1e-8)), ddof 0",
        f"{HERE}:whitened",
        TOKENS,
        {"centre": "others-sum", "single": "nan", **_FLOOR, **_CLIP},
        scales=_STD_NORM,
        versions="<0.8.5",
        positional=True,
        lost=(KL,),
        source=_OPENRLHF,
        proof="code",
    ),
    centred(
        "openrlhf",
        "dr_grpo",
        knobs=_CLIP,
        formula=CENTRED + ", clipped to ±10",
        versions=">=0.7",
        positional=True,
        lost=(KL,),
        source=_OPENRLHF,
        proof="package",
    ),
    centred(
        "openrlhf",
        "flash_reinforce",
        knobs={"centre": "batch", **_CLIP},
        formula="A_i = r_i − mean of the batch, clipped to ±10",
        versions=">=0.11",
        lost=(KL,),
        source=_OPENRLHF,
        proof="package",
    ),
    Rule(
        "openrlhf",
        "reinforce_baseline",
        "r − mean_g, clipped to ±10, whitened over tokens: (c_i − m) / sqrt(max(v, 1e-8)), ddof 0",
        f"{HERE}:whitened",
        TOKENS,
        {"centre": "mean", "single": "zero", **_FLOOR, **_CLIP},
        scales=_STD_NORM,
        versions=">=0.6",
        positional=True,
        lost=(KL,),
        source=_OPENRLHF,
        proof="package",
    ),
    Rule(
        "openrlhf",
        "reinforce",
        "r clipped to ±10, whitened over tokens: (c_i − m) / sqrt(max(v, 1e-8)), ddof 0",
        f"{HERE}:whitened",
        TOKENS,
        {**_FLOOR, **_CLIP},
        scales=_STD_NORM,
        positional=True,
        lost=(KL, "gamma below 1"),
        source=_OPENRLHF,
        proof="package",
    ),
]

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
        source="twinkle/advantage/rloo.py",
        proof="package",
    ),
]

ROWS = [*_OPENRLHF_ROWS, *_TWINKLE_ROWS]
