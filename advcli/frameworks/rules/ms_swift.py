"""ms-swift."""

from dataclasses import replace

from advcli.frameworks.rule import BATCH, GROUP, GROUPED, KL, NONE, Rule, Unit, grpo

_SWIFT = "swift/rl_core/advantage.py"

_SWIFT_ROWS = [
    grpo(
        "ms-swift",
        eps=1e-4,
        knobs={"missing": "zero"},
        scales=GROUP | BATCH | NONE,
        positional=True,
        sums="nansum",
        shaped=("overlong", "kl"),
        source=_SWIFT,
        proof="package",
    ),
    Rule(
        "ms-swift",
        "rloo",
        "A_i = n/(n−1) · (r_i − mean_g), over (std of the rewards + 1e-4) if a scale is set",
        **GROUPED,  # type: ignore[arg-type]
        knobs={"centre": "others", "eps": 1e-4, "missing": "zero"},
        scales=NONE | GROUP | BATCH,
        versions=">=3.10",
        positional=True,
        lost=(KL,),
        sums="nansum",
        shaped=("overlong", "kl"),
        source=_SWIFT,
        proof="package",
    ),
    Rule(
        "ms-swift",
        "reinforce_plus_plus",
        "A_i = (r_i − mean_g) / (std of the centred rewards of the batch + 1e-4)",
        **GROUPED,  # type: ignore[arg-type]
        knobs={"eps": 1e-4, "missing": "zero"},
        scales={"batch": {"divide": "batch-centred"}, "group": {"divide": "group-centred"}, **NONE},
        versions=">=3.10",
        positional=True,
        lost=(KL,),
        sums="nansum",
        shaped=("overlong", "kl"),
        source=_SWIFT,
        proof="package",
    ),
    Rule(
        "ms-swift",
        "gdpo",
        "Σ_k w_k (r_k − mean_g) / (std_g + 1e-8), then whitened over the batch with std + 1e-8",
        "advcli.frameworks.arithmetic.decoupled:decoupled",
        ("parts", "weights", "group", "step"),
        {"eps": 1e-8, "batch_eps": 1e-8},
        versions=">=4.0",
        positional=True,
        source=_SWIFT,
        proof="package",
        scope="step",
    ),
]

# For a chat split into several rows, the last row counts, and all must have the same reward.
_CHAT = Unit(by_turn=False, differ=1e-6)

ROWS = [replace(row, unit=_CHAT) for row in _SWIFT_ROWS]
