"""What the groups look like before any estimator: sizes, dead groups, singletons, missing rewards."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from advcli.ranges import Ranges
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
    by_cause = {name: int((cause == code).sum()) for code, name in enumerate(CAUSES, start=1)}
    ranges = Ranges.of(group)
    if ranges is None:
        groups = _groups(rewards, group, count, extremes or _extremes(rewards, group))
    else:
        laid = ranges.laid(rewards)
        bounds = extremes or _around(ranges.each(lambda place, part: _extremes(laid[place], part)))
        each = ranges.each(lambda place, part: _groups(laid[place], part, int(part[-1]) + 1, bounds))
        groups = {name: sum(counts[name] for counts in each) for name in each[0]}
    return Health(
        rows=rewards.numel(),
        groups=count,
        sizes=sizes,
        missing=sum(by_cause.values()),
        missing_by_cause=by_cause,
        **groups,
    )


def _extremes(rewards: Tensor, group: Tensor) -> tuple[float, float]:
    """The smallest and the largest reward of the rows with a group; NaN without any."""
    found = chosen(rewards, rewarded(rewards, group))
    if not len(found):
        return torch.nan, torch.nan
    low, high = found.aminmax()
    return float(low), float(high)


def _around(extremes: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The smallest and the largest of several ranges."""
    there = [bounds for bounds in extremes if bounds[0] == bounds[0]] or [(torch.nan, torch.nan)]
    return min(low for low, _ in there), max(high for _, high in there)


def _groups(rewards: Tensor, group: Tensor, count: int, extremes: tuple[float, float]) -> dict[str, int]:
    """The groups without signal among some whole groups."""
    low, high = extremes
    valid = rewarded(rewards, group)
    segments = Segments.of(chosen(group, valid), count)
    dead, level = dead_groups(chosen(rewards, valid), segments)
    return {
        "dead_groups": int(dead.sum()),
        "dead_max": int((dead & (level == high)).sum()),
        "dead_min": int((dead & (level == low) & (level != high)).sum()),
        "singletons": int((segments.size() == 1).sum()),
    }


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
