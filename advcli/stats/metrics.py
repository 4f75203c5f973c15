"""The flat metric names that trainers log, computed from a dump."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from advcli.records.mergeable import Mergeable
from advcli.records.settings import AdvantageTable
from advcli.records.table import Rows
from advcli.stats.summaries.moments import Moments

_ALL = ("mean", "max", "min", "std")
_NO_STD = ("mean", "max", "min")


def per_step(rows: Rows, result: AdvantageTable, names: Sequence[str] | None) -> list[dict[str, Any]]:
    """One record per step, in ascending order of steps.

    Args:
        rows: the rows of the data set.
        result: their advantages.
        names: the step of each code; None if the dump has no steps: one record without "step".

    Returns:
        `critic/score/{mean,max,min}` over rows with a reward, `critic/advantages/{mean,max,min,std}` over
        rows with an advantage, `critic/advantages_processed/{mean,max,min,std}` over kept rows; every row
        has equal weight, whatever its tokens; std has ddof 1. None where undefined.
    """
    return records(counts(rows, result), names)


@dataclass(frozen=True)
class StepCount(Mergeable):
    """Mergeable counts for a step.

    Attributes:
        score: rows with a reward.
        original: rows with an advantage.
        processed: kept rows.
    """

    score: Moments
    original: Moments
    processed: Moments


def counts(rows: Rows, result: AdvantageTable) -> dict[int, StepCount]:
    """Step → its counts; arguments as in `per_step`."""
    by_step = {}
    for code in torch.unique(rows.step).tolist():
        of_step = torch.nonzero(rows.step == code).squeeze(1)
        rewards, original = rows.rewards[of_step], result.original[of_step]
        by_step[code] = StepCount(
            Moments.of(rewards[rewards.isfinite()]),
            Moments.of(original[~original.isnan()]),
            Moments.of(result.processed[of_step][result.kept[of_step]]),
        )
    return by_step


def records(found: Mapping[int, StepCount], names: Sequence[str] | None) -> list[dict[str, Any]]:
    """One record per counted step, in ascending order; `names` as in `per_step`."""
    if names is None:
        none = Moments.of(torch.zeros(0))
        return [_record(count) for count in found.values()] or [_record(StepCount(none, none, none))]
    order = sorted(found, key=lambda code: step_order(names[code]))
    return [{"step": step_value(names[code]), **_record(found[code])} for code in order]


def _record(count: StepCount) -> dict[str, float | None]:
    return {
        **_named("critic/score", count.score, _NO_STD),
        **_named("critic/advantages", count.original, _ALL),
        **_named("critic/advantages_processed", count.processed, _ALL),
    }


def _named(name: str, moments: Moments, figures: Sequence[str]) -> dict[str, float | None]:
    values = {"mean": moments.mean, "max": moments.high, "min": moments.low, "std": moments.std(ddof=1)}
    return {
        f"{name}/{figure}": values[figure] if math.isfinite(values[figure]) else None for figure in figures
    }


def step_value(name: str) -> int | float | str:
    """A step as a number, if it is one."""
    for convert in (int, float):
        try:
            number = convert(name)
        except ValueError:
            continue
        if math.isfinite(number):
            return number
    return name


def step_order(name: str) -> tuple[int, float, str]:
    """Sort key of a step: numbers in ascending order, then text."""
    value = step_value(name)
    return (1, 0.0, value) if isinstance(value, str) else (0, value, "")
