"""`prompts` on a partitioned data set: each prompt over the run."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from advcli.common.errors import DataError
from advcli.dataset.grouping import Sizes
from advcli.dataset.load import DataSet, counted_once
from advcli.dataset.remarks import notes_of, unit_of
from advcli.distributed import cluster
from advcli.distributed import run as runs
from advcli.distributed.counts import PartitionCounts, extremes, partition_counts
from advcli.distributed.load import described, load, scan_job, too_large
from advcli.distributed.run import PartitionJob, PartitionRows, Shown
from advcli.frameworks.rule import Unit
from advcli.pipeline.prompts import Run, figured, threshold_of
from advcli.pipeline.request import Request
from advcli.records.mergeable import Mergeable
from advcli.records.results.prompts import Asked, Prompts
from advcli.records.table import Source
from advcli.stats.metrics import step_order
from advcli.stats.prompts import PromptCounts, two_values
from advcli.tensors.masks import finite

_Ints = NDArray[np.int64]
# Three distinct rewards are enough to know that there are not two.
_MAX_DISTINCT = 3


@dataclass(frozen=True)
class Values:
    """The rewards of one or several partitions: count, sum, and up to three distinct values."""

    rows: int
    total: float
    different: tuple[float, ...]

    def __add__(self, other: "Values") -> "Values":
        different = sorted({*self.different, *other.different})
        return Values(self.rows + other.rows, self.total + other.total, tuple(different[:_MAX_DISTINCT]))


@dataclass(frozen=True)
class Parts(Mergeable):
    """The prompts of one or several partitions.

    Attributes:
        counts: the counts, one entry per partition.
        begins: the position of each prompt's first row among all rows; one entry per partition.
        keys: [P, 2] the digest of each prompt; one entry per partition.
    """

    counts: tuple[PromptCounts, ...]
    begins: tuple[_Ints, ...]
    keys: tuple[_Ints, ...]

    def __add__(self, other: "Parts") -> "Parts":
        return Parts(self.counts + other.counts, self.begins + other.begins, self.keys + other.keys)


def prompts(
    request: Request, asked: Asked, *, check: Callable[[Sequence[Source]], None] | None = None
) -> Prompts:
    """Follow each prompt over the run; arguments and result as in `pipeline.prompts`."""
    plan = request.plan()
    with scan_job(request) as job:
        if check:
            check(job.sources)
        if not job.choice.prompt:
            raise DataError("no prompt id, so no prompt can be followed", hint="--prompt-col COL")
        with cluster.running(request.ray_address) as tasks:
            loaded = load(tasks, job)
            view, partitions = loaded.spread("key")
            partition_job = PartitionJob(view, (plan,), (Shown("original", 0, bare=True),), ((),), ())
            if job.choice.rollout:
                # The reward of a rollout may lie outside the range of its rows' rewards.
                ends = runs.map_reduce(tasks, partitions, partition_job, extremes)
                partition_job = replace(partition_job, view=replace(view, low=ends.low, high=ends.high))
            values: Values = runs.map_reduce(tasks, partitions, partition_job, rewards)
            if not values.rows:
                raise DataError("no row has a reward", hint="--reward COL")
            two = two_values(torch.tensor(values.different, dtype=torch.float64))
            steps, order = _steps(
                view.steps, [summary.step_rows for summary in loaded.summaries], view.step_of
            )
            threshold = threshold_of(asked, two)
            parts: Parts = runs.map_reduce(tasks, partitions, partition_job, counted, threshold, order)
            result: PartitionCounts = runs.map_reduce(tasks, partitions, partition_job, partition_counts)
        by_rollout = result.turns is not None and plan.unit.counts == "rollouts"
        health = result.health if by_rollout else replace(result.health, rollouts=None)
        names = {key: name for summary in reversed(loaded.summaries) for key, name in summary.prompts.items()}
        position = np.argsort(np.concatenate(parts.begins), kind="stable")
        keys = map(tuple, np.concatenate(parts.keys)[position].tolist())
        over = values.total / values.rows
        run = Run(health, [names[key] for key in keys], steps, two, over, job.choice.length)
        shown = figured(PromptCounts.joined(parts.counts, position), run, asked)
        seen = Sizes(health.rows, health.groups, health.sizes, result.mixed)
        data = described(request, loaded, view, seen, result.seen, several=result.turns is not None)
        warnings = (*request.warnings, *data.table.warnings, *data.grouping.warnings)
        return replace(
            shown,
            notes=(*notes_of(data, 0, 0, 0.0, None), *shown.notes),
            warnings=(*warnings, *_unit(result, plan.unit), *too_large(view, result.largest, loaded.memory)),
        )


def _unit(result: PartitionCounts, unit: Unit) -> Iterator[str]:
    """Notes on what is counted if rows share a rollout."""
    if result.turns is not None:
        figures, all_ = result.turns.figures(), unit.counts == "rows"
        differ = 0 if unit.reward == "sum" else figures.differ
        yield from unit_of((), figures.turns_max, differ, unit.reward, all_=all_)


def rewards(partition: PartitionRows) -> Values:
    """The rewards of a partition."""
    rows = _counted(partition).rows
    values = rows.rewards[(rows.group >= 0) & finite(rows.rewards)].double()
    return Values(len(values), float(values.sum()), tuple(torch.unique(values)[:_MAX_DISTINCT].tolist()))


def _counted(partition: PartitionRows) -> DataSet:
    return counted_once(partition.data, partition.partition_job.plans[0].unit)


def counted(partition: PartitionRows, threshold: float | None, order: _Ints) -> Parts:
    """The prompts of a partition; `order` is the index of each step in the run."""
    data = _counted(partition)
    usable = np.flatnonzero(data.table.key >= 0)
    _, first, codes = np.unique(data.table.key[usable], return_index=True, return_inverse=True)
    key = np.full(len(data.table.key), -1, dtype=np.int64)
    key[usable] = codes
    first = usable[first]
    rows = replace(data.rows, step=torch.from_numpy(order)[data.rows.step])
    digests = np.stack(
        [partition.columns[name].to_numpy(zero_copy_only=False) for name in ("key", "key2")], axis=1
    )
    counts = PromptCounts.of(rows, torch.from_numpy(key), len(first), threshold=threshold)
    return Parts((counts,), (partition.positions()[first],), (digests[first],))


def _steps(
    names: tuple[str, ...], rows: Sequence[Sequence[int]], of: Sequence[_Ints]
) -> tuple[tuple[str, ...], _Ints]:
    """The steps with rows in the order of the run, and the index of each step among them."""
    if not names:
        return ("",), np.zeros(1, dtype=np.int64)
    count = np.zeros(len(names), dtype=np.int64)
    for codes, counts in zip(of, rows, strict=True):
        np.add.at(count, codes[: len(counts)], counts)
    order = sorted(np.flatnonzero(count).tolist(), key=lambda code: step_order(names[code]))
    position = np.zeros(len(names), dtype=np.int64)
    position[order] = np.arange(len(order))
    return tuple(names[code] for code in order), position
