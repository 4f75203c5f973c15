"""The signal in a reward column: live and dead groups, variance."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from advcli.records.results.inspection import NEAR_DEAD, RewardSignal, Spreads
from advcli.records.table import CAUSES
from advcli.stats.health import dead_groups
from advcli.stats.inference.dead_chance import ValueCounts
from advcli.stats.summaries.moments import Moments
from advcli.tensors.masks import rewarded
from advcli.tensors.segments import Segments, Spread


def signal(
    name: str, rewards: Tensor, cause: Tensor, group: Tensor, count: int, *, near_dead: float = NEAR_DEAD
) -> RewardSignal:
    """Describe one reward column.

    Args:
        name: the column.
        rewards: [N] float64, NaN where missing.
        cause: [N] int8, 0 or 1 + position in `records.table.CAUSES`.
        group: [N] int64 in [0, G), -1 for rows without a group.
        count: G.
        near_dead: a live group whose max − min is at most this share of the column's max − min is near dead.

    Returns:
        The figures; NaN where undefined.

    Example:
        >>> column = torch.tensor([1.0, 1.0, 0.0, 1.0], dtype=torch.float64)
        >>> found = signal("r", column, torch.zeros(4), torch.tensor([0, 0, 1, 1]), 2)
        >>> found.dead_groups_all_max, found.live_groups, found.live_rows
        (1, 1, 2)
    """
    return SignalCount.of(rewards, cause, group, count, near_dead=near_dead).figures(
        name, distinct=torch.unique(rewards[rewarded(rewards, group)]).numel()
    )


@dataclass(frozen=True)
class SignalCount:
    """Counts for a reward column, mergeable across parts with whole groups.

    Attributes:
        causes: why values are missing → how many.
        total: moments of the values.
        within: sum of their squared distances from their group means.
        between: moments of the group mean, once per value.
        of_groups: sum of the group means.
        at_max: values equal to the largest.
        live: groups with two or more valid rows that are not all equal.
        dead: groups with two or more valid rows, all equal.
        dead_high: dead groups at the largest value.
        dead_low: dead groups at the smallest.
        near_dead: live groups with a small spread.
        singletons: groups with one valid row.
        ends: the smallest and the largest value of the whole column; NaN if there is none.
        live_rows: valid rows of live groups.
        sizes: valid rows of a group → number of groups.
        values: how often each value occurs in each group.
    """

    causes: Mapping[str, int]
    total: Moments
    within: float
    between: Moments
    of_groups: float
    at_max: int
    live: int
    dead: int
    dead_high: int
    dead_low: int
    near_dead: int
    singletons: int
    ends: tuple[float, float]
    live_rows: int
    sizes: Counter[int]
    values: ValueCounts

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
        """Count; arguments as in `signal`.

        `extent` is the smallest and the largest value of the column, if these rows are only a part of it.
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
        ends = extent or (moments.low, moments.high)
        # Halve first, so that no difference overflows.
        spread = segments.max(values) / 2 - segments.min(values) / 2
        limit = near_dead * (ends[1] / 2 - ends[0] / 2)
        return cls(
            causes=_by_cause(cause),
            total=moments,
            within=float((within**2).sum()),
            between=replace(moments, squares=float((between**2).sum())),
            of_groups=float(segments.mean(values.double())[size > 0].sum()),
            at_max=int((values == ends[1]).sum()),
            live=int(live.sum()),
            dead=int(dead.sum()),
            dead_high=int((dead & (level == ends[1])).sum()),
            dead_low=int((dead & (level == ends[0])).sum()),
            near_dead=int((live & (spread <= limit)).sum()),
            singletons=int((size == 1).sum()),
            live_rows=int(size[live].sum()),
            sizes=Counter(size[size > 0].tolist()),
            values=ValueCounts.of(values, segments, ends),
            ends=ends,
        )

    def __add__(self, other: "SignalCount") -> "SignalCount":
        total = self.total + other.total
        # A part without rewards has NaN ends.
        low, high = float(np.fmin(self.ends[0], other.ends[0])), float(np.fmax(self.ends[1], other.ends[1]))
        highest = [part for part in (self, other) if part.ends[1] == high]
        lowest = [part for part in (self, other) if part.ends[0] == low]
        return SignalCount(
            causes={name: count + other.causes[name] for name, count in self.causes.items()},
            total=total,
            within=self.within + other.within,
            between=self.between + other.between,
            of_groups=self.of_groups + other.of_groups,
            at_max=sum(part.at_max for part in highest),
            live=self.live + other.live,
            dead=self.dead + other.dead,
            dead_high=sum(part.dead_high for part in highest),
            dead_low=sum(part.dead_low for part in lowest),
            near_dead=self.near_dead + other.near_dead,
            singletons=self.singletons + other.singletons,
            ends=(low, high),
            live_rows=self.live_rows + other.live_rows,
            sizes=self.sizes + other.sizes,
            values=self.values + other.values,
        )

    def figures(self, name: str, *, distinct: int) -> RewardSignal:
        """The figures from the counts; `distinct` is the number of distinct values."""
        total = self.total
        rows = total.count or torch.nan
        low, high = self.ends
        # If all rewards are equal, there is no largest or smallest.
        scaled = low < high
        return RewardSignal(
            name=name,
            valid=total.count,
            missing=sum(self.causes.values()),
            missing_by_cause=self.causes,
            min=total.low,
            mean=total.mean,
            mean_over_groups=self.of_groups / (self.sizes.total() or torch.nan),
            max=total.high,
            distinct=distinct,
            at_max=self.at_max / rows if scaled else torch.nan,
            live_groups=self.live,
            dead_groups=self.dead,
            dead_groups_all_max=self.dead_high if scaled else 0,
            dead_groups_all_min=self.dead_low if scaled else 0,
            near_dead_groups=self.near_dead,
            singletons=self.singletons,
            live_rows=self.live_rows,
            variance=self._variance(),
            p_dead=self.values.chances(),
        )

    def _variance(self) -> Spreads:
        """The variance within and between groups, plain and unbiased."""
        rows, groups = self.total.count, self.sizes.total()
        if not rows:
            return Spreads(torch.nan, torch.nan, torch.nan)
        plain = (self.within / rows, self.between.squares / rows, self.total.squares / rows)
        if rows == groups or groups < 2:
            return Spreads(*plain, self.within / (rows - groups) if rows > groups else torch.nan)
        within = self.within / (rows - groups)
        # Searle, Casella and McCulloch 1992, Variance Components, section 3.6: the analysis of variance, unbalanced.
        mean_size = (rows - sum(size**2 * count for size, count in self.sizes.items()) / rows) / (groups - 1)
        between = (self.between.squares / (groups - 1) - within) / mean_size
        return Spreads(*plain, within, between)


def _deviations(values: Tensor, segments: Segments) -> tuple[Tensor, Tensor, Tensor]:
    """[n] each: row minus group mean, group mean minus overall mean, row minus overall mean."""
    if not values.numel():
        return values, values, values
    within = Spread.of(values, segments).centred()
    everything = Segments.of(torch.zeros_like(segments.index), 1)
    total = Spread.of(values, everything).centred()
    return within, total - within, total


def _by_cause(cause: Tensor) -> Mapping[str, int]:
    return {name: int((cause == code).sum()) for code, name in enumerate(CAUSES, start=1)}


def _extent(values: Tensor) -> tuple[float, float]:
    """Smallest and largest value."""
    if not values.numel():
        return torch.nan, torch.nan
    return float(values.min()), float(values.max())
