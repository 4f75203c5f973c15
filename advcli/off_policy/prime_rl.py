"""prime-rl's trust region, which masks tokens whose probability changed too much."""

import torch
from torch import Tensor

from advcli.off_policy.correction import Correction
from advcli.off_policy.tokens import LogProbs, kl


def default_loss(
    tokens: LogProbs, advantages: Tensor, *, dppo_mask_low: float = 0.2, dppo_mask_high: float = 0.2
) -> Correction:
    """The mask of the default loss: too large a probability change in the direction of the advantage.

    Args:
        tokens: the two log-probabilities.
        advantages: [N] float.
        dppo_mask_low: largest decrease of a token's probability if the advantage is 0 or less.
        dppo_mask_high: largest increase if it is above 0.

    Returns:
        Per row the shares and mismatch KLs that prime-rl logs (0 without tokens), per token "mismatch_kl" and
        "importance_ratio"; the ratio is the weight.

    Source:
        DPPO, arXiv:2602.04879; prime-rl 559b4477, src/prime_rl/trainer/rl/loss.py
    """
    change = tokens.train.exp() - tokens.rollout.exp()
    positive, negative = (tokens.spread(sign) for sign in (advantages > 0, advantages < 0))
    too_high, too_low = change > dppo_mask_high, change < -dppo_mask_low
    masked = torch.where(positive, too_high, too_low)
    result = _masked(tokens, masked)
    dropped = tokens.narrowed(masked)
    return Correction(
        result.mask,
        weights=result.weights,
        per_row={
            **result.per_row,
            "is_masked_low": tokens.row_mean(_number(tokens, negative & too_low)),
            "is_masked_high": tokens.row_mean(_number(tokens, positive & too_high)),
            "masked_advantage_positive": dropped.row_mean(_number(tokens, positive)),
            "masked_advantage_negative": dropped.row_mean(_number(tokens, negative)),
        },
        per_token=result.per_token,
    )


def ipo_loss(tokens: LogProbs, *, ipo_threshold: float = 0.1) -> Correction:
    """The mask of the IPO loss: too large a probability change in either direction.

    Args:
        tokens: the two log-probabilities.
        ipo_threshold: largest change of a token's probability.

    Returns:
        As `default_loss`, without the metrics that depend on the advantage.

    Source:
        prime-rl 559b4477, src/prime_rl/trainer/rl/loss.py
    """
    return _masked(tokens, (tokens.train.exp() - tokens.rollout.exp()).abs() > ipo_threshold)


def _number(tokens: LogProbs, condition: Tensor) -> Tensor:
    return condition.to(tokens.mask.dtype)


def _masked(tokens: LogProbs, masked: Tensor) -> Correction:
    """The correction for a mask, with its metrics."""
    mismatch = kl(tokens.log_ratio, "k3")
    kept = tokens.narrowed(~masked)
    return Correction(
        kept.mask,
        weights=tokens.log_ratio.exp(),
        per_row={
            "masked_mismatch_kl": tokens.narrowed(masked).row_mean(mismatch),
            "unmasked_mismatch_kl": kept.row_mean(mismatch),
            "is_masked": tokens.row_mean(_number(tokens, masked)),
        },
        per_token={"mismatch_kl": mismatch, "importance_ratio": tokens.log_ratio.exp()},
    )
