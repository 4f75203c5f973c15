"""How a processed advantage differs from the original."""

import math

import torch
from torch import Tensor

from advcli.records import AdvantageTable, Column, Rows
from advcli.segments import Segments, chosen, finite, signs
from advcli.stats.figures import figures
from advcli.stats.health import dead_groups


def compare(label: str, rows: Rows, original: Tensor, result: AdvantageTable) -> Column:
    """Describe one column and its distance from the original.

    Args:
        label: heading of the column.
        rows: the rows of the data set.
        original: [N] the original advantage, NaN where undefined.
        result: the advantages of this column and the rows that take part in it.

    Returns:
        The figures over the kept rows. Comparisons are over kept rows where both are defined.
    """
    kept, processed = result.kept, result.processed
    rewarded = finite(rows.rewards)
    scored, both = kept & rewarded, kept & ~original.isnan()
    segments = Segments.of(chosen(rows.group, scored), rows.count)
    rewards = chosen(rows.rewards, scored)
    had_rows = Segments.of(chosen(rows.group, rewarded & (rows.group >= 0)), rows.count).size() > 1
    group = rows.group.clamp(min=0)
    sign = signs(processed, group)
    first_sign = sign if processed is original else signs(original, group)
    before, after = chosen(original, both), chosen(processed, both)
    weights = None if rows.lengths is None else chosen(rows.lengths, kept)
    dead = dead_groups(rewards, segments)[0]
    return Column(
        label=label,
        figures=figures(chosen(processed, kept), chosen(sign, kept), weights),
        kept_rows=int(kept.sum()),
        kept_groups=int((Segments.of(chosen(rows.group, kept), rows.count).size() > 0).sum()),
        below_two=int(((segments.size() < 2) & had_rows).sum()),
        dead_groups=int(dead.sum()),
        sign_changes=_mean(chosen(first_sign, both) != chosen(sign, both)),
        mean_abs_ratio=_ratio(_mean(after.abs()), _mean(before.abs())),
        phantoms=int((segments.rows(dead) & (chosen(processed, scored) != 0)).sum()),
        rank_agreement=rank_agreement(before, after, chosen(rows.group, both), rows.count),
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
    segments = Segments.of(group, count)
    if torch.equal(first, second):
        # Nothing has to be ranked: ρ is 1 wherever it is defined.
        return 1.0 if bool((segments.max(first) > segments.min(first)).any()) else math.nan
    x, y = (_centred_ranks(values, segments) for values in (first, second))
    spread = (segments.sum(x * x) * segments.sum(y * y)).sqrt()
    rho = segments.sum(x * y)[spread > 0] / spread[spread > 0]
    return _mean(rho)


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


def _mean(values: Tensor) -> float:
    return float(values.double().mean()) if values.numel() else math.nan


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else math.nan
