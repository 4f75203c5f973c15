"""Compares two datasets step by step."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from advcli.records.results.between import StepPair
from advcli.records.settings import AdvantageTable
from advcli.records.table import Rows
from advcli.stats.health import dead_groups
from advcli.stats.metrics import step_order
from advcli.tensors.segments import Segments

_Figures = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]


def per_step(
    a: tuple[Rows, AdvantageTable, Tensor], b: tuple[Rows, AdvantageTable, Tensor], names: Sequence[str]
) -> list[StepPair]:
    """The shared steps, in ascending order.

    Args:
        a: rows and advantages of A, and [N] int64 the step of each row in [0, S).
        b: the same for B; a step has the same number in both.
        names: the step of each number.
    """
    first, second = (_figures(*side, len(names)) for side in (a, b))
    return [
        _pair(names[step], *(tuple(column[step].item() for column in side) for side in (first, second)))
        for step in sorted(range(len(names)), key=lambda step: step_order(names[step]))
        if first[2][step] > 0 and second[2][step] > 0
    ]


def _figures(rows: Rows, result: AdvantageTable, step: Tensor, count: int) -> _Figures:
    """[S] rows with a reward, their mean, groups, those with two or more kept rewards, and the live share of them."""
    grouped = rows.group >= 0
    valid = grouped & rows.rewards.isfinite()
    segments = Segments.of(step[valid], count)
    groups = torch.bincount(_pairs(step, rows, grouped) // max(rows.count, 1), minlength=count)
    scored = valid & result.kept
    pairs, index = torch.unique(step[scored] * rows.count + rows.group[scored], return_inverse=True)
    of_scored = Segments.of(index, len(pairs))
    able, dead = of_scored.size() > 1, dead_groups(rows.rewards[scored], of_scored)[0]
    at = pairs // max(rows.count, 1)
    compared, live = (torch.bincount(at[which], minlength=count) for which in (able, able & ~dead))
    return segments.size(), segments.mean(rows.rewards[valid].double()), groups, compared, live / compared


def _pairs(step: Tensor, rows: Rows, which: Tensor) -> Tensor:
    """One code for each distinct (step, group) pair."""
    pairs: Tensor = torch.unique(step[which] * rows.count + rows.group[which])
    return pairs


def _pair(name: str, a: Sequence[float], b: Sequence[float]) -> StepPair:
    return StepPair(
        step=name,
        rows_a=int(a[0]),
        rows_b=int(b[0]),
        mean_a=a[1],
        mean_b=b[1],
        difference=b[1] - a[1],
        groups_a=int(a[2]),
        groups_b=int(b[2]),
        able_a=int(a[3]),
        able_b=int(b[3]),
        live_a=a[4],
        live_b=b[4],
    )


def stretches(steps: Sequence[StepPair], most: int) -> list[StepPair]:
    """The steps, with consecutive ones merged so that at most `most` remain.

    The figures of a stretch cover all its rows and groups.

    Example:
        >>> one = StepPair("1", 1, 1, 0.0, 1.0, 1.0, 1, 1, 1, 1, 1.0, 1.0)
        >>> two = StepPair("2", 3, 1, 4.0, 1.0, -3.0, 1, 1, 1, 1, 0.0, 1.0)
        >>> [whole] = stretches([one, two], 1)
        >>> whole.step, whole.rows_a, whole.mean_a, whole.difference, whole.live_a
        ('1–2', 4, 3.0, -2.0, 0.5)
    """
    size = max(1, math.ceil(len(steps) / most))
    return [_merged(steps[start : start + size]) for start in range(0, len(steps), size)]


def _merged(steps: Sequence[StepPair]) -> StepPair:
    if len(steps) == 1:
        return steps[0]
    a, b = (
        (
            sum(getattr(step, f"rows_{side}") for step in steps),
            _weighted(steps, f"mean_{side}", f"rows_{side}"),
            sum(getattr(step, f"groups_{side}") for step in steps),
            sum(getattr(step, f"able_{side}") for step in steps),
            _weighted(steps, f"live_{side}", f"able_{side}"),
        )
        for side in ("a", "b")
    )
    return _pair(f"{steps[0].step}–{steps[-1].step}", a, b)


def _weighted(steps: Sequence[StepPair], figure: str, weight: str) -> float:
    """The weighted mean of a figure over the steps; NaN if the weights are 0."""
    counted = [step for step in steps if getattr(step, weight)]
    total = sum(getattr(step, weight) for step in counted)
    summed = math.fsum(getattr(step, figure) * getattr(step, weight) for step in counted)
    return summed / total if total else math.nan
