"""NeMo-RL, SkyRL and slime."""

from dataclasses import replace

from advcli.frameworks.rule import (
    COUNT_ROWS,
    GROUP,
    HERE,
    KL,
    NONE,
    PER_TOKEN,
    RLOO,
    TOKENS,
    Rule,
    Unit,
    centred,
    grpo,
)

_ONE_PASS = "advcli.frameworks.one_pass"
_NEMO = "nemo_rl/algorithms/advantage_estimator.py"
_SKYRL = "skyrl/backends/skyrl_train/utils/ppo_utils.py"
_SLIME = "slime/ray/rollout.py"

# What the package looks at since its 4158th change: whether the rewards that feed a standard deviation are equal.
_FIXED, _SPIKES, _NO_EPS = ">0.7.0", ">=0.4,<=0.7.0", "<0.4"
_SHAPED = ("reward scaling and clipping", "advantage clipping")
_BEFORE = ("clip", "affine", "overlong")
_YES, _NO = {"group": {"divide": True}}, {"none": {"divide": False}}
_LOO = "A_i = (r_i − mean_{j≠i}) / (std_{j≠i} + 1e-6), not divided where that std is 0"
_ALL = "A_i = (r_i − mean_g) / (std_g + 1e-6), not divided where that std is 0"
_SPIKE = "; a one-pass std in float32 may miss that 0"
_TOKEN_FLOOR = "whitened over tokens: (c_i − m) / sqrt(max(v, 1e-8)), ddof 0"
_TOKEN_EPS = "whitened over tokens: (c_i − m) / sqrt(v + 1e-8), ddof 1"


def _nemo(estimator: str, formula: str, versions: str, **knobs: object) -> Rule:
    return Rule(
        "nemo-rl",
        estimator,
        formula,
        f"{_ONE_PASS}:one_pass",
        ("rewards", "group"),
        knobs,
        scales=_YES | _NO,
        versions=versions,
        shaped=_BEFORE,
        lost=_SHAPED,
        source=_NEMO,
        proof="notes" if versions == _FIXED else "code",
    )


def _nemo_gdpo(estimator: str, versions: str, **knobs: object) -> Rule:
    mean = "mean_g" if knobs.get("others") is False else "mean_{j≠i}"
    weights = "" if knobs.get("weighted") is False else "w_k "
    return Rule(
        "nemo-rl",
        estimator,
        f"Σ_k {weights}A_k with A_k = (r_k − {mean}) / (std + 1e-6), then whitened over the batch, no eps",
        f"{_ONE_PASS}:one_pass_parts",
        ("parts", "weights", "group", "step"),
        knobs,
        versions=versions,
        lost=_SHAPED,
        source=_NEMO,
        proof="notes" if versions == _FIXED else "code",
        scope="step",
    )


_FLOOR = {"ddof": 0, "eps": 0.0, "floor": 1e-8, "single": "zero"}


def _less_kl(framework: str, estimator: str, formula: str, shaped: tuple[str, ...], **knobs: object) -> Rule:
    """The same with the KL of each token taken off between the baseline and the whitening."""
    return Rule(
        framework,
        estimator,
        formula,
        f"{PER_TOKEN}:less_kl",
        ("rewards", "token_kl", "row", "place", "group", "step"),
        knobs,
        level="token",
        shaped=shaped,
        scope="step",
    )


_NEMO_ROWS = [
    _nemo("grpo", _LOO, _FIXED),
    _nemo("grpo", _LOO + _SPIKE, _SPIKES, exact=False),
    _nemo("grpo", _LOO.replace(" + 1e-6", "") + _SPIKE, _NO_EPS, exact=False, eps=0.0),
    _nemo("grpo_no_loo", _ALL, _FIXED, others=False),
    _nemo("grpo_no_loo", _ALL + _SPIKE, _SPIKES, others=False, exact=False),
    _nemo("grpo_no_loo", _ALL.replace(" + 1e-6", "") + _SPIKE, _NO_EPS, others=False, exact=False, eps=0.0),
    _nemo_gdpo("gdpo", _FIXED),
    _nemo_gdpo("gdpo", ">=0.6,<=0.7.0", exact=False, weighted=False),
    _nemo_gdpo("gdpo_no_loo", _FIXED, others=False),
    _nemo_gdpo("gdpo_no_loo", ">=0.6,<=0.7.0", others=False, exact=False, weighted=False),
    Rule(
        "nemo-rl",
        "reinforce_plus_plus",
        f"c = r − mean_g, {_TOKEN_FLOOR}",
        f"{HERE}:whitened",
        TOKENS,
        {"centre": "mean", **_FLOOR},
        versions=">=0.6",
        per_token=_less_kl(
            "nemo-rl",
            "reinforce_plus_plus",
            f"c = r − mean_g − β KL_t, {_TOKEN_FLOOR}",
            (*_BEFORE, "kl"),
            centre="mean",
            **_FLOOR,
        ),
        shaped=_BEFORE,
        lost=(KL, *_SHAPED),
        source=_NEMO,
        proof="code",
        scope="step",
    ),
    Rule(
        "nemo-rl",
        "reinforce_plus_plus_raw",
        f"c = r, {_TOKEN_FLOOR}",
        f"{HERE}:whitened",
        TOKENS,
        _FLOOR,
        versions=">=0.6",
        per_token=_less_kl(
            "nemo-rl",
            "reinforce_plus_plus_raw",
            f"c = r − β KL_t, {_TOKEN_FLOOR}",
            (*_BEFORE, "kl"),
            centre="raw",
            **_FLOOR,
        ),
        shaped=_BEFORE,
        lost=(KL, *_SHAPED),
        source=_NEMO,
        proof="code",
        scope="step",
    ),
    Rule(
        "nemo-rl",
        "raw_reward",
        f"A_i = r_i, or with scale batch {_TOKEN_FLOOR}",
        f"{HERE}:whitened",
        TOKENS,
        _FLOOR,
        scales={"none": {"divide": False, "shift": False}, "batch": {}},
        versions=">=0.7.0",
        shaped=_BEFORE,
        lost=_SHAPED,
        source=_NEMO,
        proof="code",
    ),
]

