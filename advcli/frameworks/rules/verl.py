"""verl."""

from dataclasses import replace
from typing import Any

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

_VERL = "verl/trainer/ppo/core_algos.py"

# The KL is part of the reward. With one number per row that is the sum over its tokens.
_SHAPED = ("overlong", "kl")

_RESET: dict[str, Any] = {"gaps": "reset", "token_columns": ("token_kl", "mask")}


def _plus_plus(framework: str, source: str, *, versions: str = "", gaps: str, **row: Any) -> Rule:  # noqa: ANN401
    """REINFORCE++, which has an advantage per token with a discount, with KL, and in old versions with gaps."""
    return Rule(
        framework,
        "reinforce_plus_plus",
        "r whitened over tokens: (r_i − m) / sqrt(v + 1e-8), ddof 1 in tokens",
        f"{HERE}:whitened",
        TOKENS,
        {},
        versions=versions,
        per_token=Rule(
            framework,
            "reinforce_plus_plus",
            "Σ_k γ^k r_{t+k} whitened over tokens: (R_t − m) / sqrt(v + 1e-8), ddof 1",
            f"{PER_TOKEN}:returns",
            ("rewards", "row", "place", "step"),
            {"gaps": gaps},
            versions=versions,
            options={"gamma": 1.0},
            level="token",
            shaped=_SHAPED,
            source=source,
            scope="step",
        ),
        shaped=("overlong",),
        lost=(KL,),
        source=source,
        **row,
        scope="step",
    )


def _gae(versions: str, function: str, *more: str) -> Rule:
    return Rule(
        "verl",
        "gae",
        "Σ_k (γλ)^k δ_{t+k} whitened over tokens: (A_t − m) / sqrt(v + 1e-8), ddof 1",
        f"{PER_TOKEN}:{function}",
        ("rewards", "values", "row", "place", "step", *more),
        {"eps": 1e-8},
        versions=versions,
        options={"gamma": 1.0, "lam": 1.0},
        level="token",
        scope="step",
        shaped=_SHAPED,
        lost=(KL,),
        source=_VERL,
        proof="package",
    )


# The last output of a session counts, and the value at its first token goes to all of them.
_SESSION = Unit(at_last=True)

_GRPO_ROWS = [
    grpo(
        "verl",
        eps=1e-6,
        versions=">=0.4",
        knobs={"single": "raw-eps", "variance": "whole"},
        scales=GROUP | NONE,
        shaped=_SHAPED,
        unit=_SESSION,
        lost=(KL,),
        source=_VERL,
        proof="package",
    ),
    grpo(
        "verl",
        eps=1e-6,
        versions="<0.4",
        knobs={"single": "raw-eps", "variance": "whole"},
        shaped=_SHAPED,
        unit=_SESSION,
        lost=(KL,),
        source=_VERL,
    ),
]

