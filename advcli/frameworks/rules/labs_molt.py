"""labs-molt."""

from advcli.frameworks.rule import HERE, KL, RLOO, TOKENS, Rule, Unit, centred, grpo
from advcli.frameworks.token_rows import after_kl

_MOLT = "molt/trainer/algorithm/advantage.py"

# The first row in the file represents its rollout, whatever its turn.
_FIRST = Unit(reward="first", by_turn=False)

_CLIPPED = {"reward_clip": 10.0}

_FLOOR = {"ddof": 0, "eps": 0.0, "floor": 1e-8}

# Scale none is its no_whiten: the token mean is not subtracted either.
_WHITEN = {"batch": {}, "none": {"divide": False, "shift": False}}

_TOKENS = "whitened over tokens: (c_i − m) / sqrt(max(v, 1e-8)), ddof 0"

ROWS = [
    # It loops over the groups, so the standard deviation is that of a flat tensor.
    grpo(
        "labs-molt",
        eps=1e-9,
        knobs={"variance": "whole"},
        options=_CLIPPED,
        unit=_FIRST,
        source=_MOLT,
        proof="code",
    ),
    centred("labs-molt", "dr_grpo", options=_CLIPPED, unit=_FIRST, source=_MOLT, proof="code"),
    centred(
        "labs-molt",
        "rloo",
        knobs={"centre": "others-sum", "single": "raw"},
        formula=RLOO,
        options=_CLIPPED,
        unit=_FIRST,
        source=_MOLT,
        proof="code",
    ),
    Rule(
        "labs-molt",
        "reinforce_baseline",
        f"c = r − mean_g, {_TOKENS}",
        f"{HERE}:whitened",
        TOKENS,
        {"centre": "mean", "single": "zero", **_FLOOR},
        scales=_WHITEN,
        options=_CLIPPED,
        unit=_FIRST,
        source=_MOLT,
        proof="code",
    ),
    Rule(
        "labs-molt",
        "reinforce",
        f"c = r, {_TOKENS}",
        f"{HERE}:whitened",
        TOKENS,
        _FLOOR,
        scales=_WHITEN,
        options=_CLIPPED,
        per_token=after_kl(
            "labs-molt",
            "reinforce",
            {"divide": "none", "centre": "raw", "single": "raw"},
            {"batch": {"whiten": True}, "none": {}},
            ("kl",),
            options={**_CLIPPED, "gamma": 1.0},
            scope="step",
        ),
        # Here every row is a separate sample.
        unit=Unit("rows"),
        lost=(KL,),
        source=_MOLT,
        proof="code",
    ),
]
