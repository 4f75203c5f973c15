"""Rows that lie as blocks of one size: whether they do, and the extremes of each block, on the CPU."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from advcli.tensors.masks import plain

FOLDED = 16
"""Up to so many rows per block torch takes as long for each block as for all of its rows."""


def in_blocks(index: Tensor, count: int, width: int) -> bool:
    """Whether rows lie as S contiguous blocks of n, numbered in their order.

    Args:
        index: [S · n] int64, the block of each row.
        count: S, 1 or more.
        width: n, 1 or more.

    Example:
        >>> in_blocks(torch.tensor([0, 0, 1, 1]), 2, 2), in_blocks(torch.tensor([0, 1, 0, 1]), 2, 2)
        (True, False)
    """
    if not plain(index):
        blocks = torch.arange(count, device=index.device).unsqueeze(1)
        return bool((index.view(count, width) == blocks).all())
    result, numbers = index.numpy(), np.arange(count)
    ends = (result[::width] == numbers).all() and (result[width - 1 :: width] == numbers).all()
    return bool(ends and (result[1:] >= result[:-1]).all())


def folded(pick: np.ufunc, values: NDArray[Any], width: int) -> NDArray[Any]:
    """The largest or smallest number of each block. Halved while n is even, then place by place.

    Args:
        pick: `numpy.maximum` or `numpy.minimum`.
        values: [S · n].
        width: n, 1 or more.

    Returns:
        [S]; NaN where one is NaN.

    Example:
        >>> folded(np.maximum, np.array([1.0, 3.0, 2.0, 5.0, 4.0, 0.0]), 3).tolist()
        [3.0, 5.0]
    """
    while width % 2 == 0:
        values, width = pick(values[::2], values[1::2]), width // 2
    result = values[::width]
    for position in range(1, width):
        result = pick(result, values[position::width])
    return np.ascontiguousarray(result)
