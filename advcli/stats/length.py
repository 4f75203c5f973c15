"""Response length, and its correlation with reward and advantage."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from advcli.records.mergeable import Mergeable
from advcli.records.results.inspection import Lengths
from advcli.records.table import Rows
from advcli.stats.health import dead_groups
from advcli.stats.summaries.moments import Moments
from advcli.tensors.masks import rewarded
from advcli.tensors.segments import Segments, Spread, divide


def lengths(rows: Rows, advantages: Tensor) -> Lengths | None:
    """Describe the lengths.

    Args:
        rows: the rows of the data set.
        advantages: [N] float, NaN where undefined.

    Returns:
        The figures; None if the data set has no lengths.
    """
    return None if rows.lengths is None else LengthCount.of(rows, advantages).figures()


@dataclass(frozen=True)
class LengthCount(Mergeable):
    """Counts of the lengths, mergeable across parts with whole groups.

    Attributes:
        tokens: moments of the lengths.
        with_reward: products of length and reward within groups.
        with_advantage: products of length and advantage within groups.
        total: tokens of all rows.
        dead: tokens of dead groups.
    """

    tokens: Moments
    with_reward: "Products"
    with_advantage: "Products"
    total: float
    dead: float

    @classmethod
    def of(cls, rows: Rows, advantages: Tensor) -> "LengthCount":
        """Count; arguments as in `lengths`; the dataset must have lengths."""
        assert rows.lengths is not None
        has_length = torch.isfinite(rows.lengths) & (rows.group >= 0)
        valid = rewarded(rows.rewards, rows.group)
        dead = dead_groups(rows.rewards[valid], Segments.of(rows.group[valid], rows.count))[0]
        tokens = rows.lengths[has_length]
        return cls(
            tokens=Moments.of(tokens),
            with_reward=Products.of(rows.lengths, rows.rewards, rows.group, rows.count),
            with_advantage=Products.of(rows.lengths, advantages.double(), rows.group, rows.count),
            total=float(tokens.sum()),
            dead=float(tokens[dead[rows.group[has_length]]].sum()),
        )

    def figures(self) -> Lengths:
        """The figures from the counts."""
        return Lengths(
            mean=self.tokens.mean,
            max=self.tokens.high,
            with_reward=self.with_reward.correlation(),
            with_advantage=self.with_advantage.correlation(),
            dead_tokens=self.dead / self.total if self.total else torch.nan,
        )


@dataclass(frozen=True)
class Products:
    """Sums of products of two columns, centred by group and scaled by their largest absolute value against overflow.

    Attributes:
        units: the largest absolute values.
        xx: Σx².
        xy: Σxy.
        yy: Σy².
    """

    units: tuple[float, float] = (0.0, 0.0)
    xx: float = 0.0
    xy: float = 0.0
    yy: float = 0.0

    @classmethod
    def of(cls, first: Tensor, second: Tensor, group: Tensor, count: int) -> "Products":
        """Sum up; arguments as in `correlation`."""
        both = torch.isfinite(first) & torch.isfinite(second) & (group >= 0)
        segments = Segments.of(group[both], count)
        if not segments.index.numel():
            return cls()
        x, y = (Spread.of(values[both], segments).centred() for values in (first, second))
        units = (float(x.abs().max()), float(y.abs().max()))
        x, y = (divide(v, torch.tensor(u, dtype=v.dtype)) for v, u in zip((x, y), units, strict=True))
        return cls(units, float((x * x).sum()), float((x * y).sum()), float((y * y).sum()))

    def __add__(self, other: "Products") -> "Products":
        units = (max(self.units[0], other.units[0]), max(self.units[1], other.units[1]))
        parts = [one.in_units(units) for one in (self, other)]
        return Products(units, *(map(sum, zip(*parts, strict=True))))

    def in_units(self, units: tuple[float, ...]) -> tuple[float, float, float]:
        """The sums rescaled to other units."""
        a, b = (unit / other if other else 0.0 for unit, other in zip(self.units, units, strict=True))
        return self.xx * a * a, self.xy * a * b, self.yy * b * b

    def correlation(self) -> float:
        """From -1 to 1; NaN if either column is constant in every group."""
        size = math.sqrt(self.xx * self.yy)
        return self.xy / size if size else math.nan


def correlation(first: Tensor, second: Tensor, group: Tensor, count: int) -> float:
    """Pearson's r of two columns within groups: centred by group mean, all groups pooled.

    Args:
        first: [N] float64; rows where either is undefined are ignored.
        second: [N] float64.
        group: [N] int64 in [0, G), -1 for rows without a group.
        count: G.

    Returns:
        From -1 to 1; NaN if either column is constant in every group.

    Example:
        >>> group = torch.tensor([0, 0, 1, 1])
        >>> correlation(torch.tensor([1.0, 3.0, 9.0, 7.0]), torch.tensor([0.0, 1.0, 1.0, 0.0]), group, 2)
        1.0
    """
    return Products.of(first, second, group, count).correlation()
