"""What the groups look like before any estimator: sizes, dead groups, singletons, missing rewards."""

from collections.abc import Mapping

import torch
from torch import Tensor

from advcli.records.report import Health
from advcli.records.table import CAUSES, Rows
from advcli.segments import Segments, chosen, rewarded


def health(
    rows: Rows, cause: Tensor, sizes: Mapping[int, int], extremes: tuple[float, float] | None = None
) -> Health:
    """Count what carries no signal, and why.

    Args:
        rows: the rows of the data set.
        cause: [N] int8, 0 or 1 + position in `records.table.CAUSES`.
        sizes: group size → number of groups.
        extremes: the smallest and the largest reward of the data set, where these rows are not all of it.

    Returns:
        The counts. A dead group has two or more valid rows, all of the same reward; `dead_max` and
        `dead_min` are those at the largest and the smallest reward of the data set.
    """
    rewards, group, count = rows.rewards, rows.group, rows.count
    valid = rewarded(rewards, group)
    segments = Segments.of(chosen(group, valid), count)
    found = chosen(rewards, valid)
    dead, level = dead_groups(found, segments)
    own = found.aminmax() if len(found) else (torch.nan, torch.nan)
    low, high = own if extremes is None else extremes
    by_cause = {name: int((cause == code).sum()) for code, name in enumerate(CAUSES, start=1)}
    return Health(
        rows=rewards.numel(),
        groups=count,
        sizes=sizes,
        dead_groups=int(dead.sum()),
        dead_max=int((dead & (level == high)).sum()),
        dead_min=int((dead & (level == low) & (level != high)).sum()),
        singletons=int((segments.size() == 1).sum()),
        missing=sum(by_cause.values()),
        missing_by_cause=by_cause,
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
