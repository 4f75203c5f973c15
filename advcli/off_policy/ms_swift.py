"""ms-swift's rollout importance sampling and its off-policy sequence mask."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from advcli.common.errors import UsageError
from advcli.common.wording import either
from advcli.off_policy.correction import Correction, numbers
from advcli.off_policy.divergence import divergences, effective_share
from advcli.off_policy.tokens import SAFETY_BOUND, LogProbs, bounded_exp, kl

_K3_BOUND = 10.0
# The value logged if no token is trained on.
_MOST_ESS = 1e10

# Mode → weights of (ratio [T], geometric mean of the row [T], bound).
_WEIGHTS: Mapping[str, Callable[[Tensor, Tensor, float], Tensor]] = {
    "token_truncate": lambda ratio, _, high: ratio.clamp(max=high),
    "token_mask": lambda ratio, _, high: torch.where(ratio <= high, ratio, 0.0),
    "sequence_truncate": lambda _, mean, high: mean.clamp(max=high),
    "sequence_mask": lambda ratio, mean, high: torch.where(mean <= high, ratio, 0.0),
}
# Mode → which trained tokens were cut, of (ratio, weights, bound). The other modes cut rows.
_TOKENS_CUT: Mapping[str, Callable[[Tensor, Tensor, float], Tensor]] = {
    "token_truncate": lambda ratio, _, high: ratio > high,
    "token_mask": lambda _, weights, __: weights == 0,
}


def rollout_correction(
    tokens: LogProbs,
    *,
    rollout_importance_sampling_mode: str | None = None,
    rollout_importance_sampling_threshold: float = 2.0,
) -> Correction:
    """ms-swift's correction for the mismatch between vLLM and the trainer.

    A sequence weight is the geometric mean of its tokens' ratios, not their product.

    Args:
        tokens: the two log-probabilities.
        rollout_importance_sampling_mode: "token_truncate", "token_mask", "sequence_truncate" or "sequence_mask"; None for
            no weights.
        rollout_importance_sampling_threshold: the upper bound of the ratio.

    Returns:
        Metrics without ms-swift's prefix "rollout_correction/"; weights are 0 on tokens that are not trained on.

    Raises:
        UsageError: unknown mode.

    Source:
        ms-swift 4.6.0, swift/rlhf_trainers/grpo_trainer.py
    """
    log_ratio, high = tokens.log_ratio, rollout_importance_sampling_threshold
    k3 = kl(log_ratio.clamp(-SAFETY_BOUND, SAFETY_BOUND), "k3").clamp(max=_K3_BOUND)
    geometric = bounded_exp(tokens.row_mean(log_ratio))
    metrics: dict[str, Tensor | float] = {
        **divergences(tokens),
        "k3_kl": tokens.mean(k3),
        "chi2_seq": geometric.square().mean() - 1,
    }
    mode = rollout_importance_sampling_mode
    if mode is None:
        return Correction(tokens.mask, numbers(metrics))
    if mode not in _WEIGHTS:
        raise UsageError(f"rollout_importance_sampling_mode is '{mode}'", hint=either(list(_WEIGHTS)))
    ratio = bounded_exp(log_ratio)
    mean = tokens.row_mean(log_ratio.clamp(-SAFETY_BOUND, SAFETY_BOUND)).exp()
    weights = _WEIGHTS[mode](ratio, tokens.spread(mean), high)
    metrics["is_weight_mean"] = tokens.mean(weights)
    metrics["ess"] = effective_share(tokens, weights.clamp(1 / high, high)).clamp(max=_MOST_ESS)
    if mode in _TOKENS_CUT:
        metrics["clipped_frac"] = tokens.mean(_TOKENS_CUT[mode](ratio, weights, high).to(ratio.dtype))
    else:
        metrics["clipped_frac"] = (mean > high).to(mean.dtype).mean()
    return Correction(tokens.mask, numbers(metrics), torch.where(tokens.trained, weights, 0.0))


def off_policy_sequence_mask(
    tokens: LogProbs, advantages: Tensor, *, off_policy_sequence_mask_delta: float
) -> Correction:
    """Drop rows with a negative advantage that are much less likely under the trainer than under the sampler.

    Args:
        tokens: the two log-probabilities.
        advantages: [N] float.
        off_policy_sequence_mask_delta: largest mean of rollout minus trainer log-probability of such a row.

    Returns:
        "keep" [N] bool in `per_row`, and the mask without the tokens of dropped rows.

    Source:
        DeepSeek-V3.2, arXiv:2512.02556; ms-swift 4.6.0, swift/rlhf_trainers/grpo_trainer.py
    """
    keep = ~((tokens.row_mean(-tokens.log_ratio) > off_policy_sequence_mask_delta) & (advantages < 0))
    return Correction(tokens.mask * tokens.spread(keep), per_row={"keep": keep})
