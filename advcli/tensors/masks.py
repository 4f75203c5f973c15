"""Row masks, and the values they select.

On the CPU this uses numpy, which is several times faster than torch for bool results. The results are the same.
"""

import numpy as np
import torch
from torch import Tensor

_SHARED = {torch.float64, torch.float32, torch.int64, torch.bool}


def plain(values: Tensor) -> bool:
    """Whether numpy can view a tensor: on the CPU, a shared dtype, no gradient."""
    return values.is_cpu and values.dtype in _SHARED and not values.requires_grad


def every(mask: Tensor) -> bool:
    """Whether the whole mask is True; True for no rows.

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
    """The number of True entries.

    Args:
        mask: [N] bool.

    Example:
        >>> count(torch.tensor([True, False]))
        1
    """
    return int((mask.numpy() if plain(mask) else mask).sum())


def finite(values: Tensor) -> Tensor:
    """[N] bool, True where a float is neither NaN nor ±inf: `torch.isfinite` in fewer passes.

    Example:
        >>> finite(torch.tensor([1.0, torch.nan, -torch.inf])).tolist()
        [True, False, False]
    """
    if plain(values):
        return torch.from_numpy(np.isfinite(values.numpy()))
    return (values - values) == 0


def undefined(values: Tensor) -> Tensor:
    """[N] bool, True where a float is NaN: `torch.isnan`.

    Example:
        >>> undefined(torch.tensor([1.0, torch.nan, torch.inf])).tolist()
        [False, True, False]
    """
    return torch.from_numpy(np.isnan(values.numpy())) if plain(values) else values.isnan()


def rewarded(rewards: Tensor, group: Tensor) -> Tensor:
    """[N] bool, the rows that count in reward statistics: a finite reward and a group.

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
    """The values of the selected rows; no copy if all are selected.

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
    """[N] the values at the selected rows, NaN elsewhere.

    Args:
        rows: [N] bool.
        values: [n] float, one for each True.

    Example:
        >>> filled(torch.tensor([False, True]), torch.tensor([2.0])).tolist()
        [nan, 2.0]
    """
    return values.new_full(rows.shape, torch.nan).masked_scatter(rows, values)
