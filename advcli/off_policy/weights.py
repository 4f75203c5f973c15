"""Importance weights and rejection by the trainer / rollout probability ratio."""

from typing import Literal

from torch import Tensor

from advcli.common.errors import UsageError
from advcli.off_policy.correction import Correction
from advcli.off_policy.ms_swift import off_policy_sequence_mask
from advcli.off_policy.tokens import LogProbs, bounded_exp

Level = Literal["token", "sequence", "geometric"]


def tis(tokens: LogProbs, *, level: Level = "token", low: float = 0.0, high: float = 2.0) -> Correction:
    """Weight each token by its truncated importance ratio.

    Args:
        tokens: the two log-probabilities.
        level: the ratio of the "token", or of its row: "sequence" for the product, "geometric" for the geometric mean.
        low: smallest weight.
        high: largest weight.

    Returns:
        The weights; every token is kept.

    Source:
        Yao et al. 2025, https://fengyao.notion.site/off-policy-rl; low above 0 as in CISPO.

    Example:
        >>> import torch
        >>> two = LogProbs.of(torch.tensor([-2.0, -1.0]), torch.tensor([-1.0, -1.0]), torch.tensor([2]))
        >>> tis(two).weights.tolist()
        [2.0, 1.0]
    """
    _ordered("tis", low, high)
    return Correction(tokens.mask, weights=bounded_exp(tokens.at_level(level)).clamp(low, high))


def mis(tokens: LogProbs, *, level: Level = "token", low: float = 0.5, high: float = 2.0) -> Correction:
    """Weight each token by its importance ratio, and drop it if the ratio is outside the bounds.

    Args:
        tokens: the two log-probabilities.
        level: as in `tis`.
        low: smallest ratio.
        high: largest ratio.

    Returns:
        The weights, and the kept tokens; a row without any is dropped.

    Source:
        IcePop, https://ringtech.notion.site/icepop (tokens); MIS, https://richardli.xyz/rl-collapse (sequences).

    Example:
        >>> import torch
        >>> two = LogProbs.of(torch.tensor([-2.0, -1.0]), torch.tensor([-1.0, -1.0]), torch.tensor([2]))
        >>> mis(two).mask.tolist()
        [0.0, 1.0]
    """
    _ordered("mis", low, high)
    ratio = bounded_exp(tokens.at_level(level))
    return Correction(tokens.mask * ((ratio >= low) & (ratio <= high)), weights=ratio)


def reject(
    tokens: LogProbs, *, level: Level = "sequence", low: float = 0.5, high: float = 2.0, veto: float = 0.0
) -> Correction:
    """Drop tokens or rows whose importance ratio is outside the bounds, without weighting.

    Args:
        tokens: the two log-probabilities.
        level: as in `tis`; with "token" single tokens are dropped, else whole rows.
        low: smallest ratio.
        high: largest ratio.
        veto: a row with a token whose ratio is lower is dropped.

    Returns:
        The kept tokens; a row without any is dropped.

    Source:
        rejection of verl 0.7.0, verl/trainer/ppo/rollout_corr_helper.py

    Example:
        >>> import torch
        >>> two = LogProbs.of(torch.tensor([-2.0, -1.0]), torch.tensor([-1.0, -1.0]), torch.tensor([1, 1]))
        >>> reject(two).mask.tolist()
        [0.0, 1.0]
    """
    _ordered("reject", low, high)
    ratio = bounded_exp(tokens.at_level(level))
    vetoed = tokens.row_sum((tokens.log_ratio.exp() < veto).to(ratio.dtype)) > 0
    return Correction(tokens.mask * ((ratio >= low) & (ratio <= high) & ~tokens.spread(vetoed)))


def opsm(tokens: LogProbs, advantages: Tensor, *, delta: float) -> Correction:
    """Drop rows with a negative advantage that are much less likely under the trainer than under the sampling policy.

    Args:
        tokens: the two log-probabilities.
        advantages: [N] float.
        delta: largest mean of rollout minus trainer log-probability of such a row, in nats per token.

    Returns:
        The kept tokens; a row without any is dropped.

    Source:
        off-policy sequence masking of DeepSeek-V3.2, arXiv:2512.02556

    Example:
        >>> import torch
        >>> two = LogProbs.of(torch.tensor([-1.0, -1.0]), torch.tensor([-2.0, -2.0]), torch.tensor([1, 1]))
        >>> opsm(two, torch.tensor([1.0, -1.0]), delta=0.5).mask.tolist()
        [1.0, 0.0]
    """
    return off_policy_sequence_mask(tokens, advantages, off_policy_sequence_mask_delta=delta)


def _ordered(name: str, low: float, high: float) -> None:
    """Reject bounds in the wrong order.

    Raises:
        UsageError: `low` is not below `high`.
    """
    if not low < high:
        raise UsageError(f"{name}: low is {low:g} and high is {high:g}, expected low below high")