_SKYRL_LOST = (KL, "advantage_batch_normalize")
_SKYRL_ROWS = [
    grpo(
        "skyrl",
        eps=1e-6,
        knobs={"single": "raw-eps", "variance": "whole"},
        scales=GROUP | NONE,
        shaped=("kl",),
        lost=_SKYRL_LOST,
        source=_SKYRL,
        proof="package",
    ),
    centred(
        "skyrl",
        "rloo",
        knobs={"centre": "others-scaled"},
        formula=RLOO,
        shaped=("kl",),
        lost=_SKYRL_LOST,
        source=_SKYRL,
        proof="package",
    ),
    centred(
        "skyrl",
        "maxrl",
        knobs={"centre": "mean-ratio", "single": "raw", "eps": 1e-6},
        formula="A_i = (r_i − mean_g) / (mean_g + 1e-6)",
        shaped=("kl",),
        lost=_SKYRL_LOST,
        source=_SKYRL,
        proof="package",
    ),
    Rule(
        "skyrl",
        "reinforce++",
        f"c = r, {_TOKEN_EPS}",
        f"{HERE}:whitened",
        TOKENS,
        {},
        per_token=Rule(
            "skyrl",
            "reinforce++",
            "Σ_k γ^k r_{t+k} whitened over tokens: (R_t − m) / sqrt(v + 1e-8), ddof 1",
            f"{PER_TOKEN}:returns",
            ("rewards", "row", "place", "step"),
            {"gaps": "reset"},
            options={"gamma": 1.0},
            level="token",
            shaped=("kl",),
            source=_SKYRL,
            scope="step",
        ),
        # A token that a tool wrote sets the return of those before it to 0.
        token_columns=("token_kl", "mask"),
        unit=Unit("refused"),
        lost=_SKYRL_LOST,
        source=_SKYRL,
        proof="package",
        scope="step",
    ),
]

_SLIME_LOST = ("--normalize-advantages", "on-policy distillation")
_SLIME_ROWS = [
    *(
        grpo(
            "slime",
            eps=1e-6,
            estimator=name,
            knobs={"ragged": "batch"},
            scales=GROUP | NONE,
            positional=True,
            lost=_SLIME_LOST,
            source=_SLIME,
            proof="code",
        )
        for name in ("grpo", "gspo", "cispo")
    ),
    Rule(
        "slime",
        "reinforce_plus_plus_baseline",
        f"c = r − mean_g, {_TOKEN_EPS}, one-pass",
        f"{HERE}:whitened",
        TOKENS,
        {"centre": "mean", "single": "zero", "variance": "one-pass", "ragged": "batch"},
        positional=True,
        per_token=_less_kl(
            "slime",
            "reinforce_plus_plus_baseline",
            f"c = r − mean_g − β KL_t, {_TOKEN_EPS}, one-pass",
            ("kl",),
            centre="mean",
            single="zero",
            eps=1e-8,
            variance="one-pass",
            ragged="batch",
        ),
        lost=(KL,),
        source="slime/utils/distributed_utils.py",
        proof="code",
        scope="step",
    ),
    Rule(
        "slime",
        "reinforce_plus_plus",
        f"c = r, {_TOKEN_EPS}, one-pass",
        f"{HERE}:whitened",
        TOKENS,
        {"variance": "one-pass"},
        per_token=Rule(
            "slime",
            "reinforce_plus_plus",
            f"c = r − β Σ_{{u≥t}} KL_u, {_TOKEN_EPS}, one-pass",
            f"{PER_TOKEN}:returns",
            ("rewards", "row", "place", "step"),
            {"variance": "one-pass"},
            level="token",
            shaped=("kl",),
            scope="step",
        ),
        lost=(KL, "gamma below 1"),
        source="slime/utils/distributed_utils.py",
        proof="code",
        scope="step",
    ),
]

# slime cuts the rows of a batch, several of a rollout too.
ROWS = [*_NEMO_ROWS, *_SKYRL_ROWS, *(replace(row, unit=COUNT_ROWS) for row in _SLIME_ROWS)]
