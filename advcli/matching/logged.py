"""The advantages of the dump, and when a computed one is the same."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from advcli.tensors.masks import chosen
from advcli.tensors.masks import finite as _finite

# Of the largest |A|, and of anything.
RELATIVE, ABSOLUTE = 1e-5, 1e-6
# Rounding to fewer decimals than this is coarser than the tolerance.
_FINE = 6
_FLOAT32 = 2.0**-24
# How many units in the last place a trainer's sum may be off, because it added in another order.
_ULPS = 8
# A reward, the mean and the std that are each off by as much.
_BLURRED = 3.0
# Different numbers that are no coincidence.
_TELLING = 6
_PART = 4096
# What 15 digits may be off, as a share of the number.
_TEXT = 1e-14
_HALVES: Mapping[torch.dtype, float] = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-10}


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
        constant: whether all are the same number.
        half_precision: the rounding unit of the 16-bit type that every number fits into; 0 for none.
        relative: what a row may be off, as a share of it, in addition.
    """

    values: Tensor
    peak: float
    tolerance: float
    resolution: float
    decimals: int | None
    single: bool
    constant: bool = False
    half_precision: float = 0.0
    relative: float = 0.0

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
        finite = chosen(values, _finite(values))
        peak = float(finite.abs().max()) if finite.numel() else 0.0
        single = _single(finite)
        decimals = _decimals(finite, single=single)
        half = _half_precision(finite) if decimals is None and single else 0.0
        constant = bool((finite == finite[:1]).all())
        resolution = (8 * _FLOAT32 if single else 1e-12) * peak
        if decimals is not None:
            resolution = max(resolution, 0.51 * 10.0**-decimals)
        resolution = max(resolution, half * peak)
        return cls(values, peak, RELATIVE * peak + ABSOLUTE, resolution, decimals, single, constant, half)

    @property
    def coarse(self) -> bool:
        """Whether the dump is rounded to so few digits that the tolerance is too strict."""
        return self.half_precision > 0 or (self.decimals is not None and self.decimals < _FINE)

    def loosened(self) -> "Logged":
        """The same with a tolerance that allows for the rounding of the dump."""
        half = 0.51 * 10.0**-self.decimals if self.decimals is not None else 0.0
        return replace(self, tolerance=self.tolerance + half, relative=self.half_precision)

    def take(self, rows: Tensor) -> "Logged":
        """The same for some of the rows ([n] int64)."""
        return replace(self, values=self.values[rows])

    def room(self) -> Tensor:
        """[N] how far each row may be off and still count as the same."""
        return self.tolerance + self.relative * self.values.abs()


def rounding(rewards: Tensor, extent: Tensor, std: Tensor, eps: float | None, blur: float = 0.0) -> Tensor:
    """How far float32 may be off in a row, because a trainer's sum may run in another order.

    A group of eight rewards of 0.1 has a float32 mean that is off by one unit in the last place, and an eps of
    1e-8 makes a visible advantage out of it.

    Args:
        rewards: [N] float64, NaN where missing.
        extent: [N] largest |reward| of the row's group.
        std: [N] standard deviation of the row's group.
        eps: added to it; None where nothing is divided.
        blur: how far a logged reward may be from the one that was used.

    Returns:
        [N] float64, 0 where the divisor is 0.
    """
    divisor = torch.ones_like(rewards) if eps is None else std + eps
    off = _ULPS * _FLOAT32 * extent + _BLURRED * blur
    return torch.where(divisor > 0, off / divisor, 0.0).nan_to_num(nan=0.0)


def half_step(values: Tensor) -> float:
    """Half of the last decimal that all values have; 0 where they are not rounded to few decimals.

    Args:
        values: [N] float64, NaN where missing.

    Example:
        >>> half_step(torch.tensor([0.25, 0.5, 0.75, 0.01, 0.02, 0.03], dtype=torch.float64))
        0.005
    """
    finite = chosen(values, _finite(values))
    single = _single(finite)
    digits = _decimals(finite, single=single)
    return 0.0 if digits is None else 0.5 * 10.0**-digits


def _single(values: Tensor) -> bool:
    """Whether float32 holds every number, but for what a text of 15 digits loses."""
    return bool(((values.float().double() - values).abs() <= _TEXT * values.abs()).all())


def _half_precision(values: Tensor) -> float:
    """The rounding unit of the 16-bit type that holds all values; 0 where none does, or too few tell."""
    some = _some(values)
    able = {unit: dtype for dtype, unit in _HALVES.items() if _held(some, dtype)}
    if not able or not _telling(values, some):
        return 0.0
    return max((unit for unit, dtype in able.items() if _held(values, dtype)), default=0.0)


def _held(values: Tensor, dtype: torch.dtype) -> bool:
    return bool((values.to(dtype).double() == values).all())


def _decimals(values: Tensor, *, single: bool) -> int | None:
    """Digits after the point that all values have; None if they are not rounded, or too few to tell."""
    some = _some(values)
    able = [digits for digits in range(1, _FINE + 1) if _rounded(some, digits, single=single)]
    if not able or not _telling(values, some):
        return None
    return next((digits for digits in able if _rounded(values, digits, single=single)), None)


def _rounded(values: Tensor, digits: int, *, single: bool) -> bool:
    scaled = values.abs() * 10.0**digits
    noise = scaled * (_FLOAT32 if single else 1e-12) + 1e-9
    return bool(((scaled - scaled.round()).abs() <= noise).all() and (noise < 0.05).all())


def _some(values: Tensor) -> Tensor:
    """A part of the values, which nearly always tells that they are not rounded."""
    return values[:: max(1, len(values) // _PART)]


def _telling(values: Tensor, some: Tensor) -> bool:
    """Whether there are enough different numbers; looked for among some values first."""
    return any(part.abs().unique().numel() >= _TELLING for part in (some, values))
