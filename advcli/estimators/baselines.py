"""Estimators within groups that use another baseline than the group mean or another divisor than its std.

The arithmetic is that of `group`: a dead group gives exactly 0 where the formula does, a group of one NaN.
"""

import torch
from torch import Tensor

from advcli.estimators.group import grpo
from advcli.tensors.segments import Segments, Spread


def opmd(rewards: Tensor, group: Tensor, *, tau: float = 1.0) -> Tensor:
    """Reward minus a soft maximum of its group.

        A_i = r_i − τ · ln mean_g e^{r_j/τ}

    The baseline lies between the mean of the group (large τ) and its highest reward (τ = 0).

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        group: [N] int64, group index in [0, G).
        tau: τ, 0 or more, in the unit of the rewards.

    Returns:
        [N], dtype and device of `rewards`. NaN in groups of one, 0 in dead groups.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        Kimi k1.5, arXiv:2501.12599, section 2.3.2; as in trinity/algorithm/advantage_fn/opmd_advantage.py.

    Example:
        >>> r, g = torch.tensor([1.0, 0.0, 0.0, 0.0]), torch.zeros(4, dtype=torch.int64)
        >>> [round(a, 3) for a in opmd(r, g).tolist()]
        [0.643, -0.357, -0.357, -0.357]
    """
    segments = Segments.of(group)
    below = rewards - segments.rows(segments.max(rewards))
    if tau == 0:
        return segments.nan_if_single(below)
    soft = tau * segments.mean((below / tau).expm1()).log1p()
    return segments.nan_if_single(below - segments.rows(soft))


def asymre(rewards: Tensor, group: Tensor, *, shift: float = -0.1) -> Tensor:
    """Reward minus the mean of its group and a constant.

        A_i = r_i − (mean_g + δ)

    With a negative δ, rows at the mean get a positive advantage, so right rows weigh more than wrong ones. Every row of a
    dead group gets one too.

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        group: [N] int64, group index in [0, G).
        shift: δ, in the unit of the rewards.

    Returns:
        [N], dtype and device of `rewards`. NaN in groups of one, −δ in dead groups.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        Arnal et al. 2025, Asymmetric REINFORCE, arXiv:2506.20520.

    Example:
        >>> r, g = torch.tensor([1.0, 0.0, 0.0, 0.0]), torch.zeros(4, dtype=torch.int64)
        >>> [round(a, 3) for a in asymre(r, g).tolist()]
        [0.85, -0.15, -0.15, -0.15]
    """
    spread = Spread.of(rewards, Segments.of(group))
    return spread.segments.nan_if_single(spread.centred() - shift)


def rec(
    rewards: Tensor, group: Tensor, step: Tensor, *, scale: str = "none", ddof: int = 0, eps: float = 0.0
) -> Tensor:
    """Reward minus the mean of its group, optionally divided by the population standard deviation.

        A_i = r_i − mean_g, or (r_i − mean_g) / (std_g + eps)

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        group: [N] int64, group index in [0, G).
        step: [N] int64, step index in [0, S); used by `scale="batch"` only.
        scale: "none", "group" or "batch", as in `grpo`.
        ddof: degrees of freedom taken from the divisor of the variance.
        eps: added to the standard deviation, in the unit of the rewards. Trinity-RFT adds 1e-6.

    Returns:
        [N], dtype and device of `rewards`. NaN in groups of one.

    Raises:
        KeyError: `scale` is none of the three.

    Source:
        Yao et al. 2025, Group-Relative REINFORCE, arXiv:2509.24203; trinity/algorithm/advantage_fn/rec_advantage.py.

    Example:
        >>> r, g = torch.tensor([1.0, 0.0, 0.0, 0.0]), torch.zeros(4, dtype=torch.int64)
        >>> [round(a, 3) for a in rec(r, g, g, scale="group").tolist()]
        [1.732, -0.577, -0.577, -0.577]
    """
    return grpo(rewards, group, step, scale=scale, ddof=ddof, eps=eps)


def cpgd(rewards: Tensor, group: Tensor, step: Tensor, *, cap: float = 3.0) -> Tensor:
    """Reward minus the mean of its group, scaled up if few groups of the step are live.

        A_i = (r_i − mean_g) · min(cap, rows of the step / live groups of the step)

    The ratio is rows over groups, as in the authors' code: with three or more rows per group it is `cap`.

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        group: [N] int64, group index in [0, G).
        step: [N] int64, step index in [0, S); a group lies in one step.
        cap: the largest ratio.

    Returns:
        [N], dtype and device of `rewards`. NaN in groups of one, which count as rows but not as live groups.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        Liu et al. 2025, CPGD, arXiv:2505.12504; siirl/dag_worker/core_algos.py, clip_filter_like_weight.

    Example:
        >>> r, g = torch.tensor([1.0, 0.0, 0.5, 0.5]), torch.tensor([0, 0, 1, 1])
        >>> cpgd(r, g, torch.zeros(4, dtype=torch.int64), cap=9.0).tolist()
        [2.0, -2.0, 0.0, 0.0]
    """
    spread, rows = Spread.of(rewards, Segments.of(group)), Segments.batch(step)
    groups = spread.segments
    live = (spread.range > 0).to(rewards.dtype) / groups.size().clamp(min=1)
    # Each live group contributes 1 / n per row, so the sum counts groups.
    count = rows.sum(groups.rows(live)).round().clamp(min=1)
    ratio = (rows.size() / count).clamp(max=cap)
    return groups.nan_if_single(rows.rows(ratio.to(rewards.dtype)) * spread.centred())


def batch_mean_group_std(
    rewards: Tensor, group: Tensor, step: Tensor, *, ddof: int = 1, eps: float = 0.0
) -> Tensor:
    """Reward minus the mean of the step, over the standard deviation of its group.

        A_i = (r_i − mean_B) / (std_g + eps)

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        group: [N] int64, group index in [0, G).
        step: [N] int64, step index in [0, S).
        ddof: degrees of freedom taken from the divisor of the variance.
        eps: added to the standard deviation, in the unit of the rewards.

    Returns:
        [N], dtype and device of `rewards`. NaN in groups of one, 0 in dead groups whatever the mean of the step.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        One of the four combinations of levels compared by Liu et al. 2025, Tricks or Traps, arXiv:2508.08221.

    Example:
        >>> r, g = torch.tensor([1.0, 0.0, 1.0, 1.0]), torch.tensor([0, 0, 1, 1])
        >>> [round(a, 3) for a in batch_mean_group_std(r, g, torch.zeros(4, dtype=torch.int64)).tolist()]
        [0.354, -1.061, 0.0, 0.0]
    """
    spread, batch = Spread.of(rewards, Segments.of(group)), Segments.batch(step)
    centred = rewards - batch.rows(batch.mean(rewards))
    std = spread.std(ddof)
    divided = spread.segments.safe_divide(centred, torch.where(std > 0, std + eps, std))
    return spread.segments.nan_if_single(divided)
