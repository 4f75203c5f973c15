"""GRPO with numpy's sums, which add float32 numbers in another order than torch."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from advcli.frameworks.arithmetic.blocks import matrices

Floats = NDArray[np.floating]


def standardised(
    rewards: Tensor, group: Tensor, *, one_pass: bool, eps: float, dtype: str = "float32"
) -> Tensor:
    """(r − mean_g) / (std_g + eps), ddof 0.

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, group index.
        one_pass: whether the variance is the mean of squares minus the squared mean, at least 0, with sums by
            `np.add.reduceat`; else that of `np.std`.
        eps: added to the standard deviation.
        dtype: what the trainer computes in.

    Returns:
        [N] in `dtype`; 0 in a group of one.
    """
    r = rewards.to(getattr(torch, dtype))
    out = torch.zeros_like(r)
    for rows in matrices(group):
        values = r[rows].cpu().numpy()
        # Squares of rewards near the limits of the dtype overflow; the caller reports that.
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            mean, std = _one_pass(values) if one_pass else _two_pass(values)
            scaled = (values - mean) / (std + values.dtype.type(eps))
        out[rows] = torch.from_numpy(scaled).to(out.device)
    return out


def _two_pass(values: Floats) -> tuple[Floats, Floats]:
    return values.mean(axis=1, keepdims=True), values.std(axis=1, keepdims=True)


def _one_pass(values: Floats) -> tuple[Floats, Floats]:
    groups, n = values.shape
    first = np.arange(groups) * n
    mean, square = (np.add.reduceat(x.reshape(-1), first) / values.dtype.type(n) for x in (values, values**2))
    return mean[:, None], np.sqrt(np.maximum(square - mean**2, 0))[:, None]
