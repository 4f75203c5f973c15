"""OpenRLHF."""

from collections.abc import Mapping
from typing import Any

from advcli.frameworks.rule import (
    CENTRED,
    HERE,
    KL,
    PER_TOKEN,
    RLOO,
    TOKENS,
    Rule,
    centred,
    grpo,
)
from advcli.frameworks.token_rows import after_kl

_OPENRLHF = "openrlhf/trainer/ppo_utils/experience_maker.py"

_CLIP = {"clip": 10.0}

_FLOOR = {"ddof": 0, "eps": 0.0, "floor": 1e-8}

# Scale none is OpenRLHF's no_std_norm: the token mean is still subtracted.
_STD_NORM = {"batch": {}, "none": {"divide": False}}

_STD_NORM_TOKENS = {"batch": {}, "none": {"divide_by_std": False}}


def _per_token(estimator: str, knobs: Mapping[str, Any], **row: Any) -> Rule:  # noqa: ANN401
    """The per-token variant: the KL of each token is subtracted after the baseline."""
    scales, versions = row.pop("scales", {}), row.pop("versions", "")
    return after_kl(
        "openrlhf",
        estimator,
        {**_CLIP, **knobs},
        scales,
        ("overlong", "kl"),
        versions,
        source=_OPENRLHF,
        **row,
    )


_OPENRLHF_ROWS = [
    grpo(
        "openrlhf",
        eps=1e-9,
        estimator="group_norm",
        versions=">=0.6",
        knobs={"single": "nan", **_CLIP},
        positional=True,
        per_token=_per_token("group_norm", {"eps": 1e-9, "single": "nan"}),
        shaped=("overlong",),
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
        per_token=_per_token("rloo", {"divide": "none", "centre": "others-sum", "single": "nan"}),
        shaped=("overlong",),
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
        shaped=("overlong",),
        lost=(KL,),
        source=_OPENRLHF,
        proof="code",
        scope="step",
    ),
    centred(
        "openrlhf",
        "dr_grpo",
        knobs=_CLIP,
        formula=CENTRED + ", clipped to ±10",
        versions=">=0.7",
        positional=True,
        per_token=_per_token("dr_grpo", {"divide": "none"}),
        shaped=("overlong",),
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
        per_token=_per_token(
            "flash_reinforce", {"divide": "none", "centre": "batch"}, versions=">=0.11", scope="step"
        ),
        shaped=("overlong",),
        lost=(KL,),
        source=_OPENRLHF,
        proof="package",
        scope="step",
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
        per_token=_per_token(
            "reinforce_baseline",
            {"divide": "none", "whiten": True},
            scales=_STD_NORM_TOKENS,
            options={"gamma": 1.0},
            scope="step",
        ),
        shaped=("overlong",),
        lost=(KL,),
        source=_OPENRLHF,
        proof="package",
        scope="step",
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
        per_token=_per_token(
            "reinforce",
            {"divide": "none", "centre": "raw", "single": "raw", "whiten": True},
            scales=_STD_NORM_TOKENS,
            options={"gamma": 1.0},
            scope="step",
        ),
        token_columns=("token_kl", "mask"),
        shaped=("overlong",),
        lost=(KL,),
        source=_OPENRLHF,
        proof="package",
        scope="step",
    ),
    Rule(
        "openrlhf",
        "gae",
        "Σ_k (γλ)^k δ_{t+k}, r clipped to ±10, whitened over tokens: (A_t − m) / sqrt(max(v, 1e-8)), ddof 0",
        f"{PER_TOKEN}:gae_through_gaps",
        ("rewards", "values", "row", "place", "step", "counted"),
        {**_FLOOR, **_CLIP, "zero": True},
        options={"gamma": 1.0, "lam": 1.0},
        level="token",
        shaped=("overlong", "kl"),
        lost=(KL,),
        source=_OPENRLHF,
        proof="package",
        scope="step",
    ),
]

ROWS = _OPENRLHF_ROWS
