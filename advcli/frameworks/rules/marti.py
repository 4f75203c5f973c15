"""MARTI, which clips the advantage where OpenRLHF clips the reward."""

from advcli.frameworks.rule import CENTRED, HERE, KL, PER_TOKEN, RLOO, TOKENS, Rule, centred, grpo

_MARTI = "marti/trainer/ppo_utils/experience_maker.py"

_CLIP = {"clip": 10.0}

_FLOOR = {"ddof": 0, "eps": 0.0, "floor": 1e-8}

# Scale none is what it calls no_advantage_std_norm: the mean of the tokens is still subtracted.
_STD_NORM = {"batch": {}, "none": {"divide": False}}

_TOKENS = "whitened over tokens: (c_i − m) / sqrt(max(v, 1e-8)), ddof 0"

_SHAPED = ("overlong",)

ROWS = [
    grpo(
        "marti",
        eps=1e-9,
        estimator="group_norm",
        knobs={"single": "nan"},
        options=_CLIP,
        positional=True,
        shaped=_SHAPED,
        lost=(KL,),
        source=_MARTI,
        proof="code",
    ),
    centred(
        "marti",
        "rloo",
        knobs={"centre": "others-sum", "single": "nan"},
        formula=f"{RLOO}, clipped to ±10",
        options=_CLIP,
        positional=True,
        shaped=_SHAPED,
        lost=(KL,),
        source=_MARTI,
        proof="code",
    ),
    centred(
        "marti",
        "dr_grpo",
        formula=f"{CENTRED}, clipped to ±10",
        options=_CLIP,
        positional=True,
        shaped=_SHAPED,
        lost=(KL,),
        source=_MARTI,
        proof="code",
    ),
    Rule(
        "marti",
        "reinforce_baseline",
        f"c = r − mean_g clipped to ±10, {_TOKENS}",
        f"{HERE}:whitened",
        TOKENS,
        {"centre": "mean", "single": "zero", **_FLOOR},
        scales=_STD_NORM,
        options=_CLIP,
        positional=True,
        shaped=_SHAPED,
        lost=(KL,),
        source=_MARTI,
        proof="code",
        scope="step",
    ),
    Rule(
        "marti",
        "reinforce",
        f"c = r clipped to ±10, {_TOKENS}",
        f"{HERE}:whitened",
        TOKENS,
        _FLOOR,
        scales=_STD_NORM,
        options=_CLIP,
        shaped=_SHAPED,
        lost=(KL, "gamma below 1"),
        source=_MARTI,
        proof="code",
        scope="step",
    ),
    Rule(
        "marti",
        "gae",
        f"Σ_k (γλ)^k δ_{{t+k}}, {_TOKENS}",
        f"{PER_TOKEN}:gae_through_gaps",
        ("rewards", "values", "row", "place", "step", "counted"),
        {**_FLOOR, **_CLIP, "zero": True},
        options={"gamma": 1.0, "lam": 1.0},
        level="token",
        shaped=_SHAPED,
        lost=(KL,),
        source=_MARTI,
        proof="notes",
        scope="step",
    ),
]
