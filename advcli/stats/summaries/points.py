"""Points of scatter plots: all of them if there are few, else a sample."""

import torch
from torch import Tensor

from advcli.records.results.page import GroupPoints, LengthPoints
from advcli.records.table import Rows
from advcli.stats.health import dead_groups
from advcli.stats.summaries.histogram import single
from advcli.tensors.masks import rewarded
from advcli.tensors.segments import Segments, Spread

LIMIT = 4000
_TENTHS = 10
# A fixed seed makes every run draw the same sample.
_SEED = 0


def group_points(rows: Rows, limit: int = LIMIT) -> GroupPoints:
    """Mean and standard deviation (ddof 1) of the rewards of each group with two or more valid rows.

    Args:
        rows: the rows of the data set.
        limit: maximum number of distinct points.

    Example:
        >>> rows = Rows(torch.tensor([0.0, 1.0, 1.0, 1.0]), torch.tensor([0, 0, 1, 1]), 2, torch.zeros(4))
        >>> found = group_points(rows)
        >>> sorted(zip(found.mean, found.dead))
        [(0.5, False), (1.0, True)]
    """
    valid = rewarded(rows.rewards, rows.group)
    values = rows.rewards[valid].double()
    segments = Segments.of(rows.group[valid], rows.count)
    able = segments.size() > 1
    total = int(able.sum())
    dead = dead_groups(values, segments)[0]
    spread = Spread.of(values, segments)
    std = torch.where(dead, 0.0, spread.std(1))
    columns = torch.stack([segments.mean(values), std], dim=1)[able]
    keyed = torch.cat([single(columns), dead[able].double().unsqueeze(1)], dim=1)
    points, count = torch.unique(keyed, dim=0, return_counts=True)
    # With too many points, keep those with the most groups; ties are broken at random.
    drawn = _sample(len(points), len(points))
    chosen = drawn[torch.argsort(count[drawn], descending=True, stable=True)][:limit]
    points, count = points[chosen], count[chosen]
    return GroupPoints(
        mean=tuple(points[:, 0].tolist()),
        std=tuple(points[:, 1].tolist()),
        groups=tuple(count.tolist()),
        dead=tuple(bool(one) for one in points[:, 2].tolist()),
        shown=int(count.sum()),
        total=total,
    )


def solve_rates(rows: Rows) -> Tensor:
    """Share of each group's valid rows at the largest reward of the dataset, [G]; NaN without a valid row.

    Example:
        >>> rows = Rows(torch.tensor([0.0, 1.0, 1.0, 1.0]), torch.tensor([0, 0, 1, 1]), 2, torch.zeros(4))
        >>> solve_rates(rows).tolist()
        [0.5, 1.0]
    """
    valid = rewarded(rows.rewards, rows.group)
    values = rows.rewards[valid]
    segments = Segments.of(rows.group[valid], rows.count)
    best = (values == values.max()).double() if values.numel() else values.double()
    return torch.where(segments.size() > 0, segments.sum(best) / segments.size(), torch.nan)


def group_means(rows: Rows) -> Tensor:
    """Mean reward of each group, [G]; NaN without a valid row.

    Example:
        >>> rows = Rows(torch.tensor([0.0, 1.0, 1.0, 1.0]), torch.tensor([0, 0, 1, 1]), 2, torch.zeros(4))
        >>> group_means(rows).tolist()
        [0.5, 1.0]
    """
    valid = rewarded(rows.rewards, rows.group)
    return Segments.of(rows.group[valid], rows.count).mean(rows.rewards[valid])


def length_points(rows: Rows, advantages: Tensor, limit: int = LIMIT) -> LengthPoints | None:
    """Length and advantage of the rows that have both; None without lengths.

    Args:
        rows: the rows of the data set.
        advantages: [N] float, NaN where undefined.
        limit: maximum number of points.
    """
    if rows.lengths is None:
        return None
    both = torch.isfinite(rows.lengths) & torch.isfinite(advantages)
    length, advantage = rows.lengths[both].double(), advantages[both].double()
    order = torch.argsort(length, stable=True)
    parts = [part for part in torch.tensor_split(order, _TENTHS) if part.numel()]
    chosen = _sample(length.numel(), limit)
    return LengthPoints(
        length=tuple(length[chosen].tolist()),
        advantage=tuple(advantage[chosen].tolist()),
        group=tuple(rows.group[both][chosen].tolist()),
        total=length.numel(),
        bin_length=tuple(float(length[part].mean()) for part in parts),
        bin_advantage=tuple(float(advantage[part].mean()) for part in parts),
    )


def _sample(count: int, limit: int) -> Tensor:
    """Indices in random order, the same in every run."""
    return torch.randperm(count, generator=torch.Generator().manual_seed(_SEED))[:limit]
