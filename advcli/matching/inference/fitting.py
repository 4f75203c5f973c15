"""Numbers that make a function fit best: Levenberg and Marquardt's method, for a handful of numbers and any residual."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

Residual = Callable[[Tensor], Tensor]
"""[K] numbers → [M] what they leave over."""

_ROUNDS = 40
_DAMPING, _EASED, _TIGHTENED, _MOST = 1e-3, 0.3, 4.0, 1e9
# A gain below this share is none; far from an end a larger one is too little.
_GAIN, _SLOW, _NONE = 1e-9, 0.03, 1e-26


@dataclass(frozen=True)
class Steps:
    """How a fit goes on.

    Attributes:
        slope: by which share of a number a slope is measured.
        most: the damping at which the search ends.
        low: [K] the smallest numbers that are allowed, or one for all.
        high: the largest.
    """

    slope: float = 1e-6
    most: float = _MOST
    low: Tensor | float = -torch.inf
    high: Tensor | float = torch.inf

    def allowed(self, numbers: Tensor) -> Tensor:
        """[K] the nearest numbers that are."""
        return numbers.max(torch.as_tensor(self.low)).min(torch.as_tensor(self.high))


_USUAL = Steps()


def least_squares(
    residual: Residual, start: Tensor, *, near: float, steps: Steps = _USUAL
) -> tuple[Tensor, float]:
    """The numbers near a start that leave least over.

    Args:
        residual: what numbers leave over; where it is not finite they are not allowed.
        start: [K] float64.
        near: a sum of squares that may become none; above it, slow progress ends the search.
        steps: how to go on.

    Returns:
        [K] the numbers, and the sum of squares that they leave.

    Example:
        >>> found, left = least_squares(
        ...     lambda x: x**2 - 2, torch.tensor([1.0], dtype=torch.float64), near=1.0
        ... )
        >>> round(float(found), 6)
        1.414214
    """
    numbers, left = start.clone(), residual(start)
    best, damping = square(left), _DAMPING
    for _ in range(_ROUNDS):
        if best <= _NONE or damping > steps.most:
            break
        slopes = slopes_at(residual, numbers, left, steps)
        if not bool(slopes.isfinite().all()):
            break
        normal, toward = slopes.T @ slopes, slopes.T @ left
        scale = normal.diagonal().clamp(min=1e-12 * float(normal.diagonal().max().clamp(min=1e-300)))
        before = best
        while damping <= steps.most:
            change = torch.linalg.lstsq(normal + damping * scale.diag(), toward).solution
            if float(change @ (2 * toward - normal @ change)) <= _GAIN * best:
                # The slopes promise nothing more, and a shorter step less.
                break
            there = steps.allowed(numbers - change)
            moved = residual(there)
            if square(moved) < best:
                numbers, left, best = there, moved, square(moved)
                damping *= _EASED
                break
            damping *= _TIGHTENED
        if before - best <= (_SLOW if best > near else _GAIN) * before:
            break
    return numbers, best


def shortened(
    numbers: Tensor, fits: Callable[[Tensor], bool], digits: Sequence[int] = (1, 2, 3, 4, 5, 6)
) -> Tensor:
    """The same numbers, each with as few digits as still fit; next to nothing becomes 0.

    Args:
        numbers: [K] float64.
        fits: whether numbers do.
        digits: the counts of digits to try.

    Example:
        >>> shortened(torch.tensor([0.3300001]).double(), lambda x: abs(float(x[0]) - 0.33) < 1e-3).tolist()
        [0.33]
    """
    # Together first: where one makes up for another, none can be cut alone.
    cut = (
        torch.tensor([float(f"{one:.{count}g}") for one in numbers.tolist()], dtype=torch.float64)
        for count in digits
    )
    result = next((tried for tried in cut if fits(tried)), numbers).clone()
    for position, number in enumerate(result.tolist()):
        for value in (0.0, *(float(f"{number:.{count}g}") for count in digits)):
            tried = result.clone()
            tried[position] = value
            if fits(tried):
                result = tried
                break
    return result


def square(left: Tensor) -> float:
    """The sum of squares of what is left over; inf where it is not finite."""
    result = float((left * left).sum())
    return result if result == result else torch.inf


def worst(left: Tensor) -> float:
    """The largest of what is left over; inf where something is not finite."""
    return float(left.abs().max()) if bool(left.isfinite().all()) else torch.inf


def slopes_at(residual: Residual, numbers: Tensor, left: Tensor, steps: Steps = _USUAL) -> Tensor:
    """[M, K] by how much what is left changes with each number, upwards, or where that is not allowed downwards.

    Args:
        residual: what numbers leave over.
        numbers: [K] float64.
        left: [M] what they leave.
        steps: by which share of a number it is changed, and what is allowed.
    """
    columns = []
    for position, number in enumerate(numbers.tolist()):
        moved = numbers.clone()
        moved[position] += steps.slope * max(abs(number), 1e-3)
        if bool((steps.allowed(moved) != moved).any()):
            moved[position] = number - steps.slope * max(abs(number), 1e-3)
        columns.append((residual(moved) - left) / float(moved[position] - number))
    return torch.stack(columns, dim=1)
