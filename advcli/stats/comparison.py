"""How a processed advantage differs from the original."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import torch
from torch import Tensor

from advcli.records.mergeable import Mergeable
from advcli.records.results.report import Column
from advcli.records.settings import AdvantageTable
from advcli.records.table import Rows
from advcli.stats.figures import PERCENTILES, Tally, described, mean
from advcli.stats.health import dead_groups
from advcli.stats.summaries.moments import CoMoments
from advcli.stats.summaries.percentiles import percentiles
from advcli.tensors.group_ranges import Ranges
from advcli.tensors.masks import belongs, chosen, count, every, finite, undefined
from advcli.tensors.segments import Segments, signs


def compare(label: str, rows: Rows, original: Tensor, result: AdvantageTable) -> Column:
    """Describe one column and its distance from the original.

    Args:
        label: heading of the column.
        rows: the rows of the data set.
        original: [N] the original advantage, NaN where undefined.
        result: the advantages of this column and its kept rows.

    Returns:
        The figures over the kept rows. Comparisons are over kept rows where both are defined.
    """
    processed = chosen(result.processed, result.kept).double().numpy()
    percentile_values = percentiles(processed, tuple(PERCENTILES.values()))
    return column(label, measured(rows, original, result), percentile_values)


def equal(one: AdvantageTable, other: AdvantageTable) -> bool:
    """Whether two columns keep the same rows with the same advantages; NaN equals NaN."""
    first, second = one.processed, other.processed
    if not torch.equal(one.kept, other.kept):
        return False
    return first is second or bool(((first == second) | (first.isnan() & second.isnan())).all())


def measured(rows: Rows, original: Tensor, result: AdvantageTable) -> "Measured":
    """The counts for a column, computed in ranges of whole groups; arguments as in `compare`."""
    ranges = Ranges.of(rows.group)
    if ranges is None:
        return Measured.of(rows, original, result)
    same, whole = result.processed is original, every(result.kept)
    for values in (rows.rewards, original):
        ranges.gather_all(values)

    def measure(place: slice, group: Tensor) -> Measured:
        rewards, first = (ranges.gather(values, place) for values in (rows.rewards, original))
        kept = torch.ones_like(group, dtype=torch.bool) if whole else ranges.gather(result.kept, place)
        last = first if same else ranges.gather(result.processed, place)
        lengths = None if rows.lengths is None else ranges.gather(rows.lengths, place)
        # No column statistic uses the step: any index will do.
        part = Rows(rewards, group, int(group[-1]) + 1, group, lengths)
        return Measured.of(part, first, AdvantageTable(first, last, kept))

    return reduce(add, ranges.map(measure))


@dataclass(frozen=True)
class Measured(Mergeable):
    """Mergeable counts for a column and its distance from the original.

    Attributes:
        tally: the kept rows.
        kept_groups: groups with a kept row.
        below_two: groups with fewer than two kept rows.
        dead_groups: groups with two or more kept rewards, all equal.
        live_groups: groups with two or more kept rewards that are not all equal.
        phantoms: kept rows of dead groups with an advantage other than 0.
        both: kept rows where both are defined.
        changed: those of them with a different sign.
        sum_abs: Σ|A| over them.
        sum_abs_original: Σ|A| of the original over them.
        ranked: groups with a defined rank agreement.
        agreement: its sum over them.
        together: co-moments of the two columns over `both`.
    """

    tally: Tally
    kept_groups: int
    below_two: int
    dead_groups: int
    live_groups: int
    phantoms: int
    both: int
    changed: int
    sum_abs: float
    sum_abs_original: float
    ranked: int
    agreement: float
    together: CoMoments

    @classmethod
    def of(cls, rows: Rows, original: Tensor, result: AdvantageTable) -> "Measured":
        """Count; arguments as in `compare`."""
        kept, processed = result.kept, result.processed
        rewarded = finite(rows.rewards)
        scored, both = kept & rewarded, kept & ~undefined(original)
        segments = _Groups(rows.group, rows.count)
        of_scored = segments.of(scored)
        had_rows = segments.of(rewarded & belongs(rows.group)).size() > 1
        sign = signs(processed, segments.all)
        first_sign = sign if processed is original else signs(original, segments.all)
        before, after = chosen(original, both), chosen(processed, both)
        weights = None if rows.lengths is None else chosen(rows.lengths, kept)
        dead = dead_groups(chosen(rows.rewards, scored), of_scored)[0]
        agreement = _agreements(before, after, segments.of(both))
        return cls(
            tally=Tally.of(chosen(processed, kept), chosen(sign, kept), weights),
            kept_groups=int((segments.of(kept).size() > 0).sum()),
            below_two=int(((of_scored.size() < 2) & had_rows).sum()),
            dead_groups=int(dead.sum()),
            live_groups=int(((of_scored.size() > 1) & ~dead).sum()),
            phantoms=_phantoms(dead, of_scored, chosen(processed, scored)),
            both=count(both),
            changed=0 if first_sign is sign else count(chosen(first_sign, both) != chosen(sign, both)),
            sum_abs=float(after.double().abs().sum()),
            sum_abs_original=float(before.double().abs().sum()),
            ranked=agreement.numel(),
            agreement=float(agreement.double().sum()),
            together=CoMoments.of(before, after),
        )


class _Groups:
    """Segments of the groups, for all rows or a subset; cached for all."""

    def __init__(self, group: Tensor, count: int) -> None:
        self._group, self._count = group, count
        # Rows without a group are assigned to group 0, even if there is no group.
        self.all = Segments.of(group if every(belongs(group)) else group.clamp(min=0), max(1, count))

    def of(self, rows: Tensor) -> Segments:
        """The groups of the rows in a mask, all of which must have one."""
        if self._count and every(rows):
            return self.all
        return Segments.of(chosen(self._group, rows), self._count)


def _phantoms(dead: Tensor, segments: Segments, processed: Tensor) -> int:
    """How many rows of dead groups have an advantage other than 0."""
    return count(segments.rows(dead) & (processed != 0)) if dead.any() else 0


def column(label: str, measured: Measured, found: Sequence[float]) -> Column:
    """The record of a column from its counts.

    Args:
        label: heading of the column.
        measured: the counts.
        found: the value of each of `figures.PERCENTILES`.
    """
    both = measured.both
    return Column(
        label=label,
        figures=described(measured.tally, found),
        kept_rows=measured.tally.moments.count,
        kept_groups=measured.kept_groups,
        below_two=measured.below_two,
        dead_groups=measured.dead_groups,
        live_groups=measured.live_groups,
        sign_changes=measured.changed / both if both else math.nan,
        mean_abs_ratio=_ratio(measured.sum_abs, measured.sum_abs_original) if both else math.nan,
        phantoms=measured.phantoms,
        rank_agreement=measured.agreement / measured.ranked if measured.ranked else math.nan,
        correlation=measured.together.correlation,
    )


def rank_agreement(first: Tensor, second: Tensor, group: Tensor, count: int) -> float:
    """Spearman's ρ within groups, averaged over the groups where it is defined.

    Ties get their mean rank. A group counts if it has two or more rows and neither column is constant.

    Args:
        first: [n] float.
        second: [n] float.
        group: [n] int64 in [0, G).
        count: G.

    Returns:
        The mean, in [-1, 1]; NaN if no group counts.

    Example:
        >>> a = torch.tensor([1.0, 2.0, 3.0, 5.0, 4.0])
        >>> rank_agreement(a, torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0]), torch.tensor([0, 0, 0, 1, 1]), 2)
        0.0
    """
    return mean(_agreements(first, second, Segments.of(group, count)))


def _agreements(first: Tensor, second: Tensor, segments: Segments) -> Tensor:
    """Spearman's ρ of each group where it is defined."""
    if first is second or torch.equal(first, second):
        # No need to rank: ρ is 1 wherever it is defined.
        return torch.ones(int((segments.max(first) > segments.min(first)).sum()), dtype=torch.double)
    x, y = (_centred_ranks(values, segments) for values in (first, second))
    spread = (segments.sum(x * x) * segments.sum(y * y)).sqrt()
    return segments.sum(x * y)[spread > 0] / spread[spread > 0]


def _centred_ranks(values: Tensor, segments: Segments) -> Tensor:
    """Rank in the group minus the mean rank, ties at their mean rank."""
    if not values.numel():
        return values.double()
    ascending = segments.rank(values).double()
    tied = _tied(values, segments)
    size = segments.rows(segments.size()).double()
    return tied.rows(tied.mean(ascending)) - (size - 1) / 2


def _tied(values: Tensor, segments: Segments) -> Segments:
    """The rows of a group that share a value, as segments."""
    order = torch.argsort(values, stable=True)
    order = order[torch.argsort(segments.index[order], stable=True)]
    v, g = values[order], segments.index[order]
    starts = torch.ones_like(g, dtype=torch.bool)
    starts[1:] = (v[1:] != v[:-1]) | (g[1:] != g[:-1])
    index = torch.empty_like(g).scatter_(0, order, starts.cumsum(0) - 1)
    return Segments.of(index)


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else math.nan
