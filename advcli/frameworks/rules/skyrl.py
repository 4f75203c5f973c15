"""SkyRL."""

from advcli.frameworks.critic import through_gaps
from advcli.frameworks.rule import (
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
from advcli.frameworks.token_rows import TOKEN_EPS

_SKYRL = "skyrl/backends/skyrl_train/utils/ppo_utils.py"

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
        f"c = r, {TOKEN_EPS}",
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
        # A tool token resets the return of the tokens before it to 0.
        token_columns=("token_kl", "mask"),
        unit=Unit("refused"),
        lost=_SKYRL_LOST,
        source=_SKYRL,
        proof="package",
        scope="step",
    ),
    through_gaps("skyrl", "gae", shaped=("kl",), lost=_SKYRL_LOST, source=_SKYRL, proof="code"),
]

ROWS = _SKYRL_ROWS
