"""Mergeable moments: count, mean and centred sum of squares."""

import math
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from advcli.tensors.masks import chosen, finite


@dataclass(frozen=True)
class Moments:
    """The moments of some numbers.

    Attributes:
        count: how many numbers.
        weight: the sum of their weights; `count` without weights.
        mean: their (weighted) mean, NaN if the weight is 0.
        squares: the (weighted) sum of their squared distances from the mean.
        low: the smallest, NaN if there are none.
        high: the largest, NaN if there are none.

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
        """Compute the moments in two passes.

        Args:
            values: [n] float, finite.
            weights: [n] float; negative and undefined ones count as 0. None for 1 each.
        """
        if not len(values):
            return cls(0, 0.0, math.nan, 0.0, math.nan, math.nan)
        v = values.double().numpy()
        w = None if weights is None else weights.double().nan_to_num(nan=0.0).clamp(min=0).numpy()
        weight = float(len(v)) if w is None else float(w.sum())
        with np.errstate(over="ignore", invalid="ignore"):
            # Near the largest float, mean and spread overflow to infinity and are shown as undefined.
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
        gap = other.mean - self.mean
        return Moments(
            self.count + other.count,
            weight,
            self.mean + gap * (other.weight / weight),
            # Chan, Golub and LeVeque 1979, Updating formulae, equation 2.1.
            self.squares + other.squares + gap * gap * (self.weight * other.weight / weight),
            min(self.low, other.low),
            max(self.high, other.high),
        )


@dataclass(frozen=True)
class CoMoments:
    """The mergeable sums behind the correlation of two columns.

    Attributes:
        count: rows.
        mean_x: mean of the first column; 0 without rows.
        mean_y: mean of the second.
        xx: sum of squared deviations of the first from its mean.
        yy: sum of squared deviations of the second.
        xy: sum of the products of both deviations.

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
        """Compute the sums for two columns, [n] float; rows where either is not finite are ignored."""
        if first is second:
            # The unchanged column, the usual case: one pass suffices.
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
        """Pearson's r; NaN if either column is constant or its squares overflow."""
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
    """The smaller or the larger of two numbers, ignoring NaN."""
    defined = [value for value in (one, other) if not math.isnan(value)]
    return pick(defined) if defined else math.nan


def _sum(values, weights) -> float:  # type: ignore[no-untyped-def]  # noqa: ANN001
    return float(values.sum() if weights is None else (values * weights).sum())
