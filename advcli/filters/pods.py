"""PODS: keep the m rows of each group whose rewards have the largest variance."""

import torch
from torch import Tensor

from advcli.tensors.segments import Segments


def pods(rewards: Tensor, group: Tensor, *, m: int = 4) -> Tensor:
    """Keep the i best and the m − i worst rows of each group, with the i that gives the largest variance.

    Args:
        rewards: [N] float, finite, in the unit of the dump.
        group: [N] int64, group index in [0, G).
        m: rows to keep per group, 1 or more; smaller groups are kept whole.

    Returns:
        [N] bool, True where the row is kept. Among equal rewards earlier rows rank lower; among equally good i the
        smallest is used.

    Raises:
        ValueError: m is below 1.

    Source:
        Xu et al. 2025, PODS, arXiv:2504.13818, theorem 1 and algorithm 2.

    Example:
        >>> r, g = torch.tensor([0.0, 0.4, 0.6, 1.0]), torch.tensor([0, 0, 0, 0])
        >>> pods(r, g, m=2).tolist()
        [True, False, False, True]
    """
    if m < 1:
        raise ValueError(f"m is {m}, expected 1 or more")
    groups = Segments.of(group)
    size = groups.rows(groups.size())
    rank = groups.rank(rewards)
    best, top = torch.full((groups.count,), -torch.inf, dtype=rewards.dtype, device=rewards.device), rank * 0
    centred = rewards - groups.rows(groups.min(rewards))
    for i in range(m + 1):
        # The m − i lowest and the i highest.
        taken = (rank < m - i) | (rank >= size - i)
        weight = taken.to(rewards.dtype)
        mean = groups.sum(weight * centred) / groups.sum(weight)
        spread = groups.sum(weight * (centred - groups.rows(mean)) ** 2)
        better = spread > best
        best = torch.where(better, spread, best)
        top = torch.where(groups.rows(better), i, top)
    return (rank < m - top) | (rank >= size - top)
