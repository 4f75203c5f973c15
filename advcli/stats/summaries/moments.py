"""Count, mean and centred sum of squares, such that those of two parts make those of the whole."""

import math
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from advcli.tensors.masks import chosen, finite


@dataclass(frozen=True)
class Moments:
    """The moments of some numbers.

    Attributes:
        count: how many.
        weight: the sum of their weights; `count` without weights.
        mean: their (weighted) mean, NaN without any weight.
        squares: the (weighted) sum of their squared distances from the mean.
        low: the smallest, NaN without any.
        high: the largest, NaN without any.

    Example:
        >>> import torch
        >>> one, two = Moments.of(torch.tensor([1.0, 2.0])), Moments.of(torch.tensor([6.0]))
        >>> (one + two).mean, (one + two).squares, (one + two).std(ddof=1) ** 2
        (3.0, 14.0, 7.000000000000001)
    """

    count: int
    weight: float
    mean: float
    squares: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Tensor, weights: Tensor | None = None) -> "Moments":
        """Take the moments in two passes.

        Args:
            values: [n] float, finite.
            weights: [n] float; none or an undefined one weighs nothing. None for 1 each.
        """
        if not len(values):
            return cls(0, 0.0, math.nan, 0.0, math.nan, math.nan)
        v = values.double().numpy()
        w = None if weights is None else weights.double().nan_to_num(nan=0.0).clamp(min=0).numpy()
        weight = float(len(v)) if w is None else float(w.sum())
        with np.errstate(over="ignore", invalid="ignore"):
            # Where they are near the largest float, mean and spread are infinite, and shown as undefined.
            mean = _sum(v, w) / weight if weight else math.nan
            squares = _sum((v - mean) ** 2, w) if weight else 0.0
        return cls(len(v), weight, mean, squares, float(v.min()), float(v.max()))

    def std(self, *, ddof: int) -> float:
        """The standard deviation; NaN with `ddof` numbers or fewer."""
        free = self.weight - ddof
        return math.sqrt(self.squares / free) if free > 0 else math.nan

    def __add__(self, other: "Moments") -> "Moments":
        if not self.weight or not other.weight:
            kept = self if self.weight else other
            return Moments(
                self.count + other.count,
                kept.weight,
                kept.mean,
                kept.squares,
                _ends(min, self.low, other.low),
                _ends(max, self.high, other.high),
            )
        weight = self.weight + other.weight
        apart = other.mean - self.mean
        return Moments(
            self.count + other.count,
            weight,
            self.mean + apart * (other.weight / weight),
            # Chan, Golub and LeVeque 1979, Updating formulae, equation 2.1.
            self.squares + other.squares + apart * apart * (self.weight * other.weight / weight),
            min(self.low, other.low),
            max(self.high, other.high),
        )


@dataclass(frozen=True)
class CoMoments:
    """What the correlation of two columns takes.

    Attributes:
        count: rows.
        mean_x: mean of the first; 0 without rows.
        mean_y: mean of the second.
        xx: sum of the squared distances of the first from its mean.
        yy: the same of the second.
        xy: sum of the products of both distances.

    Example:
        >>> import torch
        >>> one = CoMoments.of(torch.tensor([1.0, 2.0]), torch.tensor([2.0, 4.0]))
        >>> round((one + CoMoments.of(torch.tensor([3.0]), torch.tensor([6.0]))).correlation, 9)
        1.0
    """

    count: int
    mean_x: float
    mean_y: float
    xx: float
    yy: float
    xy: float

    @classmethod
    def of(cls, first: Tensor, second: Tensor) -> "CoMoments":
        """Take the moments of two columns, [n] float; rows where one of them is infinite are left out."""
        if first is second:
            # A column beside itself: mostly nothing is left out.
            x = chosen(first, finite(first)).double().numpy()
            mean = float(x.mean()) if len(x) else 0.0
            x = x - mean
            squares = float(x @ x)
            return cls(len(x), mean, mean, squares, squares, squares)
        both = finite(first) & finite(second)
        x, y = chosen(first, both).double().numpy(), chosen(second, both).double().numpy()
        if not len(x):
            return cls(0, 0.0, 0.0, 0.0, 0.0, 0.0)
        mean_x, mean_y = float(x.mean()), float(y.mean())
        x, y = x - mean_x, y - mean_y
        return cls(len(x), mean_x, mean_y, float(x @ x), float(y @ y), float(x @ y))

    @property
    def correlation(self) -> float:
        """Pearson's r; NaN where either column is constant, or too large for its square to be a number."""
        power = math.sqrt(self.xx) * math.sqrt(self.yy)
        return max(-1.0, min(1.0, self.xy / power)) if power and math.isfinite(power) else math.nan

    def __add__(self, other: "CoMoments") -> "CoMoments":
        count = self.count + other.count
        if not count:
            return self
        x, y = other.mean_x - self.mean_x, other.mean_y - self.mean_y
        share, both = other.count / count, self.count * other.count / count
        return CoMoments(
            count,
            self.mean_x + x * share,
            self.mean_y + y * share,
            self.xx + other.xx + x * x * both,
            self.yy + other.yy + y * y * both,
            self.xy + other.xy + x * y * both,
        )


def _ends(pick, one: float, other: float) -> float:  # type: ignore[no-untyped-def]  # noqa: ANN001
    """The smaller or the larger of two numbers, of which either may be undefined."""
    there = [value for value in (one, other) if not math.isnan(value)]
    return pick(there) if there else math.nan


def _sum(values, weights) -> float:  # type: ignore[no-untyped-def]  # noqa: ANN001
    return float(values.sum() if weights is None else (values * weights).sum())
