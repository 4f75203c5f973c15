"""The probability of a dead group at other group sizes, counted from larger groups or fitted."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from advcli.records.results.inspection import DeadChance
from advcli.stats.inference.beta_binomial import Fit
from advcli.tensors.segments import Segments

SIZES = (2, 4, 8, 16, 32)
"""The group sizes to report, besides the most common one and that plus one."""

_Pairs = Mapping[tuple[int, int], int]


@dataclass(frozen=True)
class ValueCounts:
    """How often each value occurs in each group; mergeable across parts with whole groups.

    Attributes:
        runs: (rows of a group, rows of it at one value) → number of such (group, value) pairs.
        highs: (rows of a group, rows of it at the largest value of the column) → number of such groups.
        between: rows at neither the largest nor the smallest value of the column.
    """

    runs: _Pairs
    highs: _Pairs
    between: int

    @classmethod
    def of(cls, values: Tensor, segments: Segments, extent: tuple[float, float]) -> "ValueCounts":
        """Count.

        Args:
            values: [n] float64, finite.
            segments: their groups.
            extent: the smallest and the largest value of the column.
        """
        low, high = extent
        size = segments.size()
        owner, runs = _runs(values, segments)
        there = size > 0
        at_high = segments.sum((values == high).double()).long()
        return cls(
            _counted(size[owner], runs),
            _counted(size[there], at_high[there]),
            int(((values != low) & (values != high)).sum()),
        )

    def __add__(self, other: "ValueCounts") -> "ValueCounts":
        runs, highs = (
            dict(Counter(own) + Counter(others))
            for own, others in ((self.runs, other.runs), (self.highs, other.highs))
        )
        return ValueCounts(runs, highs, self.between + other.between)

    def chances(self) -> tuple[DeadChance, ...]:
        """The probability of a dead group at each size of `SIZES`, at the most common one, and at that plus one.

        If at least half of the groups with two or more rows have G or more, it is counted from those: the share of
        draws of G rows that are all equal, Σ_v C(c_v, G) / C(n, G) for a group with c_v of n rows at value v, is
        unbiased. For larger G it is fitted if there are two values, assuming that the probability of the higher one
        follows a beta distribution over prompts. Otherwise it is undefined.

        Example:
            >>> flips = ValueCounts.of(
            ...     torch.tensor([1.0, 1.0, 0.0, 0.0]), Segments.of(torch.zeros(4).long()), (0, 1)
            ... )
            >>> [(chance.g, round(chance.p, 4)) for chance in flips.chances() if chance.how]
            [(2, 0.3333), (4, 0.0)]
        """
        sizes = Counter[int]()
        for (size, _), groups in self.highs.items():
            sizes[size] += groups
        able = Counter({size: groups for size, groups in sizes.items() if size > 1})
        usual = {size + more for size, _ in able.most_common(1) for more in (0, 1)}
        wanted = sorted({*SIZES, *usual})
        fit = self._fit() if any(not _counts(able, g) for g in wanted) else None
        return tuple(self._chance(g, able, fit) for g in wanted)

    def _fit(self) -> Fit | None:
        """The beta-binomial distribution of the groups; None with more than two values."""
        if self.between or not self.highs:
            return None
        size, high = torch.tensor(list(self.highs)).unbind(1)
        return Fit.of(size, high, torch.tensor(list(self.highs.values())))

    def _chance(self, g: int, able: Counter[int], fit: Fit | None) -> DeadChance:
        p, low, high, how = math.nan, math.nan, math.nan, ""
        large = sum(groups for size, groups in able.items() if size >= g)
        if _counts(able, g):
            drawn = (
                count * math.comb(rows, g) / math.comb(size, g)
                for (size, rows), count in self.runs.items()
                if size >= g and rows >= g
            )
            p, how = math.fsum(drawn) / large, "counted"
        elif fit is not None:
            (p, low, high), how = fit.dead(g), "fitted"
        saved = sum(size * groups for size, groups in able.items()) - g * able.total()
        return DeadChance(g, p, low, high, how, large, able.total() * (1 - p), saved)


def _counts(able: Counter[int], g: int) -> bool:
    """Whether enough groups are large enough to count instead of fitting."""
    large = sum(groups for size, groups in able.items() if size >= g)
    return 0 < 2 * large >= able.total()


def _counted(first: Tensor, second: Tensor) -> dict[tuple[int, int], int]:
    """Pair → how often it occurs."""
    if not len(first):
        return {}
    width = int(second.max()) + 1
    pairs, counts = torch.unique(first * width + second, return_counts=True)
    return {divmod(pair, width): count for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True)}


def _runs(values: Tensor, segments: Segments) -> tuple[Tensor, Tensor]:
    """For each distinct value of each group: the group, and how many rows have the value."""
    order = segments.order(values)
    v, g = values[order], segments.index[order]
    starts = torch.ones_like(g, dtype=torch.bool)
    starts[1:] = (v[1:] != v[:-1]) | (g[1:] != g[:-1])
    first = torch.nonzero(starts).squeeze(1)
    ends = torch.cat([first[1:], first.new_tensor([len(g)])])
    return g[first], ends - first
