"""RAGEN's filter: keep the groups with the largest reward std."""

import torch
from torch import Tensor

from advcli.tensors.segments import Segments, Spread


def ragen(rewards: Tensor, group: Tensor, step: Tensor, *, p: float = 0.9) -> Tensor:
    """Keep the groups with the largest standard deviations that together make up a share of their sum.

    Args:
        rewards: [N] float, finite, in the unit of the dump.
        group: [N] int64, group index in [0, G).
        step: [N] int64, step index in [0, S); groups are compared within their step.
        p: share of the sum of the standard deviations (ddof 1) to keep, in [0, 1]; 1 keeps every group.

    Returns:
        [N] bool, True where the row is kept: the fewest groups, largest std first, whose sum is at least p · sum.
        With p < 1 no dead group and no group of one is kept.

    Source:
        Wang et al. 2025, RAGEN, arXiv:2504.20073; top_p as in ragen/trainer/rollout_filter.py, which subtracts 0.01
        from the threshold and keeps nothing if that makes it negative; nothing is subtracted here.

    Example:
        >>> r, g = torch.tensor([0.0, 1.0, 0.4, 0.5, 1.0, 1.0]), torch.tensor([0, 0, 1, 1, 2, 2])
        >>> ragen(r, g, g * 0, p=0.9).tolist()
        [True, True, False, False, False, False]
    """
    groups = Segments.of(group)
    if p >= 1:
        return torch.ones_like(group, dtype=torch.bool)
    std = Spread.of(rewards, groups).std(1).nan_to_num(nan=0.0)
    steps = Segments.dense(groups.parent(step))
    order = steps.order(-std)
    ordered = Segments(steps.index[order], steps.count, steps.width)
    before = ordered.cumsum(std[order]) - std[order]
    # Sum in the same order as `before`, so that rounding doesn't decide about the last group.
    wanted = p * ordered.rows(ordered.sum(std[order]))
    kept = torch.empty_like(std, dtype=torch.bool)
    kept[order] = (before < wanted) & (std[order] > 0)
    return groups.rows(kept)
