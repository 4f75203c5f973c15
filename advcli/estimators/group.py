"""Estimators that compare a row with the rows of its group.

The arithmetic of every function here: the mean and the variance are centred two-pass sums in the dtype
of the rewards, `ddof` 1 and no eps unless asked. A dead group gives exactly 0, found by max == min.
A group of one has nothing to be compared with: NaN.
"""

import torch
from torch import Tensor

from advcli.segments import Segments, Spread, divide


def grpo(
    rewards: Tensor, group: Tensor, step: Tensor, *, scale: str = "group", ddof: int = 1, eps: float = 0.0
) -> Tensor:
    """Reward minus the mean of its group, divided by a standard deviation.

        A_i = (r_i − mean_g) / (s + eps)

    `scale="group"` divides by the standard deviation of the group's rewards, "batch" by that of all
    raw rewards of the step (not of the centred ones), "none" does not divide (Dr. GRPO's advantage).

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        group: [N] int64, group index in [0, G).
        step: [N] int64, step index in [0, S); used by `scale="batch"` only.
        scale: "group", "batch" or "none".
        ddof: degrees of freedom taken from the divisor of the variance. The paper does not say; 1 is
            what `torch.std` and most frameworks do.
        eps: added to the standard deviation, in the unit of the rewards. The paper has none.

    Returns:
        [N], dtype and device of `rewards`. NaN in groups of one, and with `ddof` ≥ n for "group".

    Raises:
        KeyError: `scale` is none of the three.

    Source:
        Shao et al. 2024, DeepSeekMath, arXiv:2402.03300, section 4.1.2; "none": Liu et al. 2025,
        arXiv:2503.20783; "batch": Liu et al. 2025, arXiv:2508.08221.

    Example:
        >>> r, g = torch.tensor([0.1, 0.5, 0.9, 1.3, 1.7]), torch.zeros(5, dtype=torch.int64)
        >>> [round(a, 3) + 0.0 for a in grpo(r, g, g).tolist()]
        [-1.265, -0.632, 0.0, 0.632, 1.265]
    """
    spread = Spread.of(rewards, Segments.of(group))
    advantages = _SCALED[scale](spread.unit, spread, rewards, step, ddof, eps)
    return torch.where(spread.segments.rows(spread.segments.size()) > 1, advantages, torch.nan)


def rloo(
    rewards: Tensor, group: Tensor, step: Tensor, *, scale: str = "none", ddof: int = 1, eps: float = 0.0
) -> Tensor:
    """Reward minus the mean reward of the other rows of its group, optionally divided.

        A_i = r_i − mean_{j≠i} r_j = n / (n − 1) · (r_i − mean_g)

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        group: [N] int64, group index in [0, G).
        step: [N] int64, step index in [0, S); used by `scale="batch"` only.
        scale: "none" (the paper), "group" or "batch", as in `grpo`.
        ddof: as in `grpo`.
        eps: as in `grpo`.

    Returns:
        [N], dtype and device of `rewards`. NaN in groups of one: there are no other rows.

    Raises:
        KeyError: `scale` is none of the three.

    Source:
        Ahmadian et al. 2024, Back to Basics, arXiv:2402.14740, section 3.3.

    Example:
        >>> r, g = torch.tensor([1.0, 0.0, 0.0, 0.0]), torch.zeros(4, dtype=torch.int64)
        >>> [round(a, 3) for a in rloo(r, g, g).tolist()]
        [1.0, -0.333, -0.333, -0.333]
    """
    spread = Spread.of(rewards, Segments.of(group))
    size = spread.segments.rows(spread.segments.size()).to(rewards.dtype)
    leave_one_out = spread.unit * (size / (size - 1))
    advantages = _SCALED[scale](leave_one_out, spread, rewards, step, ddof, eps)
    return torch.where(size > 1, advantages, torch.nan)


def _by_group(unit: Tensor, spread: Spread, rewards: Tensor, step: Tensor, ddof: int, eps: float) -> Tensor:
    del rewards, step
    if eps == 0:
        # The range cancels: no product that could overflow or underflow.
        return divide(unit, spread.segments.rows(spread.unit_std(ddof)))
    extent = spread.segments.rows(spread.range)
    return unit * extent / (spread.segments.rows(spread.std(ddof)) + eps)


def _by_batch(unit: Tensor, spread: Spread, rewards: Tensor, step: Tensor, ddof: int, eps: float) -> Tensor:
    batch = Spread.of(rewards, Segments.of(step))
    extent = spread.segments.rows(spread.range)
    return divide(unit * extent, batch.segments.rows(batch.std(ddof)) + eps)


def _unscaled(unit: Tensor, spread: Spread, rewards: Tensor, step: Tensor, ddof: int, eps: float) -> Tensor:
    del rewards, step, ddof, eps
    return unit * spread.segments.rows(spread.range)


_SCALED = {"group": _by_group, "batch": _by_batch, "none": _unscaled}
