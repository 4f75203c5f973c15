"""Nonlinear least squares by Levenberg-Marquardt, for a handful of parameters and any residual function."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

Residual = Callable[[Tensor], Tensor]
"""[K] numbers → [M] residuals."""

_ROUNDS = 40
_DAMPING, _EASED, _TIGHTENED, _MOST = 1e-3, 0.3, 4.0, 1e9
# Relative gain at which the search ends near a solution and far from one, and the sum of squares that counts as 0.
_GAIN, _SLOW, _NONE = 1e-9, 0.03, 1e-26


@dataclass(frozen=True)
class Steps:
    """Settings of a fit.

    Attributes:
        slope: relative step for numerical slopes.
        most: the damping at which the search ends.
        low: [K] the smallest allowed numbers, or one for all.
        high: the largest.
    """

    slope: float = 1e-6
    most: float = _MOST
    low: Tensor | float = -torch.inf
    high: Tensor | float = torch.inf

    def allowed(self, numbers: Tensor) -> Tensor:
        """[K] the nearest allowed numbers."""
        return numbers.max(torch.as_tensor(self.low)).min(torch.as_tensor(self.high))


_DEFAULT = Steps()


def least_squares(
    residual: Residual, start: Tensor, *, near: float, steps: Steps = _DEFAULT
) -> tuple[Tensor, float]:
    """The numbers that minimize the sum of squares near a start.

    Args:
        residual: the residuals of numbers; not finite if they are not allowed.
        start: [K] float64.
        near: a sum of squares from which 0 may be reached; above it, slow progress ends the search.
        steps: the settings.

    Returns:
        [K] the numbers, and their sum of squares.

    Example:
        >>> root, error = least_squares(
        ...     lambda x: x**2 - 2, torch.tensor([1.0], dtype=torch.float64), near=1.0
        ... )
        >>> round(float(root), 6)
        1.414214
    """
    numbers, residuals = start.clone(), residual(start)
    best, damping = square(residuals), _DAMPING
    for _ in range(_ROUNDS):
        if best <= _NONE or damping > steps.most:
            break
        slopes = slopes_at(residual, numbers, residuals, steps)
        if not bool(slopes.isfinite().all()):
            break
        normal, gradient = slopes.T @ slopes, slopes.T @ residuals
        scale = normal.diagonal().clamp(min=1e-12 * float(normal.diagonal().max().clamp(min=1e-300)))
        before = best
        while damping <= steps.most:
            change = torch.linalg.lstsq(normal + damping * scale.diag(), gradient).solution
            if float(change @ (2 * gradient - normal @ change)) <= _GAIN * best:
                # The slopes promise no further gain, and a shorter step promises less.
                break
            moved_numbers = steps.allowed(numbers - change)
            moved = residual(moved_numbers)
            if square(moved) < best:
                numbers, residuals, best = moved_numbers, moved, square(moved)
                damping *= _EASED
                break
            damping *= _TIGHTENED
        if before - best <= (_SLOW if best > near else _GAIN) * before:
            break
    return numbers, best


def shortened(
    numbers: Tensor, fits: Callable[[Tensor], bool], digits: Sequence[int] = (1, 2, 3, 4, 5, 6)
) -> Tensor:
    """The numbers, each rounded to as few digits as still fit, or to 0.

    Args:
        numbers: [K] float64.
        fits: whether numbers fit.
        digits: the numbers of significant digits to try.

    Example:
        >>> shortened(torch.tensor([0.3300001]).double(), lambda x: abs(float(x[0]) - 0.33) < 1e-3).tolist()
        [0.33]
    """
    # Round all together first: if numbers compensate each other, none can be rounded alone.
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


def square(residuals: Tensor) -> float:
    """The sum of squares; inf if it is NaN."""
    result = float((residuals * residuals).sum())
    return result if result == result else torch.inf


def worst(residuals: Tensor) -> float:
    """The largest absolute residual; inf if any is not finite."""
    return float(residuals.abs().max()) if bool(residuals.isfinite().all()) else torch.inf


def slopes_at(residual: Residual, numbers: Tensor, residuals: Tensor, steps: Steps = _DEFAULT) -> Tensor:
    """[M, K] the numerical Jacobian, by forward differences, or backward ones at an upper bound.

    Args:
        residual: the residuals of numbers.
        numbers: [K] float64.
        residuals: [M] their residuals.
        steps: the relative step and the allowed range.
    """
    columns = []
    for position, number in enumerate(numbers.tolist()):
        moved = numbers.clone()
        moved[position] += steps.slope * max(abs(number), 1e-3)
        if bool((steps.allowed(moved) != moved).any()):
            moved[position] = number - steps.slope * max(abs(number), 1e-3)
        columns.append((residual(moved) - residuals) / float(moved[position] - number))
    return torch.stack(columns, dim=1)
