"""Text bars and sparklines, and binning of many steps."""

import math
from collections.abc import Sequence
from itertools import pairwise

from advcli.records.results.inspection import StepFigures

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_WIDTH = 4
_LEVELS = "▁▂▃▄▅▆▇█"


def bar(value: float, values: Sequence[float]) -> str:
    """A horizontal text bar, scaled to the values of its column.

    It is empty at 0, or at the smallest value if that is negative, and full at the largest.

    Example:
        >>> bar(0.5, [0.25, 0.5, 1.0]), bar(float("nan"), [1.0])
        ('██', '')
    """
    finite = [item for item in values if math.isfinite(item)]
    if not finite or math.isnan(value):
        return ""
    low, high = min(0.0, *finite), max(0.0, *finite)
    part = 1.0 if value > high else (value - low) / (high - low) if high > low else 0.0
    eighths = round(part * _WIDTH * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).strip()


def spark(
    curve: Sequence[tuple[int, float]], count: int, ends: tuple[float, float], *, width: int = 10
) -> str:
    """A sparkline over the steps of a run, blank where it has no value.

    Args:
        curve: (index of the step in the run, value) in ascending order.
        count: number of steps in the run; more than `width` are averaged in bins.
        ends: the values of the lowest and of the highest bar.
        width: maximum number of characters.

    Example:
        >>> spark([(0, 0.0), (1, 0.5), (3, 1.0)], 4, (0.0, 1.0))
        '▁▅ █'
    """
    cells: dict[int, list[float]] = {}
    for position, value in curve:
        cells.setdefault(position * width // count if count > width else position, []).append(value)
    low, high = ends
    # Halved, because the difference of two numbers near the largest float overflows.
    half = high / 2 - low / 2 if high > low else 0.5
    text = [" "] * min(width, count)
    for position, values in cells.items():
        part = (sum(values) / len(values) / 2 - low / 2) / half
        if math.isfinite(part):
            text[position] = _LEVELS[min(7, max(0, math.floor(part * 7 + 0.5)))]
    return "".join(text)


def binned(steps: Sequence[StepFigures], most: int) -> Sequence[StepFigures]:
    """The steps themselves, or bins of consecutive ones if there are more than `most`.

    Means are weighted by rows, live shares by groups; the largest |A| is the largest in the bin.
    """
    if len(steps) <= most:
        return steps
    edges = [round(position * len(steps) / most) for position in range(most + 1)]
    return [_merged(steps[start:end]) for start, end in pairwise(edges)]


def _merged(steps: Sequence[StepFigures]) -> StepFigures:
    rows, groups = [step.rows for step in steps], [step.groups for step in steps]
    first, last = steps[0].step, steps[-1].step
    return StepFigures(
        step=first if first == last else f"{first} to {last}",
        rows=sum(rows),
        groups=sum(groups),
        reward_mean=_mean([step.reward_mean for step in steps], rows),
        live=_mean([step.live for step in steps], groups),
        mean_abs_adv=_mean([step.mean_abs_adv for step in steps], rows),
        max_abs_adv=_max([step.max_abs_adv for step in steps]),
        max_abs_centred=_max([step.max_abs_centred for step in steps]),
        max_abs_reward=_max([step.max_abs_reward for step in steps]),
        length_mean=_mean([step.length_mean for step in steps], rows),
        robust_z=_max([step.robust_z for step in steps]),
        stands_out=tuple(dict.fromkeys(name for step in steps for name in step.stands_out)),
    )


def _max(values: Sequence[float]) -> float:
    """The maximum, ignoring NaN; NaN without any value."""
    return max((value for value in values if not math.isnan(value)), default=math.nan)


def _mean(values: Sequence[float], weights: Sequence[int]) -> float:
    known = [(value, weight) for value, weight in zip(values, weights, strict=True) if not math.isnan(value)]
    total = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / total if total else math.nan
