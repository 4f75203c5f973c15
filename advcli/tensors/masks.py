"""Which rows: masks, and the values at the rows that they name.

On the CPU numpy looks at each row: it is several times as fast as torch where the answer is a bool. The answers are the same.
"""

import numpy as np
import torch
from torch import Tensor

_SHARED = {torch.float64, torch.float32, torch.int64, torch.bool}


def plain(values: Tensor) -> bool:
    """Whether numpy can look at a tensor: it lies in the memory of the CPU, and nothing is differentiated."""
    return values.is_cpu and values.dtype in _SHARED and not values.requires_grad


def every(mask: Tensor) -> bool:
    """Whether all of a mask is True; yes without any row.

    Args:
        mask: [N] bool.

    Example:
        >>> every(torch.tensor([True, False])), every(torch.ones(0, dtype=torch.bool))
        (False, True)
    """
    return bool(mask.numpy().all() if plain(mask) else mask.all())


def some(mask: Tensor) -> bool:
    """Whether any of a mask is True.

    Args:
        mask: [N] bool.

    Example:
        >>> some(torch.tensor([True, False])), some(torch.ones(0, dtype=torch.bool))
        (True, False)
    """
    return bool(mask.numpy().any() if plain(mask) else mask.any())


def count(mask: Tensor) -> int:
    """How many are True.

    Args:
        mask: [N] bool.

    Example:
        >>> count(torch.tensor([True, False]))
        1
    """
    return int((mask.numpy() if plain(mask) else mask).sum())


def finite(values: Tensor) -> Tensor:
    """[N] bool, where a float is neither NaN nor ±inf: what `torch.isfinite` says, in fewer passes.

    Example:
        >>> finite(torch.tensor([1.0, torch.nan, -torch.inf])).tolist()
        [True, False, False]
    """
    if plain(values):
        return torch.from_numpy(np.isfinite(values.numpy()))
    return (values - values) == 0


def undefined(values: Tensor) -> Tensor:
    """[N] bool, where a float is NaN: what `torch.isnan` says.

    Example:
        >>> undefined(torch.tensor([1.0, torch.nan, torch.inf])).tolist()
        [False, True, False]
    """
    return torch.from_numpy(np.isnan(values.numpy())) if plain(values) else values.isnan()


def rewarded(rewards: Tensor, group: Tensor) -> Tensor:
    """[N] bool, the rows that statistics of rewards are over: with a finite reward and a group.

    Example:
        >>> rewarded(torch.tensor([1.0, torch.nan, 1.0]), torch.tensor([0, 0, -1])).tolist()
        [True, False, False]
    """
    return finite(rewards) & belongs(group)


def belongs(group: Tensor) -> Tensor:
    """[N] bool, the rows that have a group.

    Args:
        group: [N] int64, -1 for rows without one.

    Example:
        >>> belongs(torch.tensor([0, -1])).tolist()
        [True, False]
    """
    return torch.from_numpy(group.numpy() >= 0) if plain(group) else group >= 0


def chosen(values: Tensor, rows: Tensor) -> Tensor:
    """The values of some rows; no copy is made where it is all of them.

    Args:
        values: [N, ...].
        rows: [N] bool.

    Example:
        >>> chosen(torch.tensor([1.0, 2.0]), torch.tensor([False, True])).tolist()
        [2.0]
    """
    if every(rows):
        return values
    return torch.from_numpy(values.numpy()[rows.numpy()]) if plain(values) and plain(rows) else values[rows]


def filled(rows: Tensor, values: Tensor) -> Tensor:
    """The values on some of the rows, NaN on the others.

    Args:
        rows: [N] bool.
        values: [n] float, one for each True.

    Example:
        >>> filled(torch.tensor([False, True]), torch.tensor([2.0])).tolist()
        [nan, 2.0]
    """
    return values.new_full(rows.shape, torch.nan).masked_scatter(rows, values)
