"""Drops rows for which an expression over columns is false."""

from torch import Tensor


def where(holds: Tensor) -> Tensor:
    """Keep the rows for which the expression is true.

    Args:
        holds: [N] float, 1 where it is true, else 0.

    Returns:
        [N] bool, True where it is true.

    Source:
        filters of trainers by status, age or source.

    Example:
        >>> import torch
        >>> where(torch.tensor([1.0, 0.0])).tolist()
        [True, False]
    """
    return holds != 0