_OTHER_ROWS = [
    grpo(
        "verl",
        eps=1e-6,
        estimator="grpo_vectorized",
        versions=">=0.8.0",
        knobs={"single": "raw-eps", "centre": "mean-running", "variance": "running"},
        shaped=_SHAPED,
        lost=(KL,),
        source=_VERL,
        proof="package",
    ),
    grpo(
        "verl",
        eps=1e-6,
        estimator="grpo_vectorized",
        versions=">=0.6,<0.8.0",
        knobs={"single": "raw-eps", "centre": "mean-running", "variance": "one-pass", "floor": 1e-6},
        shaped=_SHAPED,
        lost=(KL,),
        source=_VERL,
        proof="package",
    ),
    Rule(
        "verl",
        "grpo_passk",
        "A_best = (r_(1) − r_(2)) / (std_g + 1e-6), the others 0",
        f"{HERE}:best_only",
        ("rewards", "group"),
        {"eps": 1e-6},
        scales=GROUP | NONE,
        versions=">=0.4",
        shaped=_SHAPED,
        lost=(KL,),
        source=_VERL,
        proof="package",
    ),
    centred(
        "verl",
        "rloo",
        knobs={"centre": "others", "single": "raw"},
        formula=RLOO,
        versions=">=0.3",
        shaped=_SHAPED,
        lost=(KL,),
        source=_VERL,
        proof="package",
    ),
    centred(
        "verl",
        "rloo_vectorized",
        knobs={"centre": "others-running"},
        formula=RLOO,
        versions=">=0.6",
        shaped=_SHAPED,
        lost=(KL,),
        source=_VERL,
        proof="package",
    ),
    Rule(
        "verl",
        "opo",
        "A_i = r_i − Σ L r / Σ L",
        f"{HERE}:length_baseline",
        ("rewards", "group", "lengths"),
        {},
        versions=">=0.4",
        shaped=_SHAPED,
        lost=(KL,),
        source=_VERL,
        proof="package",
    ),
    Rule(
        "verl",
        "gpg",
        "A_i = N / #{r ≠ 0} · (r_i − mean_g)",
        f"{HERE}:nonzero_ratio",
        ("rewards", "group", "step"),
        {},
        versions=">=0.5",
        shaped=_SHAPED,
        lost=(KL,),
        source=_VERL,
        proof="package",
        scope="step",
    ),
    _plus_plus(
        "verl", _VERL, versions=">=0.9.0", proof="package", gaps="skip", token_columns=("token_kl", "mask")
    ),
    # Before 0.9 a token that a tool wrote sets the return of those before it to 0.
    _plus_plus("verl", _VERL, versions="<0.9.0", proof="package", **_RESET),
    Rule(
        "verl",
        "reinforce_plus_plus_baseline",
        "r − mean_g whitened over tokens: (c_i − m) / sqrt(v + 1e-8), ddof 1 in tokens",
        f"{HERE}:whitened",
        TOKENS,
        {"centre": "mean"},
        versions=">=0.4",
        shaped=_SHAPED,
        lost=(KL,),
        source=_VERL,
        proof="package",
        scope="step",
    ),
    Rule(
        "verl",
        "gdpo",
        "Σ_k w_k (r_k − mean_g) / (std_g + 1e-6), whitened over tokens: (c_i − m) / sqrt(v + 1e-8), ddof 1",
        "advcli.frameworks.decoupled:decoupled_by_tokens",
        ("parts", "weights", "group", "step", "lengths"),
        {},
        versions=">=0.7.1",
        source=_VERL,
        proof="package",
        scope="step",
    ),
    Rule(
        "verl",
        "remax",
        "A_i = r_i − r_greedy",
        f"{HERE}:greedy_baseline",
        ("rewards", "baselines"),
        {},
        per_token=Rule(
            "verl",
            "remax",
            "A_t = Σ_{u≥t} r_u − r_greedy",
            f"{PER_TOKEN}:greedy_baseline",
            ("rewards", "baselines", "row"),
            {},
            level="token",
            shaped=_SHAPED,
            source=_VERL,
        ),
        shaped=("overlong",),
        lost=(KL,),
        source=_VERL,
        proof="package",
    ),
    _gae(">=0.5", "gae"),
    # Before 0.5 the recursion goes through the tokens that a tool wrote, and their values.
    _gae("<0.5", "gae_through_gaps", "counted"),
    Rule(
        "verl",
        "optimal_token_baseline",
        "A_t = R_t − Σ_g C_t R_t / (Σ_g C_t + 1e-8), by position in the response",
        f"{PER_TOKEN}:token_baseline",
        ("rewards", "log_probs", "sum_pi_squared", "row", "place", "group"),
        {},
        level="token",
        versions=">=0.8.0",
        shaped=_SHAPED,
        lost=(KL, "importance weights of the rollout"),
        source=_VERL,
        proof="package",
    ),
    Rule(
        "verl",
        "tir_optimal_token_baseline",
        "A_t = R_t − Σ_g C_t R_t / (Σ_g C_t + 1e-8), by position among the tokens of the policy",
        f"{PER_TOKEN}:token_baseline",
        ("rewards", "log_probs", "sum_pi_squared", "row", "place", "group"),
        {"packed": True},
        level="token",
        versions=">=0.8.0",
        shaped=_SHAPED,
        lost=(KL, "importance weights of the rollout"),
        source=_VERL,
        proof="package",
    ),
]

# Of verl's estimators only grpo takes the outputs of a session together.
ROWS = [*_GRPO_ROWS, *(replace(row, unit=COUNT_ROWS) for row in _OTHER_ROWS)]
