"""NeMo-RL."""

from advcli.frameworks.rule import (
    HERE,
    KL,
    TOKENS,
    TOKENS_OF_TURNS,
    Rule,
    turn_rule,
)
from advcli.frameworks.token_rows import less_kl

_ONE_PASS = "advcli.frameworks.arithmetic.one_pass"

_NEMO = "nemo_rl/algorithms/advantage_estimator.py"

# Since change 4158 the package checks whether the rewards behind a standard deviation are equal.
_FIXED, _SPIKES, _NO_EPS = ">0.7.0", ">=0.4,<=0.7.0", "<0.4"

_SHAPED = ("reward scaling and clipping", "advantage clipping")

_BEFORE = ("clip", "affine", "overlong")

_YES, _NO = {"group": {"divide": True}}, {"none": {"divide": False}}

_LOO = "A_i = (r_i − mean_{j≠i}) / (std_{j≠i} + 1e-6), not divided where that std is 0"

_ALL = "A_i = (r_i − mean_g) / (std_g + 1e-6), not divided where that std is 0"

_SPIKE = "; a one-pass std in float32 may miss that 0"

_TOKEN_FLOOR = "whitened over tokens: (c_i − m) / sqrt(max(v, 1e-8)), ddof 0"


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
        per_token=less_kl(
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
        per_token=less_kl(
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
    Rule(
        "nemo-rl",
        "opd",
        "A_t = log π_teacher − log π_trainer",
        "advcli.frameworks.arithmetic.distillation:distilled",
        ("teacher_log_probs", "log_probs"),
        {},
        level="token",
        source="nemo_rl/algorithms/advantage_estimator.py",
    ),
]

_GAE = Rule(
    "nemo-rl",
    "gae",
    "A_t = Σ (γλ)^k δ_{t+k} whitened over tokens; λ of the policy 1 − 1/max(1, α·tokens) with alpha, the critic's lam_value",
    f"{TOKENS_OF_TURNS}:gae_carried",
    ("rewards", "values", "row", "place", "step", "counted"),
    {},
    options={"gamma": 1.0, "lam": 0.95, "lam_value": -1.0, "lam_policy": -1.0, "alpha": 0.0, "whiten": 1.0},
    level="token",
    scope="step",
    masked=True,
    returns=True,
    shaped=_BEFORE,
    source=_NEMO,
    proof="code",
)

ROWS = [
    *_NEMO_ROWS,
    _GAE,
    # Pull request 3543, closed.
    turn_rule(
        "nemo-rl",
        "turn_level_credit",
        "A = macro_weight · A of the rollout + weight · c, c the reward of the turn or its return; not normalised",
        "turn_baselines:turn_level_credit",
        ("rewards", "rollout", "turn", "macro"),
        options={"gamma": 1.0, "how": "return_to_go", "macro_weight": 1.0, "weight": 1.0},
        source="research/turn_level_credit/turn_level_credit/trace.py",
    ),
]
