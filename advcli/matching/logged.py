"""The advantages of the dump, how many digits they were stored with, and when a computed one is the same."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from advcli.common.wording import counted
from advcli.tensors.masks import chosen
from advcli.tensors.masks import finite as _finite

# Nearly the same: of the largest |A|, and of anything.
RELATIVE, ABSOLUTE = 1e-5, 1e-6
_FLOAT32 = 2.0**-24
# How many units in the last place float32 arithmetic leaves, where sums run in another order.
_ULPS = 4
# How many times as much the sums of weighted parts and of a group leave of what is summed.
_SUMMED = 1.5
# How many times as much it leaves where numbers cancel.
_ROUGH = 4.0
# Decimals and significant digits that are looked for. Fewer significant digits than the fewest are a coincidence.
_DECIMALS, _DIGITS = range(1, 11), range(4, 11)
# A reward, the mean and the std that are each off by as much.
_BLURRED = 3.0
# How many times more than its last digit a 16-bit number is off where the arithmetic ran in 16 bits too.
_ARITHMETIC = 4.0
# Half of a decimal that float32 hides.
_FINE = 1e-7
# Different rewards that are rounded to few digits by no coincidence.
_TELLING = 6
_PART = 4096
# So many different numbers that are multiples of the last digit's g are no rounded ones, where that has a chance of
# 2^-12; whole numbers that float64 holds.
_SEVERAL, _UNLIKELY, _WHOLE = 3, 12.0, 2.0**53
# What 15 digits may be off, as a share of the number.
_TEXT = 1e-14
_HALVES: Mapping[str, tuple[torch.dtype, float]] = {
    "bf16": (torch.bfloat16, 2.0**-8),
    "fp16": (torch.float16, 2.0**-11),
}


@dataclass(frozen=True)
class Stored:
    """The digits that a column of numbers was stored with.

    Attributes:
        words: as one would say it; "" for a float32 or a float64.
        absolute: largest difference between a number and what was stored of it.
        relative: the same as a share of the number, where that is more.
        arithmetic: whether the computation may have run with as few digits.
    """

    words: str = ""
    absolute: float = 0.0
    relative: float = 0.0
    arithmetic: bool = False

    def room(self, values: Tensor) -> Tensor:
        """[N] how far each number may be from the one that was stored."""
        return (self.relative * values.abs()).clamp(min=self.absolute)


@dataclass(frozen=True)
class Logged:
    """Logged advantages.

    Attributes:
        values: [N] float64, NaN where the dump has none.
        peak: largest |A|.
        tolerance: largest difference that counts as nearly the same.
        exact: largest difference that float32 arithmetic leaves of the largest |A|.
        resolution: differences below it say nothing: the digits of the dump.
        stored: the digits of the dump.
        single: whether every number fits into float32.
        constant: whether all are the same number.
        unit: what the arithmetic may be off, as a share of what is added up.
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
        """Look at a column once.

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
        """The same where the largest |A| is another."""
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
        """Whether the numbers were stored with fewer digits than float32 has."""
        return bool(self.stored.words)

    def by_digits(self, max_abs: float) -> bool:
        """Whether a rule that is off by so much fits only because the log has few digits."""
        return self.coarse and max_abs > _ROUGH * self.exact

    def computed(self) -> "Logged":
        """The same if the arithmetic ran with as few digits as the numbers have."""
        words = f"{self.stored.words} arithmetic"
        wide = replace(
            self.stored, words=words, relative=_ARITHMETIC * self.stored.relative, arithmetic=False
        )
        return replace(self, stored=wide, unit=self.stored.relative).of_peak(self.peak)

    def take(self, rows: Tensor) -> "Logged":
        """The same for some of the rows ([n] int64)."""
        return replace(self, values=self.values[rows])

    def room(self) -> Tensor:
        """[N] how far each row may be off and still be nearly the same."""
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
    """How far arithmetic may be off in a row of a group whose rewards differ, because sums may run in another order.

    Args:
        rewards: [N] float64, NaN where missing.
        extent: [N] largest |reward| of the row's group.
        std: [N] standard deviation of the row's group.
        eps: added to it; None where nothing is divided.
        unit: what the arithmetic may be off, as a share of what is added up; that of float32.
        blur: how far a logged reward may be from the one that was used.

    Returns:
        [N] float64, 0 where the divisor is 0, and where equal rewards are divided: see `dead.phantoms`.
    """
    divisor = torch.ones_like(rewards) if eps is None else std + eps
    able = (divisor > 0) & ((std > 0) | (blur > 0) | (eps is None))
    off = _SUMMED * unit * extent + _BLURRED * blur
    return torch.where(able, off / divisor, 0.0).nan_to_num(nan=0.0)


def half_step(values: Tensor) -> float:
    """Half of the last decimal that all values have; 0 where they are not rounded to few decimals.

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
    """The fewest digits that hold every number.

    Few different numbers may fit by chance: then a rule that reproduces them to the last digit of float32 is believed first.
    Numbers that need far fewer digits than they would have by rounding, such as quarters, were not rounded at all.

    Args:
        values: [n] float64, all finite.
        single: whether float32 holds them.

    Example:
        >>> stored(torch.tensor([0.87, -0.5], dtype=torch.float64), single=False).words
        '2 decimals'
        >>> stored(torch.tensor([0.578125, -1.15625], dtype=torch.float64), single=True).words
        'bf16'
    """
    if not bool((values != 0).any()):
        return Stored()
    able = [
        next(_in_decimals(values, single=single), Stored()),
        next(_in_digits(values, single=single), Stored()),
        next(_in_halves(values), Stored()),
    ]
    held = [one for one in able if one.words]
    if held and all(_on_a_grid(values, one) for one in held):
        return Stored()
    largest = values.abs().max()
    first = max(able, key=lambda one: float(one.room(largest)))
    # It may be any of those that hold every number.
    return replace(
        first, absolute=max(one.absolute for one in able), relative=max(one.relative for one in able)
    )


