"""Rows for which an expression over columns does not hold are dropped."""

from torch import Tensor


def where(holds: Tensor) -> Tensor:
    """Keep the rows for which the expression holds.

    Args:
        holds: [N] float, 1 where it holds, else 0.

    Returns:
        [N] bool, True where it holds.

    Source:
        filters of trainers by status, age or source.

    Example:
        >>> import torch
        >>> where(torch.tensor([1.0, 0.0])).tolist()
        [True, False]
    """
    return holds != 0
