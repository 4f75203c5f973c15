"""Group health, independent of any estimator: sizes, dead groups, singletons, missing rewards."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Annotated

import numpy as np
import torch
from torch import Tensor

from advcli.records.mergeable import Merge, Mergeable, Where
from advcli.records.results.report import Health
from advcli.records.table import CAUSES, Rows
from advcli.tensors.group_ranges import Ranges
from advcli.tensors.masks import chosen, rewarded
from advcli.tensors.segments import Segments


def health(
    rows: Rows, cause: Tensor, sizes: Mapping[int, int], extremes: tuple[float, float] | None = None
) -> Health:
    """Count the groups and rows without signal, by cause.

    Args:
        rows: the rows of the dataset.
        cause: [N] int8, 0 or 1 + position in `records.table.CAUSES`.
        sizes: group size → number of groups.
        extremes: the smallest and the largest reward of the dataset, if these rows are only a part of it.

    Returns:
        The counts. A dead group has two or more valid rows, all with the same reward; `dead_max` and
        `dead_min` count those at the largest and the smallest reward of the dataset, if these differ.
    """
    rewards, group, count = rows.rewards, rows.group, rows.count
    causes = cause.numpy()
    by_cause = np.bincount(causes[causes > 0], minlength=len(CAUSES) + 1)[1:].tolist()
    ranges = Ranges.of(group)
    if ranges is None:
        dead = _Dead.of(rewards, group, count, extremes)
    else:
        sorted_rewards = ranges.gather_all(rewards)
        dead = reduce(
            add,
            ranges.map(
                lambda position, part: _Dead.of(sorted_rewards[position], part, int(part[-1]) + 1, extremes)
            ),
        )
    return Health(
        rows=rows.used,
        groups=count,
        sizes=sizes,
        missing=sum(by_cause),
        missing_by_cause=dict(zip(CAUSES, by_cause, strict=True)),
        dead_groups=dead.groups,
        dead_max=dead.at_high if dead.low != dead.high else 0,
        dead_min=dead.at_low if dead.low != dead.high else 0,
        one_reward=dead.low == dead.high,
        singletons=dead.singletons,
    )


@dataclass(frozen=True)
class _Dead(Mergeable):
    """Mergeable counts of groups without signal.

    Attributes:
        low: the smallest reward, NaN if there is none.
        high: the largest, NaN if there is none.
        groups: dead groups.
        at_low: dead groups at the smallest reward.
        at_high: dead groups at the largest.
        singletons: groups with one valid row.
    """

    low: Annotated[float, Merge(np.fmin)]
    high: Annotated[float, Merge(np.fmax)]
    groups: int
    at_low: Annotated[int, Where("low")]
    at_high: Annotated[int, Where("high")]
    singletons: int

    @classmethod
    def of(cls, rewards: Tensor, group: Tensor, count: int, extremes: tuple[float, float] | None) -> "_Dead":
        """Count; `extremes` are those of the dataset, if these rows are only a part of it."""
        valid = rewarded(rewards, group)
        rewards = chosen(rewards, valid)
        segments = Segments.of(chosen(group, valid), count)
        dead, level = dead_groups(rewards, segments)
        if extremes is None:
            extremes = (
                (float(rewards.min()), float(rewards.max())) if len(rewards) else (torch.nan, torch.nan)
            )
        low, high = extremes
        level = level[dead]
        return cls(
            low,
            high,
            groups=len(level),
            at_low=int((level == low).sum()),
            at_high=int((level == high).sum()),
            singletons=int((segments.size() == 1).sum()),
        )


def dead_groups(rewards: Tensor, segments: Segments) -> tuple[Tensor, Tensor]:
    """Groups of two or more rows whose rewards are all equal.

    Args:
        rewards: [n] float, finite.
        segments: their groups.

    Returns:
        [G] bool, and [G] the largest reward of each group.
    """
    top = segments.max(rewards)
    return (segments.size() > 1) & (top == segments.min(rewards)), top
