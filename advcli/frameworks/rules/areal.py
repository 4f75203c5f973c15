"""AReaL, which configures centring and scaling levels instead of naming estimators."""

from dataclasses import replace
from typing import Any

from advcli.frameworks.critic import IF_ASKED, over_gaps
from advcli.frameworks.rule import (
    CENTRED,
    COUNT_ROWS,
    GROUPED,
    KL,
    NONE,
    RLOO,
    Rule,
    turn_rule,
)
from advcli.frameworks.token_rows import after_kl

_AREAL = "areal/utils/data.py"

# The estimators here are the recipes in AReaL's examples/math: levels of actor.reward_norm. Statistics are float64,
# rounded to float32; the standard deviation is taken about the subtracted mean.
_WIDE = {"stats": "float64", "variance": "about-0", "eps": 1e-5}

_BY_GROUP = {"group": {"divide": "group-centred"}}

_BY_BATCH = {"batch": {"divide": "batch-centred"}}

_AREAL_SHAPED = ("overlong", "affine", "clip")

_AREAL_LOST = ("adv_norm, a whitening over tokens", "reward_bias, reward_scaling, reward_clip", KL)

_OTHERS = {"centre": "others-sum", "single": "raw-eps"}


def _areal(estimator: str, formula: str, scales: dict[str, Any], **row: Any) -> list[Rule]:  # noqa: ANN401
    """The rows of a recipe: since the ragged-tail fix, before it, and, if it divides, with the ddof before 0.3.4."""
    knobs = {**_WIDE, **row.pop("knobs", {})}
    cut, scope = {"ragged": row.pop("ragged", "cut")}, row.pop("scope", "group")
    ranges: list[tuple[str, dict[str, Any], str]] = [(">1.0.4", {}, "notes")]
    if "{ddof}" in formula:
        ranges += [(">=0.3.4,<=1.0.4", cut, "package"), ("<0.3.4", {**cut, "ddof": 0}, "code")]
    else:
        ranges += [("<=1.0.4", cut, "package")]
    return [
        Rule(
            "areal",
            estimator,
            formula.replace("{ddof}", str(more.get("ddof", 1))),
            **GROUPED,  # type: ignore[arg-type]
            knobs={**knobs, **more},
            scales=scales,
            versions=versions,
            positional=True,
            per_token=after_kl(
                "areal", estimator, {**knobs, **more}, scales, (*_AREAL_SHAPED, "kl"), versions, scope=scope
            ),
            scope=scope,
            shaped=_AREAL_SHAPED,
            lost=_AREAL_LOST,
            source=_AREAL,
            proof=proof,
        )
        for versions, more, proof in ranges
    ]


_AREAL_ROWS = [
    *_areal("grpo", "A_i = (r_i − mean_g) / (std_g + 1e-5), ddof {ddof}", _BY_GROUP | _BY_BATCH | NONE),
    *_areal("drgrpo", CENTRED, {}, knobs={"divide": "none"}),
    *_areal(
        "liteppo",
        "A_i = (r_i − mean_g) / (std of the centred rewards of the batch + 1e-5), ddof {ddof}",
        {},
        knobs={"divide": "batch-centred"},
        scope="step",
    ),
    *_areal(
        "rloo",
        RLOO + "; scale group or batch divides by the std of that + 1e-5, ddof {ddof}",
        NONE | _BY_GROUP | _BY_BATCH,
        knobs=_OTHERS,
    ),
    *_areal(
        "batch",
        "A_i = (r_i − mean of the batch) / (std of the batch + 1e-5), ddof {ddof}",
        {},
        knobs={"centre": "batch", "divide": "batch-centred"},
        ragged="key",
        scope="step",
    ),
]

# Tool tokens are skipped; actor.adv_norm, off by default, is scale batch.
_AREAL_PPO = over_gaps(
    "areal",
    "ppo",
    knobs={"eps": 0.0, "outer": 1e-5},
    scales=IF_ASKED,
    shaped=("overlong", "affine", "clip", "kl"),
    lost=("reward_bias, reward_scaling, reward_clip", KL),
    source="areal/trainer/ppo/actor.py",
    proof="code",
)

# With gconfig.reward_normalization, each rollout counts once, with the reward of its last interaction.
_AREAL_BY_ROLLOUT = Rule(
    "areal",
    "reward_normalization",
    "A_i = (r_i − mean_g) / (std_g + 1e-8) of the rollouts, ddof 0",
    **GROUPED,  # type: ignore[arg-type]
    knobs={"ddof": 0, "eps": 1e-8, "dtype": "float64"},
    source="areal/infra/workflow_executor.py",
    proof="code",
)

# All but the last rule normalise every interaction.
ROWS = [
    *(replace(row, unit=COUNT_ROWS) for row in (*_AREAL_ROWS, _AREAL_PPO)),
    _AREAL_BY_ROLLOUT,
    turn_rule(
        "areal",
        "turn_discount",
        "R_t = r_t + γ R_{t+1} over the interactions of a rollout, which is then the reward of each",
        "turn_baselines:turn_returns",
        ("rewards", "rollout"),
        knobs={"dtype": "float64"},
        options={"gamma": 1.0},
        source="areal/experimental/openai/cache.py",
    ),
]
