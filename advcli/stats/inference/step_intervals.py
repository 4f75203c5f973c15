"""Intervals for the figures of each step, with its groups, not its rows, as the independent samples."""

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from advcli.records.table import Rows
from advcli.stats.health import dead_groups
from advcli.stats.inference.agreement import rate
from advcli.stats.inference.intervals import ENOUGH, of_mean, unlike
from advcli.tensors.segments import Segments

Ends = tuple[tuple[float, float], ...]
_UNKNOWN = (math.nan, math.nan)


def step_intervals(rows: Rows, advantages: Tensor, steps: Sequence[int]) -> Mapping[str, Ends]:
    """95 % intervals of the mean reward, the live share, the mean |A| and the mean length of each step.

    Args:
        rows: the rows of the data set.
        advantages: [N] float, NaN where undefined.
        steps: the code of each step, in the order of the result.

    Returns:
        Name of the figure in `StepFigures` → (low, high) per step; NaN where fewer than `ENOUGH` groups differ. Lengths only
        if the dataset has them.

    Source:
        Cochran 1977, Sampling Techniques, ch. 9: a mean over rows in clusters, from the residuals of the groups. The
        share of live groups: `agreement.rate`.
    """
    columns = {"reward_mean": rows.rewards, "mean_abs_adv": advantages.abs()}
    columns |= {} if rows.lengths is None else {"length_mean": rows.lengths}
    return {"live": _live(rows, steps)} | {
        name: _of_means(values.double(), rows, steps) for name, values in columns.items()
    }


def _of_means(values: Tensor, rows: Rows, steps: Sequence[int]) -> Ends:
    valid = torch.isfinite(values) & (rows.group >= 0)
    groups = Segments.of(rows.group[valid], rows.count)
    known = groups.size() > 0
    step = groups.parent(rows.step[valid])[known]
    order = torch.argsort(step, stable=True)
    sizes = torch.bincount(step, minlength=max(steps, default=-1) + 1).tolist()
    total, size = (column[known][order].split(sizes) for column in (groups.sum(values[valid]), groups.size()))
    return tuple(_of_mean(total[code], size[code].double()) for code in steps)


def _of_mean(total: Tensor, size: Tensor) -> tuple[float, float]:
    """The interval of Σ total / Σ size over groups."""
    if len(size) < 2:
        return _UNKNOWN
    mean = total.sum() / size.sum()
    # Pseudo-values: their mean is that of the rows, their spread the influence of each group.
    values = (mean + (total - size * mean) / size.mean()).numpy()
    if unlike(values) < ENOUGH:
        return _UNKNOWN
    result = of_mean(values)
    return result.low, result.high


def _live(rows: Rows, steps: Sequence[int]) -> Ends:
    valid = torch.isfinite(rows.rewards) & (rows.group >= 0)
    groups = Segments.of(rows.group[valid], rows.count)
    step, able = groups.parent(rows.step[valid]), groups.size() > 1
    live = able & ~dead_groups(rows.rewards[valid], groups)[0]
    count = max(steps, default=-1) + 1
    hits, of = (torch.bincount(step[mask], minlength=count).tolist() for mask in (live, able))
    result = [rate(hits[code], of[code]) for code in steps]
    return tuple((one.low, one.high) for one in result)
