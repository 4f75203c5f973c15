"""The flat metric names that trainers log, computed from a dump."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from advcli.records import AdvantageTable, Rows

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
        rows with an advantage, `critic/advantages_processed/{mean,max,min,std}` over kept rows; rows, not
        tokens, weigh; std has ddof 1. None where undefined.
    """
    columns = (rows.rewards, result.original, result.processed, result.kept)
    if names is None:
        return [_record(*columns)]
    records = []
    for code in sorted(range(len(names)), key=lambda code: step_order(names[code])):
        here = torch.nonzero(rows.step == code).squeeze(1)
        records.append({"step": step_value(names[code]), **_record(*(column[here] for column in columns))})
    return records


def _record(rewards: Tensor, original: Tensor, processed: Tensor, kept: Tensor) -> dict[str, float | None]:
    return {
        **_named("critic/score", rewards[rewards.isfinite()], _NO_STD),
        **_named("critic/advantages", original[~original.isnan()], _ALL),
        **_named("critic/advantages_processed", processed[kept], _ALL),
    }


def _named(name: str, values: Tensor, figures: Sequence[str]) -> dict[str, float | None]:
    return {f"{name}/{figure}": _FIGURES[figure](values.double()) for figure in figures}


def _std(values: Tensor) -> float | None:
    return float(values.std()) if values.numel() > 1 else None


_FIGURES: Mapping[str, Any] = {
    "mean": lambda values: float(values.mean()) if values.numel() else None,
    "max": lambda values: float(values.max()) if values.numel() else None,
    "min": lambda values: float(values.min()) if values.numel() else None,
    "std": _std,
}


def step_value(name: str) -> int | float | str:
    """A step as a number if it is one."""
    for read in (int, float):
        try:
            number = read(name)
        except ValueError:
            continue
        if math.isfinite(number):
            return number
    return name


def step_order(name: str) -> tuple[int, float, str]:
    """Where a step stands among the others: numbers in ascending order, then words."""
    value = step_value(name)
    return (1, 0.0, value) if isinstance(value, str) else (0, value, "")
