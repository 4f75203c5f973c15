"""EasyR1."""

from typing import Any

from advcli.frameworks.critic import through_gaps
from advcli.frameworks.rule import (
    HERE,
    KL,
    PER_TOKEN,
    RLOO,
    TOKENS,
    Rule,
    centred,
    grpo,
)

_EASYR1 = "verl/trainer/core_algos.py"

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


_EASYR1_ROWS = [
    grpo(
        "easyr1",
        eps=1e-6,
        knobs={"single": "error", "variance": "whole"},
        shaped=_SHAPED,
        lost=(KL,),
        source=_EASYR1,
        proof="code",
    ),
    Rule(
        "easyr1",
        "grpo_passk",
        "A_best = (r_(1) − r_(2)) / (std_g + 1e-6), the others 0",
        f"{HERE}:best_only",
        ("rewards", "group"),
        {"eps": 1e-6},
        versions=">0.3.2",
        shaped=_SHAPED,
        lost=(KL,),
        source=_EASYR1,
        proof="code",
    ),
    centred(
        "easyr1",
        "rloo",
        knobs={"centre": "others-sum", "single": "error"},
        formula=RLOO,
        shaped=_SHAPED,
        lost=(KL,),
        source=_EASYR1,
        proof="code",
    ),
    _plus_plus("easyr1", _EASYR1, proof="code", **_RESET),
    Rule(
        "easyr1",
        "remax",
        "A_i = r_i − r_greedy (broken after 0.3.2)",
        f"{HERE}:greedy_baseline",
        ("rewards", "baselines"),
        {},
        versions="<=0.3.2",
        shaped=_SHAPED,
        lost=(KL,),
        source=_EASYR1,
        proof="code",
    ),
    # Later releases raise an error for more than one row.
    through_gaps(
        "easyr1", "gae", versions="<=0.3.2", shaped=_SHAPED, lost=(KL,), source=_EASYR1, proof="code"
    ),
]

ROWS = _EASYR1_ROWS
