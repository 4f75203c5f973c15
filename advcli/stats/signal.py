"""Where the signal of a reward column is: live and dead groups, variance, the chance of a dead group."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from advcli.records.inspection import NEAR_DEAD, DeadChance, RewardSignal, Spreads
from advcli.records.table import CAUSES
from advcli.segments import Segments, Spread, rewarded
from advcli.stats.health import dead_groups

GROUP_SIZES = (2, 4, 8, 16, 32)


def signal(
    name: str, rewards: Tensor, cause: Tensor, group: Tensor, count: int, *, near_dead: float = NEAR_DEAD
) -> RewardSignal:
    """Describe one reward column.

    Args:
        name: the column.
        rewards: [N] float64, NaN where missing.
        cause: [N] int8, 0 or 1 + position in `records.table.CAUSES`.
        group: [N] int64 in [0, G), -1 for rows that belong nowhere.
        count: G.
        near_dead: a live group whose max − min is at most this share of the column's max − min is near dead.

    Returns:
        The figures; those that no row defines are NaN.

    Example:
        >>> column = torch.tensor([1.0, 1.0, 0.0, 1.0], dtype=torch.float64)
        >>> found = signal("r", column, torch.zeros(4), torch.tensor([0, 0, 1, 1]), 2)
        >>> found.dead_groups_all_max, found.live_groups, found.effective_rows
        (1, 1, 2)
    """
    valid = rewarded(rewards, group)
    values, segments = rewards[valid], Segments.of(group[valid], count)
    size = segments.size()
    dead, level = dead_groups(values, segments)
    live = (size > 1) & ~dead
    low, mean, high = _extent(values)
    # Halved, so that no difference overflows.
    spread = segments.max(values) / 2 - segments.min(values) / 2
    at_max = values == high
    by_cause = _by_cause(cause)
    return RewardSignal(
        name=name,
        valid=values.numel(),
        missing=sum(by_cause.values()),
        missing_by_cause=by_cause,
        min=low,
        mean=mean,
        max=high,
        distinct=torch.unique(values).numel(),
        at_max=float(at_max.double().mean()) if values.numel() else torch.nan,
        live_groups=int(live.sum()),
        dead_groups=int(dead.sum()),
        dead_groups_all_max=int((dead & (level == high)).sum()),
        dead_groups_all_min=int((dead & (level == low) & (level != high)).sum()),
        near_dead_groups=int((live & (spread <= near_dead * (high / 2 - low / 2))).sum()),
        singletons=int((size == 1).sum()),
        effective_rows=int(size[live].sum()),
        variance=variances(values, segments),
        p_dead=dead_chances(values, segments),
    )


def variances(values: Tensor, segments: Segments) -> Spreads:
    """The variance within groups, between groups and in total.

    Args:
        values: [n] float64, finite.
        segments: their groups.

    Returns:
        Mean squared distances over rows (ddof 0); NaN without rows.

    Example:
        >>> variances(torch.tensor([0.0, 2.0, 4.0, 4.0]), Segments.of(torch.tensor([0, 0, 1, 1])))
        Spreads(within=0.5, between=2.25, total=2.75)
    """
    if not values.numel():
        return Spreads(torch.nan, torch.nan, torch.nan)
    within = Spread.of(values, segments).centred()
    everything = Segments.of(torch.zeros_like(segments.index), 1)
    total = Spread.of(values, everything).centred()
    between = torch.where(segments.rows(segments.size()) > 0, total - within, 0.0)
    return Spreads(*(float((part**2).mean()) for part in (within, between, total)))


def dead_chances(
    values: Tensor, segments: Segments, sizes: Sequence[int] = GROUP_SIZES
) -> tuple[DeadChance, ...]:
    """The probability that a group of another size would be dead, from the values that its group has.

    A group with n rows, c_v of them of value v, and G ≤ n: the share of the draws of G of its rows that are all
    equal, Σ_v C(c_v, G) / C(n, G); unbiased. G > n: Σ_v (c_v / n)^G, the observed shares taken for the true ones.
    Groups with fewer than two rows say nothing.

    Args:
        values: [n] float64, finite.
        segments: their groups.
        sizes: the group sizes G.

    Returns:
        One mean over the groups for each G.

    Example:
        >>> flips = torch.tensor([1.0, 1.0, 0.0, 0.0])
        >>> [round(c.p, 4) for c in dead_chances(flips, Segments.of(torch.tensor([0, 0, 0, 0])), (2, 8))]
        [0.3333, 0.0078]
    """
    size = segments.size()
    able = size > 1
    if not able.any():
        return tuple(DeadChance(g, torch.nan, torch.nan) for g in sizes)
    owner, runs = _runs(values, segments)
    many, of = runs.double(), size[owner].double()
    found = []
    for g in sizes:
        drawn = torch.ones_like(many)
        for taken in range(g):
            drawn *= ((many - taken) / (of - taken).clamp(min=1)).clamp(min=0)
        chance = torch.where(of >= g, drawn, (many / of) ** g)
        per_group = torch.zeros(segments.count, dtype=torch.float64).index_add_(0, owner, chance)
        plug_in = float((size[able] < g).double().mean())
        found.append(DeadChance(g, float(per_group[able].mean()), plug_in))
    return tuple(found)


def _runs(values: Tensor, segments: Segments) -> tuple[Tensor, Tensor]:
    """Group and number of rows of each distinct value of each group."""
    order = segments.order(values)
    v, g = values[order], segments.index[order]
    starts = torch.ones_like(g, dtype=torch.bool)
    starts[1:] = (v[1:] != v[:-1]) | (g[1:] != g[:-1])
    first = torch.nonzero(starts).squeeze(1)
    ends = torch.cat([first[1:], first.new_tensor([len(g)])])
    return g[first], ends - first


def _by_cause(cause: Tensor) -> Mapping[str, int]:
    return {name: int((cause == code).sum()) for code, name in enumerate(CAUSES, start=1)}


def _extent(values: Tensor) -> tuple[float, float, float]:
    """Smallest value, mean and largest value."""
    if not values.numel():
        return torch.nan, torch.nan, torch.nan
    return float(values.min()), float(values.mean()), float(values.max())