def _on_a_grid(values: Tensor, of: Stored) -> bool:
    """Whether numbers with some digits would all have zeros in the last of them by chance only.

    Args:
        values: [n] float64, all finite.
        of: digits that hold every number.
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
        if _held(values, lambda some: some * scale, single=single):  # noqa: B023  used at once
            yield Stored(counted(digits, "decimal"), 0.5 / scale)


def _in_digits(values: Tensor, *, single: bool) -> Iterator[Stored]:
    for digits in _DIGITS:
        last = float(digits - 1)

        def scaled(some: Tensor, last: float = last) -> Tensor:
            some = some[some != 0]
            return some * 10.0 ** (last - some.abs().log10().floor())

        if _held(values, scaled, single=single):
            yield Stored(f"{digits} digits", 0.0, 0.5 * 10.0**-last)


def _in_halves(values: Tensor) -> Iterator[Stored]:
    for words, (dtype, unit) in _HALVES.items():
        if all(bool((part.to(dtype).double() == part).all()) for part in (_some(values), values)):
            yield Stored(words, 0.0, unit, arithmetic=True)


def _held(values: Tensor, scaled: Callable[[Tensor], Tensor], *, single: bool) -> bool:
    """Whether numbers are whole once they are scaled, but for what their type loses."""
    for part in (_some(values), values):
        whole = scaled(part)
        noise = whole.abs() * (_FLOAT32 if single else 1e-12) + 1e-9
        if not bool(((whole - whole.round()).abs() <= noise).all() and (noise < 0.05).all()):
            return False
    return True


def _single(values: Tensor) -> bool:
    """Whether float32 holds every number, but for what a text of 15 digits loses."""
    return bool(((values.float().double() - values).abs() <= _TEXT * values.abs()).all())


def _some(values: Tensor) -> Tensor:
    """A part of the values, which nearly always shows that they are not rounded."""
    return values[:: max(1, len(values) // _PART)]
