"""Counts of a partition that can be merged: the sum of two partitions' counts is that of both."""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Annotated

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from advcli.common.wording import together
from advcli.dataset import remarks
from advcli.dataset.grouping import Mixed, by_frequency, met_together, mixed, sizes_met
from advcli.dataset.load import DataSet, by_unit
from advcli.distributed import sketches
from advcli.distributed.run import PartitionRows
from advcli.distributed.traps import Seen, seen
from advcli.inspection.turns import TurnsCount
from advcli.inspection.turns import together as together_turns
from advcli.records.mergeable import Merge, Mergeable, both
from advcli.records.results.report import Health
from advcli.records.settings import AdvantageTable, LeftOut
from advcli.stats import metrics
from advcli.stats.comparison import Measured, equal, measured
from advcli.stats.health import health
from advcli.tensors.masks import rewarded


@dataclass(frozen=True)
class ColumnCount(Mergeable):
    """The counts of a column.

    Attributes:
        measured: the figures and the distance from the first column.
        sketches: quantile sketches of the kept rows, one per partition.
        kept_tokens: number of tokens of the kept rows.
        tokens: number of tokens of all rows; None without lengths.
        warnings: warnings about the column.
        left_out: what its filters left out.
    """

    measured: Measured
    sketches: Annotated[tuple[bytes, ...], Merge(operator.add)]
    kept_tokens: float
    tokens: float | None
    warnings: Annotated[tuple[str, ...], Merge(lambda one, two: together((*one, *two)))]
    left_out: tuple[LeftOut, ...]


def _healths(one: Health, two: Health) -> Health:
    """The merged counts; `sizes` is still that of `one`."""
    counts = {
        f.name: both(getattr(one, f.name), getattr(two, f.name))
        for f in fields(Health)
        if f.name not in ("sizes", "one_reward")
    }
    return replace(one, **counts, one_reward=one.one_reward and two.one_reward)


@dataclass(frozen=True)
class PartitionCounts(Mergeable):
    """The counts of one or several partitions.

    Attributes:
        health: the counts of groups.
        mixed: groups that mix rows that may not belong together.
        reused: number of prompts drawn at several steps.
        scattered: number of groups whose rows are not contiguous.
        compared: number of partitions in which a group has two rewards.
        defined: number of rows with an original advantage.
        logged: number of rows with a logged and an original advantage.
        distance: the largest difference of the two.
        columns: the counts of each column.
        steps: the metrics of each step; empty unless requested.
        largest: number of rows of the largest partition.
        sizes: the group sizes, from `grouping.sizes_met`.
        seen: the step digests for the checks of traps.
        turns: the counts of rollouts; None if each is one row.
    """

    health: Annotated[Health, Merge(_healths)]
    mixed: Mixed
    reused: int
    scattered: int
    compared: int
    defined: int
    logged: int
    distance: Annotated[float, Merge(max)]
    columns: tuple[ColumnCount, ...]
    steps: Mapping[int, metrics.StepCount] = field(default_factory=dict)
    largest: Annotated[int, Merge(max)] = 0
    sizes: Annotated[Mapping[int, tuple[int, int]], Merge(met_together)] = field(default_factory=dict)
    seen: Seen = field(default_factory=dict)
    turns: Annotated[TurnsCount | None, Merge(together_turns)] = None

    def __add__(self, other: "PartitionCounts") -> "PartitionCounts":
        result = super().__add__(other)
        return replace(result, health=replace(result.health, sizes=by_frequency(result.sizes)))


@dataclass(frozen=True)
class Extremes(Mergeable):
    """The smallest and the largest counted reward; NaN without one."""

    low: Annotated[float, Merge(np.fmin)]
    high: Annotated[float, Merge(np.fmax)]


def extremes(partition: PartitionRows) -> Extremes:
    """The extremes of a partition, over rollouts if these are counted."""
    rows = _unit(partition, partition.results)[0].rows
    rewards = rows.rewards[rewarded(rows.rewards, rows.group)]
    return Extremes(float(rewards.min()), float(rewards.max())) if len(rewards) else Extremes(np.nan, np.nan)


def _unit(
    partition: PartitionRows, results: Sequence[AdvantageTable]
) -> tuple[DataSet, Mapping[str, AdvantageTable]]:
    """The rows or rollouts that are counted, and the advantages of each column."""
    shown = {str(number): column.of(results) for number, column in enumerate(partition.partition_job.shown)}
    return by_unit(partition.data, shown, partition.partition_job.plans[0].unit.reward)


def partition_counts(partition: PartitionRows) -> PartitionCounts:
    """The counts of a partition."""
    data, view = partition.data, partition.partition_job.view
    results = partition.results
    original = partition.partition_job.shown[0].of(results).original
    logged, distance = remarks.logged(data, original)
    unit, inner = _unit(partition, results)
    tables = list(inner.values())
    sizes = sizes_met(unit.grouping.group, unit.grouping.count, partition.begins())
    result = health(unit.rows, torch.from_numpy(unit.table.cause), by_frequency(sizes), (view.low, view.high))
    return PartitionCounts(
        health=replace(result, rows=data.rows.used, rollouts=result.rows),
        mixed=mixed(data.table, data.grouping.group),
        reused=remarks.reused_keys(data) if view.has_whole_prompts else 0,
        scattered=scattered(data, partition.positions()),
        compared=int(not remarks.no_comparison(data)),
        defined=int((~original.isnan()).sum()),
        logged=logged,
        distance=distance,
        columns=_columns(unit, tables),
        steps=metrics.counts(unit.rows, _of_unit(results[0])) if partition.partition_job.per_step else {},
        largest=len(data.table.key),
        sizes=sizes,
        seen=seen(data, partition.columns, partition.positions()),
        turns=TurnsCount.of(data, partition.partition_job.plans[0].unit.reward),
    )


def _of_unit(result: AdvantageTable) -> AdvantageTable:
    """The advantages of the rollouts if these are counted, else of the rows."""
    return result if result.per_rollout is None else result.per_rollout


def _columns(data: DataSet, tables: Sequence[AdvantageTable]) -> tuple[ColumnCount, ...]:
    """The counts of each column, compared to the first; columns equal to the first share its counts."""
    first, *others = tables
    count = _counted(data, first.processed, first)
    return (
        count,
        *(
            replace(count, warnings=table.warnings, left_out=table.left_out)
            if equal(table, first)
            else _counted(data, first.processed, table)
            for table in others
        ),
    )


def _counted(data: DataSet, first: Tensor, result: AdvantageTable) -> ColumnCount:
    kept, lengths = result.kept, data.rows.lengths
    tokens = None if lengths is None else lengths.nan_to_num(nan=0.0).clamp(min=0)
    return ColumnCount(
        measured=measured(data.rows, first, result),
        sketches=(sketches.sketch(result.processed[kept].double().numpy()),),
        kept_tokens=0.0 if tokens is None else float(torch.where(kept, tokens, 0.0).sum()),
        tokens=None if tokens is None else float(tokens.sum()),
        warnings=result.warnings,
        left_out=result.left_out,
    )


def scattered(data: DataSet, positions: NDArray[np.int64]) -> int:
    """The number of groups whose rows are not contiguous in the files."""
    usable = data.grouping.group >= 0
    group, position = data.grouping.group[usable], positions[usable]
    starts = np.ones(len(group), dtype=bool)
    starts[1:] = (group[1:] != group[:-1]) | (position[1:] != position[:-1] + 1)
    return int((np.bincount(group[starts]) > 1).sum())
