"""How far the trainer's policy is from the sampling policy: the off-policy figures of `advcli inspect`."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Figures:
    """The off-policy figures of some rows, under the names of verl's rollout correction; ρ is trainer over rollout probability.

    Attributes:
        rows: rows with a trained token.
        tokens: trained tokens.
        training_ppl: perplexity under the trainer, mean over rows.
        training_log_ppl: its log, mean over rows.
        rollout_ppl: perplexity under the sampling policy, mean over rows.
        rollout_log_ppl: its log, mean over rows.
        log_ppl_diff: training minus rollout log perplexity, mean over rows.
        ppl_ratio: training over rollout perplexity, mean over rows.
        kl: k1 = −log ρ, mean over tokens; may be negative.
        k2_kl: (log ρ)² / 2, mean over tokens.
        k3_kl: ρ − 1 − log ρ, mean over tokens.
        log_ppl_abs_diff: mean of the absolute differences.
        log_ppl_diff_max: the largest.
        log_ppl_diff_min: the smallest.
        chi2_token: mean of ρ² over tokens, minus 1.
        chi2_seq: mean over rows of the squared product of ρ, minus 1.
        eff_sample_size: (Σρ)² / (n Σρ²) over tokens, without truncation: 1 on policy.
        ratio_mean: mean of ρ over tokens.
        ratio_min: smallest ρ.
        ratio_max: largest ρ.
    """

    rows: int
    tokens: int
    training_ppl: float
    training_log_ppl: float
    rollout_ppl: float
    rollout_log_ppl: float
    log_ppl_diff: float
    ppl_ratio: float
    kl: float
    k2_kl: float
    k3_kl: float
    log_ppl_abs_diff: float
    log_ppl_diff_max: float
    log_ppl_diff_min: float
    chi2_token: float
    chi2_seq: float
    eff_sample_size: float
    ratio_mean: float
    ratio_min: float
    ratio_max: float


@dataclass(frozen=True)
class OffPolicyPart:
    """The figures of one step, policy version or staleness.

    Attributes:
        name: its name in the dump.
        figures: the figures of its rows.
    """

    name: str
    figures: Figures


@dataclass(frozen=True)
class OffPolicy:
    """Off-policy figures from two log-probabilities per token.

    Attributes:
        rollout: the column with the sampling policy's log-probabilities.
        train: the column with the trainer's.
        mask: the column that marks the trained tokens; null without one.
        all: the figures of all rows.
        per_step: by step; empty without a step column.
        version: the column with the policy version; null without one.
        per_version: by policy version; empty without one.
        staleness: by the number of versions that rows lag behind the step, or behind the newest version if steps are not
            numbers, smallest first; empty without a version.
        framework: the framework that logs `metrics`; null without `--like`.
        metrics: the keys that the framework logs, mean over the steps; empty without `--like`.
    """

    rollout: str
    train: str
    mask: str | None
    all: Figures
    per_step: tuple[OffPolicyPart, ...] = ()
    version: str | None = None
    per_version: tuple[OffPolicyPart, ...] = ()
    staleness: tuple[OffPolicyPart, ...] = ()
    framework: str | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
