"""TRL and ms-swift."""

from dataclasses import replace

from advcli.frameworks.rule import BATCH, GROUP, GROUPED, KL, NONE, RLOO, Rule, Unit, centred, grpo

_TRL = "trl/trainer/grpo_trainer.py"
_TRL_RLOO = "trl/trainer/rloo_trainer.py"
# Scale batch is what TRL calls normalize_advantages.
_NORMALISED = NONE | {"batch": {"divide": "batch-whitened", "eps": 1e-4}}
_SWIFT = "swift/rl_core/advantage.py"

_TRL_ROWS = [
    grpo(
        "trl",
        eps=1e-4,
        versions=">=1.6",
        knobs={"missing": "skip", "variance": "nanmean"},
        scales=GROUP | BATCH | NONE,
        positional=True,
        sums="nansum",
        shaped=("overlong",),
        source=_TRL,
        proof="package",
    ),
    grpo(
        "trl",
        eps=1e-4,
        versions=">=0.22.2,<1.6",
        knobs={"missing": "zero"},
        scales=GROUP | BATCH | NONE,
        positional=True,
        sums="nansum",
        shaped=("overlong",),
        source=_TRL,
        proof="package",
    ),
    Rule(
        "trl",
        "grpo",
        "A_i = r_i − mean_g (the default 'group' did not divide in these versions, 'none' and 'batch' did)",
        **GROUPED,  # type: ignore[arg-type]
        knobs={"eps": 1e-4, "missing": "zero"},
        scales={"group": {"divide": "none"}, "none": {"divide": "group"}, "batch": {"divide": "group"}},
        step_scales=(),
        versions=">=0.22.0,<0.22.2",
        positional=True,
        sums="nansum",
        shaped=("overlong",),
        source=_TRL,
        proof="package",
    ),
    grpo(
        "trl",
        eps=1e-4,
        versions=">=0.16,<0.22.0",
        knobs={"missing": "zero"},
        scales=GROUP | NONE,
        positional=True,
        sums="nansum",
        shaped=("overlong",),
        source=_TRL,
        proof="package",
    ),
    Rule(
        "trl",
        "gdpo",
        "Σ_k w_k (r_k − mean_g) / (std_g + 1e-4), then whitened over the batch with std + 1e-4",
        "advcli.frameworks.decoupled:decoupled",
        ("parts", "weights", "group", "step"),
        {"eps": 1e-4, "batch_eps": 1e-4, "skip_unscored": True},
        versions=">=1.6",
        positional=True,
        source=_TRL,
        proof="package",
        scope="step",
    ),
    Rule(
        "trl",
        "gdpo",
        "Σ_k w_k (r_k − mean_g) / (std_g + 1e-4), then whitened over the batch with std + 1e-4",
        "advcli.frameworks.decoupled:decoupled",
        ("parts", "weights", "group", "step"),
        {"eps": 1e-4, "batch_eps": 1e-4},
        versions=">=0.27,<1.6",
        positional=True,
        source=_TRL,
        proof="package",
        scope="step",
    ),
    centred(
        "trl",
        "rloo",
        knobs={"centre": "others-sum", "missing": "skip", "variance": "nanmean"},
        formula=RLOO + "; scale batch whitens it over the batch with std + 1e-4",
        scales=_NORMALISED,
        versions=">=1.6",
        positional=True,
        lost=(KL, "reward_clip_range"),
        sums="nansum",
        shaped=("overlong", "clip", "kl"),
        source=_TRL_RLOO,
        proof="package",
    ),
    centred(
        "trl",
        "rloo",
        knobs={"centre": "others-sum", "missing": "zero"},
        formula=RLOO + "; scale batch whitens it over the batch with std + 1e-4",
        scales=_NORMALISED,
        versions=">=0.22,<1.6",
        positional=True,
        lost=(KL, "reward_clip_range"),
        sums="nansum",
        shaped=("overlong", "clip", "kl"),
        source=_TRL_RLOO,
        proof="package",
    ),
    grpo(
        "trl",
        eps=1e-8,
        ddof=0,
        estimator="async_grpo",
        versions=">=1.0",
        knobs={"missing": "skip", "dtype": "float64"},
        sums="nansum",
        shaped=("overlong",),
        source="trl/experimental/async_grpo/async_rollout_worker.py",
        proof="package",
    ),
]

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
        "advcli.frameworks.decoupled:decoupled",
        ("parts", "weights", "group", "step"),
        {"eps": 1e-8, "batch_eps": 1e-8},
        versions=">=4.0",
        positional=True,
        source=_SWIFT,
        proof="package",
        scope="step",
    ),
]

# A chat that is split into several rows: its last one counts, and all must have one reward.
_CHAT = Unit(by_turn=False, differ=1e-6)

ROWS = [*_TRL_ROWS, *(replace(row, unit=_CHAT) for row in _SWIFT_ROWS)]
