"""The logged advantages: their stored precision, and when a computed advantage counts as equal."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from advcli.common.wording import counted
from advcli.tensors.masks import chosen
from advcli.tensors.masks import finite as _finite

# Tolerance: relative to the largest |A|, and absolute.
RELATIVE, ABSOLUTE = 1e-5, 1e-6
_FLOAT32 = 2.0**-24
# Rounding error of float32 arithmetic in units in the last place, when sums run in another order.
_ULPS = 4
# Multiple of that error in sums of weighted parts and over a group.
_SUMMED = 1.5
# Multiple of that error where numbers cancel.
_ROUGH = 4.0
# Decimals and significant digits to test for. Fewer significant digits than these are a coincidence.
_DECIMALS, _DIGITS = range(1, 11), range(4, 11)
# Three rounding errors add up: of a reward, the mean and the std.
_BLURRED = 3.0
# Error of 16-bit numbers, in multiples of the last digit, if the arithmetic ran in 16 bits too.
_ARITHMETIC = 4.0
# Half steps below this are beyond float32 precision.
_FINE = 1e-7
# Number of distinct rewards from which rounding to few digits is no coincidence.
_TELLING = 6
_PART = 4096
# At least so many distinct multiples of a power of two show that the numbers were not rounded, if chance would give that with
# a probability of 2^-12 at most; the whole numbers that float64 holds.
_SEVERAL, _UNLIKELY, _WHOLE = 3, 12.0, 2.0**53
# Relative error of 15 printed digits.
_TEXT = 1e-14
_HALVES: Mapping[str, tuple[torch.dtype, float]] = {
    "bf16": (torch.bfloat16, 2.0**-8),
    "fp16": (torch.float16, 2.0**-11),
}


@dataclass(frozen=True)
class Stored:
    """The precision with which a column of numbers was stored.

    Attributes:
        words: in words, such as "bf16"; "" for full float32 or float64.
        absolute: largest absolute rounding error.
        relative: largest relative rounding error, used where it is larger.
        arithmetic: whether the computation itself may have run at this precision.
    """

    words: str = ""
    absolute: float = 0.0
    relative: float = 0.0
    arithmetic: bool = False

    def room(self, values: Tensor) -> Tensor:
        """[N] the rounding error allowed for each number."""
        return (self.relative * values.abs()).clamp(min=self.absolute)


@dataclass(frozen=True)
class Logged:
    """Logged advantages.

    Attributes:
        values: [N] float64, NaN where the dump has none.
        peak: largest |A|.
        tolerance: largest difference that counts as nearly equal.
        exact: largest float32 rounding error at the largest |A|.
        resolution: differences below this are meaningless, given the digits of the dump.
        stored: the precision of the dump.
        single: whether every number fits into float32.
        constant: whether all are the same number.
        unit: rounding error of the arithmetic, relative to the summands.
    """

    values: Tensor
    peak: float
    tolerance: float
    exact: float
    resolution: float
    stored: Stored
    single: bool
    constant: bool = False
    unit: float = _ULPS * _FLOAT32

    @classmethod
    def of(cls, values: Tensor) -> "Logged":
        """The logged advantages of a column.

        Args:
            values: [N] float64, NaN where missing.

        Example:
            >>> log = Logged.of(torch.tensor([1 / 3, -2 / 3, torch.nan], dtype=torch.float64))
            >>> round(log.peak, 9), round(log.tolerance, 9), log.single, log.stored.words
            (0.666666667, 7.667e-06, False, '')
        """
        finite = chosen(values, _finite(values))
        single = _single(finite)
        constant = bool((finite == finite[:1]).all())
        bare = cls(values, 0.0, 0.0, 0.0, 0.0, stored(finite, single=single), single, constant)
        return bare.of_peak(float(finite.abs().max()) if finite.numel() else 0.0)

    def of_peak(self, peak: float) -> "Logged":
        """The log with tolerances for another largest |A|."""
        fine = (8 * _FLOAT32 if self.single else 1e-12) * peak
        return replace(
            self,
            peak=peak,
            tolerance=RELATIVE * peak + ABSOLUTE,
            exact=self.unit * peak,
            resolution=max(fine, self.stored.absolute, self.stored.relative * peak),
        )

    @property
    def coarse(self) -> bool:
        """Whether the numbers were stored with less than float32 precision."""
        return bool(self.stored.words)

    def by_digits(self, max_abs: float) -> bool:
        """Whether a rule with this largest difference fits only because the log has few digits."""
        return self.coarse and max_abs > _ROUGH * self.exact

    def computed(self) -> "Logged":
        """The log with tolerances for arithmetic at the stored precision."""
        words = f"{self.stored.words} arithmetic"
        wide = replace(
            self.stored, words=words, relative=_ARITHMETIC * self.stored.relative, arithmetic=False
        )
        return replace(self, stored=wide, unit=self.stored.relative).of_peak(self.peak)

    def take(self, rows: Tensor) -> "Logged":
        """The log of some of the rows ([n] int64)."""
        return replace(self, values=self.values[rows])

    def room(self) -> Tensor:
        """[N] the difference at which each row still counts as nearly equal."""
        return self.tolerance + self.stored.room(self.values)


def rounding(
    rewards: Tensor,
    extent: Tensor,
    std: Tensor,
    eps: float | None,
    *,
    unit: float = _ULPS * _FLOAT32,
    blur: float = 0.0,
) -> Tensor:
    """The rounding error allowed for each row of a group whose rewards differ, as sums may run in another order.

    Args:
        rewards: [N] float64, NaN where missing.
        extent: [N] largest |reward| of the row's group.
        std: [N] standard deviation of the row's group.
        eps: added to it; None if the rule doesn't divide.
        unit: rounding error of the arithmetic, relative to the summands; that of float32.
        blur: how far a logged reward may be from the one that was used.

    Returns:
        [N] float64, 0 where the divisor is 0 and for equal rewards that are divided: see `dead.phantoms`.
    """
    divisor = torch.ones_like(rewards) if eps is None else std + eps
    applies = (divisor > 0) & ((std > 0) | (blur > 0) | (eps is None))
    off = _SUMMED * unit * extent + _BLURRED * blur
    return torch.where(applies, off / divisor, 0.0).nan_to_num(nan=0.0)


def half_step(values: Tensor) -> float:
    """Half a unit of the last decimal of the values; 0 if they aren't rounded to few decimals.

    Args:
        values: [N] float64, NaN where missing.

    Example:
        >>> half_step(torch.tensor([0.25, 0.5, 0.75, 0.01, 0.02, 0.03], dtype=torch.float64))
        0.005
    """
    finite = chosen(values, _finite(values))
    if finite.abs().unique().numel() < _TELLING:
        return 0.0
    result = next(_in_decimals(finite, single=_single(finite)), None)
    return 0.0 if result is None or result.absolute < _FINE else result.absolute


def stored(values: Tensor, *, single: bool) -> Stored:
    """The lowest precision that represents every number.

    A few distinct numbers may fit by chance: then a rule that reproduces them to float32 precision is preferred.
    Numbers that need far fewer digits than rounding would leave, such as quarters, are taken as exact.

    Args:
        values: [n] float64, all finite.
        single: whether float32 represents them.

    Example:
        >>> stored(torch.tensor([0.87, -0.5], dtype=torch.float64), single=False).words
        '2 decimals'
        >>> stored(torch.tensor([0.578125, -1.15625], dtype=torch.float64), single=True).words
        'bf16'
    """
    if not bool((values != 0).any()):
        return Stored()
    formats = [
        next(_in_decimals(values, single=single), Stored()),
        next(_in_digits(values, single=single), Stored()),
        next(_in_halves(values), Stored()),
    ]
    fitting = [fmt for fmt in formats if fmt.words]
    if fitting and all(_on_a_grid(values, fmt) for fmt in fitting):
        return Stored()
    largest = values.abs().max()
    first = max(formats, key=lambda fmt: float(fmt.room(largest)))
    # Any of the formats that represent every number may be the right one.
    return replace(
        first, absolute=max(fmt.absolute for fmt in formats), relative=max(fmt.relative for fmt in formats)
    )


def _on_a_grid(values: Tensor, of: Stored) -> bool:
    """Whether the numbers are multiples of a larger step than their format has, which rounding would hardly leave.

    Args:
        values: [n] float64, all finite.
        of: a format that represents every number.
    """
    some = values[values != 0].abs()
    last = (
        2.0 * of.absolute
        if of.absolute
        else 2.0 * of.relative * _leading(some, 2.0 if of.arithmetic else 10.0)
    )
    whole = (some / last).round().unique()
    if len(whole) < _SEVERAL or bool((whole > _WHOLE).any()):
        return False
    divisor = int(np.gcd.reduce(whole.long().numpy()))
    return len(whole) * math.log2(divisor) >= _UNLIKELY


def _leading(values: Tensor, base: float) -> Tensor:
    """[n] the power of a base that each number begins with."""
    return base ** (values.log2() / math.log2(base) + 1e-12).floor()


def _in_decimals(values: Tensor, *, single: bool) -> Iterator[Stored]:
    for digits in _DECIMALS:
        scale = 10.0**digits
        if _represents(values, lambda some: some * scale, single=single):  # noqa: B023  used at once
            yield Stored(counted(digits, "decimal"), 0.5 / scale)


def _in_digits(values: Tensor, *, single: bool) -> Iterator[Stored]:
    for digits in _DIGITS:
        last = float(digits - 1)

        def scaled(some: Tensor, last: float = last) -> Tensor:
            some = some[some != 0]
            return some * 10.0 ** (last - some.abs().log10().floor())

        if _represents(values, scaled, single=single):
            yield Stored(f"{digits} digits", 0.0, 0.5 * 10.0**-last)


def _in_halves(values: Tensor) -> Iterator[Stored]:
    for words, (dtype, unit) in _HALVES.items():
        if all(bool((part.to(dtype).double() == part).all()) for part in (_subset(values), values)):
            yield Stored(words, 0.0, unit, arithmetic=True)


def _represents(values: Tensor, scaled: Callable[[Tensor], Tensor], *, single: bool) -> bool:
    """Whether the scaled numbers are integers, up to the rounding of their dtype."""
    for part in (_subset(values), values):
        scaled_values = scaled(part)
        noise = scaled_values.abs() * (_FLOAT32 if single else 1e-12) + 1e-9
        if not bool(((scaled_values - scaled_values.round()).abs() <= noise).all() and (noise < 0.05).all()):
            return False
    return True


def _single(values: Tensor) -> bool:
    """Whether float32 represents every number, up to the rounding of 15 printed digits."""
    return bool(((values.float().double() - values).abs() <= _TEXT * values.abs()).all())


def _subset(values: Tensor) -> Tensor:
    """A subset that nearly always suffices to show that values are not rounded."""
    return values[:: max(1, len(values) // _PART)]
