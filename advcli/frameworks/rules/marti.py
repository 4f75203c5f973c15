"""MARTI, which clips the advantage where OpenRLHF clips the reward."""

from collections.abc import Mapping
from typing import Any

from advcli.frameworks.rule import CENTRED, GRPO, HERE, KL, PER_TOKEN, RLOO, TOKENS, Rule
from advcli.frameworks.token_rows import after_kl

_MARTI = "marti/trainer/ppo_utils/experience_maker.py"

_CLIP = {"clip": 10.0}

_FLOOR = {"ddof": 0, "eps": 0.0, "floor": 1e-8}

# Scale none is its no_advantage_std_norm: the token mean is still subtracted.
_STD_NORM = {"batch": {}, "none": {"divide": False}}

_STD_NORM_TOKENS = {"batch": {}, "none": {"divide_by_std": False}}

_WHITENED = "whitened over tokens: (c_i − m) / sqrt(max(v, 1e-8)), ddof 0"


def _marti(estimator: str, formula: str, knobs: Mapping[str, Any], outcome: Mapping[str, Any]) -> Rule:
    """A row of MARTI: `outcome` configures the row advantage in the per-token variant, `knobs` the row-level rule."""
    whiten = knobs.get("floor", 0) > 0
    scope, options = ("step", {"gamma": 1.0}) if whiten else ("group", {})
    return Rule(
        "marti",
        estimator,
        formula,
        f"{HERE}:{'whitened' if whiten else 'standardised'}",
        TOKENS if whiten else TOKENS[:3],
        knobs,
        scales=_STD_NORM if whiten else {},
        options=_CLIP,
        positional=True,
        per_token=after_kl(
            "marti",
            estimator,
            {**outcome, "whiten": whiten},
            _STD_NORM_TOKENS if whiten else {},
            ("overlong", "kl"),
            options={**_CLIP, **options},
            scope=scope,
        ),
        shaped=("overlong",),
        lost=(KL,),
        source=_MARTI,
        proof="code",
        scope=scope,
    )


_OTHERS = {"centre": "others-sum", "single": "nan", "divide": "none"}

_NORM = {"eps": 1e-9, "single": "nan"}

ROWS = [
    _marti("group_norm", GRPO.format(eps="1e-9", ddof=1) + ", clipped to ±10", _NORM, _NORM),
    _marti("rloo", f"{RLOO}, clipped to ±10", _OTHERS, _OTHERS),
    _marti("dr_grpo", f"{CENTRED}, clipped to ±10", {"divide": "none"}, {"divide": "none"}),
    _marti(
        "reinforce_baseline",
        f"c = r − mean_g clipped to ±10, {_WHITENED}",
        {"centre": "mean", "single": "zero", **_FLOOR},
        {"divide": "none"},
    ),
    _marti(
        "reinforce",
        f"c = r clipped to ±10, {_WHITENED}",
        _FLOOR,
        {"divide": "none", "centre": "raw", "single": "raw"},
    ),
    Rule(
        "marti",
        "gae",
        f"Σ_k (γλ)^k δ_{{t+k}}, {_WHITENED}",
        f"{PER_TOKEN}:gae_through_gaps",
        ("rewards", "values", "row", "place", "step", "counted"),
        {**_FLOOR, **_CLIP, "zero": True},
        options={"gamma": 1.0, "lam": 1.0},
        level="token",
        shaped=("overlong",),
        lost=(KL,),
        source=_MARTI,
        proof="notes",
        scope="step",
    ),
]
