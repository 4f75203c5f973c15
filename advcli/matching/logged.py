"""The advantages of the dump, and when a computed one is the same."""

from dataclasses import dataclass

import torch
from torch import Tensor

# Of the largest |A|, and of anything.
RELATIVE, ABSOLUTE = 1e-5, 1e-6
# Rounding to fewer decimals than this is coarser than the tolerance.
_FINE = 6
_FLOAT32 = 2.0**-24
# How many units in the last place a trainer's sum may be off, because it added in another order.
_ULPS = 8


@dataclass(frozen=True)
class Logged:
    """Logged advantages.

    Attributes:
        values: [N] float64, NaN where the dump has none.
        peak: largest |A|.
        tolerance: largest difference that counts as the same.
        resolution: differences below it say nothing: the rounding of the dump.
        decimals: digits after the point to which the dump is rounded, or None.
        single: whether every number fits into float32.
    """

    values: Tensor
    peak: float
    tolerance: float
    resolution: float
    decimals: int | None
    single: bool

    @classmethod
    def of(cls, values: Tensor) -> "Logged":
        """Look at a column once.

        Args:
            values: [N] float64, NaN where missing.

        Example:
            >>> log = Logged.of(torch.tensor([1.25, -0.75, torch.nan], dtype=torch.float64))
            >>> log.peak, round(log.tolerance, 9), log.single
            (1.25, 1.35e-05, True)
        """
        finite = values[values.isfinite()]
        peak = float(finite.abs().max()) if finite.numel() else 0.0
        single = bool((finite.float().double() == finite).all())
        decimals = _decimals(finite, single=single)
        resolution = (8 * _FLOAT32 if single else 1e-12) * peak
        if decimals is not None:
            resolution = max(resolution, 0.51 * 10.0**-decimals)
        return cls(values, peak, RELATIVE * peak + ABSOLUTE, resolution, decimals, single)

    def coarse(self) -> bool:
        """Whether the dump is rounded to so few digits that the tolerance is too strict."""
        return self.decimals is not None and self.decimals < _FINE

    def loosened(self) -> "Logged":
        """The same with a tolerance that allows for the rounding of the dump."""
        half = 0.51 * 10.0 ** -(self.decimals or _FINE)
        return Logged(
            self.values, self.peak, self.tolerance + half, self.resolution, self.decimals, self.single
        )

    def take(self, rows: Tensor) -> "Logged":
        """The same for some of the rows ([n] int64)."""
        return Logged(
            self.values[rows], self.peak, self.tolerance, self.resolution, self.decimals, self.single
        )


def rounding(rewards: Tensor, extent: Tensor, std: Tensor, eps: float | None) -> Tensor:
    """How far float32 may be off in a row, because a trainer's sum may run in another order.

    A group of eight rewards of 0.1 has a float32 mean that is off by one unit in the last place, and an eps of
    1e-8 makes a visible advantage out of it.

    Args:
        rewards: [N] float64, NaN where missing.
        extent: [N] largest |reward| of the row's group.
        std: [N] standard deviation of the row's group.
        eps: added to it; None where nothing is divided.

    Returns:
        [N] float64, 0 where the divisor is 0.
    """
    divisor = torch.ones_like(rewards) if eps is None else std + eps
    allowed = torch.where(divisor > 0, _ULPS * _FLOAT32 * extent / divisor, 0.0)
    return allowed.nan_to_num(nan=0.0)


def _decimals(values: Tensor, *, single: bool) -> int | None:
    """Digits after the point that all values have; None if they are not rounded, or too few to tell."""
    distinct = values.abs().unique()
    if distinct.numel() < 6:
        return None
    for digits in range(1, _FINE + 1):
        scaled = distinct * 10.0**digits
        noise = scaled * (_FLOAT32 if single else 1e-12) + 1e-9
        if bool(((scaled - scaled.round()).abs() <= noise).all() and (noise < 0.05).all()):
            return digits
    return None
