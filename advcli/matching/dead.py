"""The advantages that float32 rounding can produce in a group of equal rewards."""

from collections.abc import Iterator
from functools import cache

import torch
from torch import Tensor

# Largest group whose summation orders are enumerated, and how many partial sums are kept for each count.
_MOST, _SUMS = 512, 64
_SAME = 1e-5


@cache
def off_mean(reward: float, size: int, dtype: str = "float32") -> frozenset[float]:
    """Every |r − mean| that summing a group of equal rewards in some order may leave.

    Covers sequential and pairwise sums and mixes of the two; divided by the size or multiplied by its reciprocal.

    Args:
        reward: of every row.
        size: rows.
        dtype: what is computed in.

    Returns:
        Absolute differences; 0 is always there, since a trainer may compute the mean in float64.

    Example:
        >>> sorted(off_mean(1.0, 4)), len(off_mean(0.1, 3)) > 1
        ([0.0], True)
    """
    r, count = torch.tensor([float(reward), float(size)], dtype=getattr(torch, dtype))
    sums = _sums(r, size)
    means = torch.cat([sums / count, sums * (1 / count)])
    return frozenset({0.0, *(r.double() - means.double()).abs().tolist()})


def _sums(r: Tensor, size: int) -> Tensor:
    """[n] the possible sums of `size` equal numbers, in the dtype of the number."""
    if size > _MOST:
        return r.new_empty(0)
    known = [r.new_empty(0), r[None]]
    for count in range(2, size + 1):
        half = count // 2
        pairs = known[half][:, None] + known[count - half]
        result = torch.cat([known[-1] + r, pairs.flatten()]).unique()
        known.append(result[:: len(result) // _SUMS + 1] if len(result) > _SUMS else result)
    return known[-1]


def phantoms(reward: float, size: int, eps: float, ddof: int, dtype: str = "float32") -> Iterator[float]:
    """Every |A| that a rule dividing by std + eps may give a group of equal rewards.

    Args:
        reward: of every row.
        size: rows.
        eps: added to the standard deviation.
        ddof: of its variance.
        dtype: what is computed in.
    """
    for off in off_mean(reward, size, dtype):
        # The std is 0 about a float64 mean; otherwise every row is off by the same amount.
        for spread in (0.0, off * (size / max(size - ddof, 1)) ** 0.5):
            if spread + eps > 0:
                yield off / (spread + eps)


def carried(  # noqa: PLR0913  what the rows have, and what the rule does
    rewards: Tensor,
    values: Tensor,
    sizes: Tensor,
    room: Tensor,
    *,
    eps: float,
    ddof: int,
    clip: float,
    dtype: str,
) -> Tensor:
    """[n] bool, whether float32 rounding can explain each logged advantage in groups of equal rewards.

    Args:
        rewards: [n] float64.
        values: [n] float64, logged advantages.
        sizes: [n] int64, rows of each row's group.
        room: [n] float64, the tolerance for each, given its digits.
        eps: added to the standard deviation.
        ddof: of its variance.
        clip: largest |A| that the rule gives; inf for any.
        dtype: the dtype the rule computes in.
    """
    result = torch.zeros_like(values, dtype=torch.bool)
    pairs, index = torch.stack([rewards, sizes.double()], dim=1).unique(dim=0, return_inverse=True)
    for position, (reward, size) in enumerate(pairs.tolist()):
        possible = torch.tensor(
            sorted(phantoms(reward, int(size), eps, ddof, dtype)), dtype=torch.float64
        ).clamp(max=clip)
        rows = torch.nonzero(index == position).squeeze(1)
        magnitude = values[rows].abs()
        near = (magnitude[:, None] - possible).abs() <= room[rows][:, None] + _SAME * possible
        result[rows] = near.any(dim=1)
    return result
