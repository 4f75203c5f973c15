"""Bars in a column of text, and many steps as a few stretches."""

import math
from collections.abc import Sequence
from itertools import pairwise

from advcli.records.results.inspection import StepFigures

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_WIDTH = 4
_LEVELS = "▁▂▃▄▅▆▇█"


def bar(value: float, values: Sequence[float]) -> str:
    """A horizontal bar as long as the value among the values of its column.

    It starts at 0, or at the smallest value if that is negative, and is full at the largest.

    Example:
        >>> bar(0.5, [0.25, 0.5, 1.0]), bar(float("nan"), [1.0])
        ('██', '')
    """
    known = [one for one in values if math.isfinite(one)]
    if not known or math.isnan(value):
        return ""
    low, high = min(0.0, *known), max(0.0, *known)
    part = 1.0 if value > high else (value - low) / (high - low) if high > low else 0.0
    eighths = round(part * _WIDTH * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).strip()


def spark(
    curve: Sequence[tuple[int, float]], count: int, ends: tuple[float, float], *, width: int = 10
) -> str:
    """A curve over the steps of a run as one line of text, blank where it has no value.

    Args:
        curve: (place of the step in the run, value) in ascending order.
        count: steps of the run; more than `width` are averaged in stretches.
        ends: the values of the lowest and of the highest bar.
        width: characters at most.

    Example:
        >>> spark([(0, 0.0), (1, 0.5), (3, 1.0)], 4, (0.0, 1.0))
        '▁▅ █'
    """
    cells: dict[int, list[float]] = {}
    for position, value in curve:
        cells.setdefault(position * width // count if count > width else position, []).append(value)
    low, high = ends
    # Halves, as the difference of two numbers near the largest float is none.
    half = high / 2 - low / 2 if high > low else 0.5
    text = [" "] * min(width, count)
    for position, values in cells.items():
        part = (sum(values) / len(values) / 2 - low / 2) / half
        if math.isfinite(part):
            text[position] = _LEVELS[min(7, max(0, math.floor(part * 7 + 0.5)))]
    return "".join(text)


def binned(steps: Sequence[StepFigures], most: int) -> Sequence[StepFigures]:
    """The steps themselves, or stretches of consecutive ones if there are more than `most`.

    Means are weighted by rows, live shares by groups; the largest |A| is the largest of the stretch.
    """
    if len(steps) <= most:
        return steps
    edges = [round(position * len(steps) / most) for position in range(most + 1)]
    return [_merged(steps[start:end]) for start, end in pairwise(edges)]


def _merged(steps: Sequence[StepFigures]) -> StepFigures:
    rows, groups = [one.rows for one in steps], [one.groups for one in steps]
    first, last = steps[0].step, steps[-1].step
    return StepFigures(
        step=first if first == last else f"{first} to {last}",
        rows=sum(rows),
        groups=sum(groups),
        reward_mean=_mean([one.reward_mean for one in steps], rows),
        live=_mean([one.live for one in steps], groups),
        mean_abs_adv=_mean([one.mean_abs_adv for one in steps], rows),
        max_abs_adv=_most([one.max_abs_adv for one in steps]),
        max_abs_centred=_most([one.max_abs_centred for one in steps]),
        max_abs_reward=_most([one.max_abs_reward for one in steps]),
        length_mean=_mean([one.length_mean for one in steps], rows),
        robust_z=_most([one.robust_z for one in steps]),
        stands_out=tuple(dict.fromkeys(name for one in steps for name in one.stands_out)),
    )


def _most(values: Sequence[float]) -> float:
    """The largest; NaN without any."""
    return max((value for value in values if not math.isnan(value)), default=math.nan)


def _mean(values: Sequence[float], weights: Sequence[int]) -> float:
    known = [(value, weight) for value, weight in zip(values, weights, strict=True) if not math.isnan(value)]
    total = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / total if total else math.nan
