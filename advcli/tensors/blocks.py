"""Contiguous blocks of equal size: detect them, and reduce each to its extreme on the CPU."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from advcli.tensors.masks import plain

FOLDED = 16
"""Largest block size for which `folded` is faster than torch's reduction along a short axis."""


def in_blocks(index: Tensor, count: int, width: int) -> bool:
    """Whether the rows form S contiguous blocks of n, numbered in order.

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
    """The largest or smallest value of each block: pairwise while n is even, then position by position.

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
