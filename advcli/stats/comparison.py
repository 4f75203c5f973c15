"""How a processed advantage differs from the original."""

import math

import torch
from torch import Tensor

from advcli.records import AdvantageTable, Column, Rows
from advcli.segments import Segments, signs
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
    finite = torch.isfinite(rows.rewards)
    scored = kept & finite
    segments = Segments.of(rows.group[scored], rows.count)
    survivors = segments.size()
    had_rows = Segments.of(rows.group[finite & (rows.group >= 0)], rows.count).size() > 1
    both = kept & ~original.isnan()
    group = rows.group.clamp(min=0)
    sign, first_sign = signs(processed, group), signs(original, group)
    weights = None if rows.lengths is None else rows.lengths[kept]
    return Column(
        label=label,
        figures=figures(processed[kept], sign[kept], weights),
        kept_rows=int(kept.sum()),
        kept_groups=int((Segments.of(rows.group[kept], rows.count).size() > 0).sum()),
        below_two=int(((survivors < 2) & had_rows).sum()),
        dead_groups=int(dead_groups(rows.rewards[scored], segments)[0].sum()),
        sign_changes=_mean(first_sign[both] != sign[both]),
        mean_abs_ratio=_ratio(_mean(processed[both].abs()), _mean(original[both].abs())),
        phantoms=_phantoms(processed[scored], rows.rewards[scored], segments),
        rank_agreement=rank_agreement(original[both], processed[both], rows.group[both], rows.count),
    )


def _phantoms(processed: Tensor, rewards: Tensor, segments: Segments) -> int:
    """Rows of dead groups whose advantage is not 0."""
    dead = dead_groups(rewards, segments)[0]
    return int((segments.rows(dead) & (processed != 0)).sum())


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
