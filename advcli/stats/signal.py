"""Where the signal of a reward column is: live and dead groups, variance, the chance of a dead group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from advcli.records.inspection import NEAR_DEAD, DeadChance, RewardSignal, Spreads
from advcli.records.table import CAUSES
from advcli.stats.health import dead_groups
from advcli.stats.moments import Moments
from advcli.tensors.masks import rewarded
from advcli.tensors.segments import Segments, Spread

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
    return SignalCount.of(rewards, cause, group, count, near_dead=near_dead).figures(
        name, distinct=torch.unique(rewards[rewarded(rewards, group)]).numel()
    )


@dataclass(frozen=True)
class SignalCount:
    """What is counted of a reward column, such that the counts of two parts with whole groups make those of both.

    Attributes:
        causes: why values are missing → how many.
        total: the values.
        within: sum of their squared distances from the means of their groups.
        between: for each value, the mean of its group.
        at_max: values at the largest one.
        live: groups with two or more valid rows that are not all equal.
        dead: groups with two or more valid rows, all equal.
        dead_high: those at the largest value.
        dead_low: those at the smallest.
        near_dead: live groups whose spread is small.
        singletons: groups with one valid row.
        effective_rows: valid rows of live groups.
        chances: for each of `GROUP_SIZES`, what `dead_chances` is the mean of, summed over the groups.
        plug_in: for each, the groups that are smaller.
    """

    causes: Mapping[str, int]
    total: Moments
    within: float
    between: Moments
    at_max: int
    live: int
    dead: int
    dead_high: int
    dead_low: int
    near_dead: int
    singletons: int
    effective_rows: int
    chances: tuple[float, ...]
    plug_in: tuple[int, ...]

    @classmethod
    def of(
        cls,
        rewards: Tensor,
        cause: Tensor,
        group: Tensor,
        count: int,
        *,
        near_dead: float = NEAR_DEAD,
        extent: tuple[float, float] | None = None,
    ) -> "SignalCount":
        """Count; the arguments are those of `signal`.

        Where these rows are not all of the column, `extent` is its smallest and its largest value.
        """
        valid = rewarded(rewards, group)
        values, segments = rewards[valid], Segments.of(group[valid], count)
        size = segments.size()
        dead, level = dead_groups(values, segments)
        live = (size > 1) & ~dead
        within, between, total = _deviations(values, segments)
        mean = float(values.mean()) if values.numel() else torch.nan
        moments = Moments(
            values.numel(), float(values.numel()), mean, float((total**2).sum()), *_extent(values)
        )
        low, high = moments.low, moments.high
        # Halved, so that no difference overflows.
        spread = segments.max(values) / 2 - segments.min(values) / 2
        limit = near_dead * ((extent or (low, high))[1] / 2 - (extent or (low, high))[0] / 2)
        chances = _chances(values, segments, GROUP_SIZES)
        return cls(
            causes=_by_cause(cause),
            total=moments,
            within=float((within**2).sum()),
            between=replace(moments, squares=float((between**2).sum())),
            at_max=int((values == high).sum()),
            live=int(live.sum()),
            dead=int(dead.sum()),
            dead_high=int((dead & (level == high)).sum()),
            dead_low=int((dead & (level == low)).sum()),
            near_dead=int((live & (spread <= limit)).sum()),
            singletons=int((size == 1).sum()),
            effective_rows=int(size[live].sum()),
            chances=tuple(float(chance.sum()) for chance in chances),
            plug_in=tuple(int((size[size > 1] < g).sum()) for g in GROUP_SIZES),
        )

    def __add__(self, other: "SignalCount") -> "SignalCount":
        total = self.total + other.total
        highest = [one for one in (self, other) if one.total.high == total.high]
        lowest = [one for one in (self, other) if one.total.low == total.low]
        return SignalCount(
            causes={name: many + other.causes[name] for name, many in self.causes.items()},
            total=total,
            within=self.within + other.within,
            between=self.between + other.between,
            at_max=sum(one.at_max for one in highest),
            live=self.live + other.live,
            dead=self.dead + other.dead,
            dead_high=sum(one.dead_high for one in highest),
            dead_low=sum(one.dead_low for one in lowest),
            near_dead=self.near_dead + other.near_dead,
            singletons=self.singletons + other.singletons,
            effective_rows=self.effective_rows + other.effective_rows,
            chances=tuple(map(sum, zip(self.chances, other.chances, strict=True))),
            plug_in=tuple(map(sum, zip(self.plug_in, other.plug_in, strict=True))),
        )

    def figures(self, name: str, *, distinct: int) -> RewardSignal:
        """The figures, once all rows are counted; `distinct` is how many different values there are."""
        total, able = self.total, self.live + self.dead
        rows, groups = total.count or torch.nan, able or torch.nan
        return RewardSignal(
            name=name,
            valid=total.count,
            missing=sum(self.causes.values()),
            missing_by_cause=self.causes,
            min=total.low,
            mean=total.mean,
            max=total.high,
            distinct=distinct,
            at_max=self.at_max / rows,
            live_groups=self.live,
            dead_groups=self.dead,
            dead_groups_all_max=self.dead_high,
            dead_groups_all_min=self.dead_low if total.low != total.high else 0,
            near_dead_groups=self.near_dead,
            singletons=self.singletons,
            effective_rows=self.effective_rows,
            variance=Spreads(self.within / rows, self.between.squares / rows, total.squares / rows),
            p_dead=tuple(
                DeadChance(g, chance / groups, smaller / groups)
                for g, chance, smaller in zip(GROUP_SIZES, self.chances, self.plug_in, strict=True)
            ),
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
    return Spreads(*(float((part**2).mean()) for part in _deviations(values, segments)))


def _deviations(values: Tensor, segments: Segments) -> tuple[Tensor, Tensor, Tensor]:
    """[n] of each row from the mean of its group, of that from the mean of all rows, and of the row from the latter."""
    if not values.numel():
        return values, values, values
    within = Spread.of(values, segments).centred()
    everything = Segments.of(torch.zeros_like(segments.index), 1)
    total = Spread.of(values, everything).centred()
    return within, total - within, total


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
    return tuple(
        DeadChance(g, float(chance[able].mean()), float((size[able] < g).double().mean()))
        for g, chance in zip(sizes, _chances(values, segments, sizes), strict=True)
    )


def _chances(values: Tensor, segments: Segments, sizes: Sequence[int]) -> list[Tensor]:
    """For each size, [G] the probability that a group of that size would be dead; 0 where one row or none tells."""
    size = segments.size()
    owner, runs = _runs(values, segments)
    many, of = runs.double(), size[owner].double()
    told = (of > 1).double()
    found = []
    for g in sizes:
        drawn = torch.ones_like(many)
        for taken in range(g):
            drawn *= ((many - taken) / (of - taken).clamp(min=1)).clamp(min=0)
        chance = told * torch.where(of >= g, drawn, (many / of) ** g)
        found.append(torch.zeros(segments.count, dtype=torch.float64).index_add_(0, owner, chance))
    return found


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


def _extent(values: Tensor) -> tuple[float, float]:
    """Smallest and largest value."""
    if not values.numel():
        return torch.nan, torch.nan
    return float(values.min()), float(values.max())
