"""slime, which splits the rows of a batch by position, even if a rollout has several."""

from dataclasses import replace

from advcli.frameworks.critic import IF_ASKED, through_gaps
from advcli.frameworks.rule import (
    COUNT_ROWS,
    GROUP,
    HERE,
    KL,
    NONE,
    PER_TOKEN,
    TOKENS,
    Rule,
    grpo,
)
from advcli.frameworks.token_rows import TOKEN_EPS, less_kl

_SLIME = "slime/ray/rollout.py"

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
        f"c = r − mean_g, {TOKEN_EPS}, one-pass",
        f"{HERE}:whitened",
        TOKENS,
        {"centre": "mean", "single": "zero", "variance": "one-pass", "ragged": "batch"},
        positional=True,
        per_token=less_kl(
            "slime",
            "reinforce_plus_plus_baseline",
            f"c = r − mean_g − β KL_t, {TOKEN_EPS}, one-pass",
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
        f"c = r, {TOKEN_EPS}, one-pass",
        f"{HERE}:whitened",
        TOKENS,
        {"variance": "one-pass"},
        per_token=Rule(
            "slime",
            "reinforce_plus_plus",
            f"c = r − β Σ_{{u≥t}} KL_u, {TOKEN_EPS}, one-pass",
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
    through_gaps(
        "slime",
        "ppo",
        knobs={"variance": "one-pass"},
        scales=IF_ASKED,
        shaped=("kl",),
        lost=_SLIME_LOST,
        source="slime/backends/megatron_utils/loss.py",
        proof="code",
    ),
]

ROWS = [replace(row, unit=COUNT_ROWS) for row in _SLIME_ROWS]
