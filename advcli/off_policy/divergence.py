"""Divergence of the trainer's policy from the sampling policy: KL, χ², perplexity."""

from torch import Tensor

from advcli.off_policy.tokens import SAFETY_BOUND, LogProbs, bounded_exp, kl


def perplexity(tokens: LogProbs) -> dict[str, Tensor]:
    """Perplexities of both policies and their differences, per row.

    Returns:
        name → [N]: "training_ppl", "training_log_ppl", "rollout_ppl", "rollout_log_ppl", "log_ppl_diff" (training minus
        rollout) and "ppl_ratio" (training over rollout). A row without a trained token has mean log-probability 0.

    Source:
        verl/trainer/ppo/rollout_corr_helper.py, compute_offpolicy_metrics

    Example:
        >>> import torch
        >>> two = LogProbs.of(torch.tensor([0.0]), torch.tensor([-1.0]), torch.tensor([1]))
        >>> perplexity(two)["log_ppl_diff"].tolist()
        [1.0]
    """
    training, rollout = -tokens.row_mean(tokens.train), -tokens.row_mean(tokens.rollout)
    differ = training - rollout
    return {
        "training_ppl": training.exp(),
        "training_log_ppl": training,
        "rollout_ppl": rollout.exp(),
        "rollout_log_ppl": rollout,
        "log_ppl_diff": differ,
        "ppl_ratio": differ.exp(),
    }


def divergences(tokens: LogProbs) -> dict[str, Tensor]:
    """The metrics that verl logs for every batch, whatever the correction.

    Returns:
        name → a number: "kl" (k1) and "k3_kl" are means over all trained tokens, "chi2_token" the mean of ρ² − 1 over them,
        "chi2_seq" that of the squared product of each row, and the rest means over rows; log ratios are clamped to
        ±20 for the χ² only.

    Source:
        verl/trainer/ppo/rollout_corr_helper.py, compute_offpolicy_metrics

    Example:
        >>> import torch
        >>> two = LogProbs.of(torch.tensor([-1.0, -1.0]), torch.tensor([-1.5, -1.5]), torch.tensor([2]))
        >>> round(float(divergences(two)["kl"]), 4)
        0.5
    """
    result = {name: values.mean() for name, values in perplexity(tokens).items()}
    differ = perplexity(tokens)["log_ppl_diff"]
    product = tokens.row_sum(tokens.log_ratio).clamp(-SAFETY_BOUND, SAFETY_BOUND)
    return {
        **result,
        "kl": tokens.mean(kl(tokens.log_ratio, "k1")),
        "k3_kl": tokens.mean(kl(tokens.log_ratio, "k3")),
        "log_ppl_abs_diff": differ.abs().mean(),
        "log_ppl_diff_max": differ.max(),
        "log_ppl_diff_min": differ.min(),
        "chi2_token": tokens.mean(bounded_exp(tokens.log_ratio).square()) - 1,
        "chi2_seq": (2 * product).exp().mean() - 1,
    }


def effective_share(tokens: LogProbs, weights: Tensor) -> Tensor:
    """The effective sample size of weights, as a share of the trained tokens: 1 / E[(w / E w)²].

    Args:
        tokens: tells which tokens are trained on.
        weights: [T] non-negative.

    Returns:
        A number in [1 / tokens, 1]; inf if all weights are 0 (verl divides by zero there).

    Example:
        >>> import torch
        >>> two = LogProbs.of(torch.zeros(2), torch.zeros(2), torch.tensor([2]))
        >>> round(float(effective_share(two, torch.tensor([1.0, 3.0]))), 4)
        0.8
    """
    relative = weights / (tokens.mean(weights) + 1e-8)
    return 1 / tokens.mean(relative.square())
