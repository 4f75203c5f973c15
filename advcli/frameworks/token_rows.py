"""Builds rows with an advantage per token that several frameworks share."""

from collections.abc import Mapping
from typing import Any

from advcli.frameworks.rule import HERE, KL, PER_TOKEN, TOKENS, Rule

# The KL is part of the reward; with one number per row it is the sum over the tokens.
OVERLONG_KL = ("overlong", "kl")
# The return restarts at tokens not written by the policy.
RESET: dict[str, Any] = {"gaps": "reset", "token_columns": ("token_kl", "mask")}
TOKEN_EPS = "whitened over tokens: (c_i − m) / sqrt(v + 1e-8), ddof 1"


def after_kl(
    framework: str,
    estimator: str,
    knobs: Mapping[str, Any],
    scales: Mapping[str, Mapping[str, Any]],
    shaped: tuple[str, ...],
    versions: str = "",
    **row: Any,  # noqa: ANN401
) -> Rule:
    """The per-token variant where the KL of each token is subtracted after the baseline, and summed from the last token on."""
    return Rule(
        framework,
        estimator,
        "A_t = Σ_{u≥t} γ^{u−t} (A_i at the last token − β KL_u), A_i as without KL",
        f"{PER_TOKEN}:after_baseline",
        ("rewards", "token_kl", "row", "place", "group", "step", "counted"),
        knobs,
        scales,
        versions,
        level="token",
        positional=True,
        shaped=shaped,
        **row,
    )


def less_kl(framework: str, estimator: str, formula: str, shaped: tuple[str, ...], **knobs: object) -> Rule:
    """The per-token variant where the KL of each token is subtracted between the baseline and the whitening."""
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


def plus_plus(framework: str, source: str, *, versions: str = "", gaps: str, **row: Any) -> Rule:  # noqa: ANN401
    """REINFORCE++, which is per token with a discount, with KL, and in old versions with gaps."""
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
            shaped=OVERLONG_KL,
            source=source,
            scope="step",
        ),
        shaped=("overlong",),
        lost=(KL,),
        source=source,
        **row,
        scope="step",
    )
