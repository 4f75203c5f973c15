"""Pass (b): runs the engine on every partition, repeatedly until all global reductions are known."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from advcli.dataset import grouping
from advcli.dataset import load as data_set
from advcli.dataset.load import DataSet
from advcli.distributed.placement import Partition, PartitionPlan, with_codes_of_all
from advcli.distributed.scan import ScanJob
from advcli.distributed.tasks import Tasks
from advcli.engine.plan import Plan
from advcli.engine.run import run
from advcli.io.collect.cells import one_array
from advcli.records.settings import AdvantageTable
from advcli.records.table import RewardTable
from advcli.tensors import codes as group_codes
from advcli.tensors.partial import NeedsReduction, Reduction, merged, run_part


@dataclass(frozen=True)
class Shown:
    """A column that a command shows.

    Attributes:
        label: its heading.
        run: the index of its plan.
        bare: whether it is the original advantage of that plan, before any keep ratio.
    """

    label: str
    run: int
    bare: bool = False

    def of(self, results: Sequence[AdvantageTable]) -> AdvantageTable:
        """The advantages of the column."""
        result = results[self.run]
        return result.unprocessed() if self.bare else result


@dataclass(frozen=True)
class PartitionJob:
    """The computation on every partition.

    Attributes:
        view: the plan of all partitions.
        plans: the plans to run.
        shown: the columns to count.
        reductions: for each plan, the global reductions known so far.
        open: the plans that may need further reductions.
        per_step: whether to compute the metrics of each step.
    """

    view: PartitionPlan
    plans: tuple[Plan, ...]
    shown: tuple[Shown, ...]
    reductions: tuple[tuple[Reduction, ...], ...]
    open: tuple[int, ...]
    per_step: bool = False

    def results(self, data: DataSet, of: Sequence[int] | None = None) -> list[AdvantageTable]:
        """The advantages of the rows of a partition.

        Raises:
            NeedsReduction: a global reduction is not known yet.
        """
        columns, chosen = data.columns(), range(len(self.plans)) if of is None else of
        return [self._one(plan, columns) for plan in chosen]

    def _one(self, number: int, columns: Any) -> AdvantageTable:  # noqa: ANN401  tensors by name
        plan = self.plans[number]
        if self.view.unit in ("step", "all"):
            return run(plan, columns)
        steps = max(1, len(self.view.steps))
        result: AdvantageTable = run_part(lambda: run(plan, columns), self.reductions[number], steps)  # type: ignore[assignment]
        return result


@dataclass(frozen=True)
class PartitionRows:
    """A partition in a task.

    Attributes:
        columns: its columns.
        data: the rows as a data set.
        partition_job: the computation on every partition.
    """

    columns: Mapping[str, pa.Array]
    data: DataSet
    partition_job: PartitionJob

    @classmethod
    def of(cls, rows: pa.Table, partition_job: PartitionJob) -> "PartitionRows":
        """A partition from its stored rows."""
        columns = unpack(rows, partition_job.view)
        return cls(columns, data_of(columns, partition_job.view), partition_job)

    @cached_property
    def results(self) -> list[AdvantageTable]:
        """The advantages of the rows, by each plan."""
        return self.partition_job.results(self.data)

    def positions(self) -> NDArray[np.int64]:
        """[n] the position of each row among all rows."""
        starts = np.repeat(self.partition_job.view.starts, self.data.table.rows)
        result: NDArray[np.int64] = starts + self.columns["row"].to_numpy()
        return result

    def begins(self) -> NDArray[np.int64]:
        """[G] the position of each group's first row among all rows, ascending, as groups are numbered."""
        group = self.data.grouping.group
        result: NDArray[np.int64] = self.positions()[group >= 0][group_codes.first_rows(group[group >= 0])]
        return result


def map_reduce(
    tasks: Tasks,
    partitions: Sequence[Partition],
    partition_job: PartitionJob,
    function: Callable[..., Any],
    *given: object,
) -> Any:  # noqa: ANN401  the result of `function`
    """Run a function on every partition and add up the results.

    Args:
        tasks: the cluster.
        partitions: from `placement.spread`.
        partition_job: the computation on every partition.
        function: called with a `PartitionRows` and `given`; must be importable by the workers.
        given: its further arguments.
    """
    shared = tasks.share((partition_job, function, given))
    return reduce(
        add,
        tasks.get(
            [tasks.run(apply, number, partition.rows, shared) for number, partition in enumerate(partitions)]
        ),
    )


def apply(
    number: int, table: pa.Table, call: tuple[PartitionJob, Callable[..., Any], tuple[object, ...]]
) -> Any:  # noqa: ANN401
    """Call a function on one partition."""
    partition_job, function, given = call
    return function(PartitionRows.of(table, partition_job), *given)


def with_reductions(
    tasks: Tasks, partitions: Sequence[Partition], partition_job: PartitionJob
) -> PartitionJob:
    """The job with all global reductions that its plans need.

    Args:
        tasks: the cluster.
        partitions: from `placement.spread`.
        partition_job: the job, without reductions.
    """
    while partition_job.open:
        partition_job = _with_answers(
            partition_job, map_reduce(tasks, partitions, partition_job, needed_reductions)
        )
    return partition_job


def needed_reductions(partition: PartitionRows) -> list[dict[int, tuple[Reduction, ...]]]:
    """This partition's part of the global reductions that the open plans need next."""
    result = {}
    for number in partition.partition_job.open:
        try:
            partition.partition_job.results(partition.data, [number])
        except NeedsReduction as error:
            result[number] = error.asked
    return [result]


def _with_answers(
    partition_job: PartitionJob, answers: Sequence[dict[int, tuple[Reduction, ...]]]
) -> PartitionJob:
    """The job with the answers of all partitions merged into its reductions."""
    asked = {
        number: [answer[number] for answer in answers if number in answer] for number in partition_job.open
    }
    reductions = list(partition_job.reductions)
    for number, parts in asked.items():
        if parts:
            reductions[number] = (*reductions[number], *merged(parts))
    return replace(
        partition_job,
        reductions=tuple(reductions),
        open=tuple(number for number in partition_job.open if asked[number]),
    )


def unpack(table: pa.Table, plan: PartitionPlan) -> dict[str, pa.Array]:
    """The columns of a partition, with the codes of steps and `--by` values unified over all files."""
    table = with_codes_of_all(table, plan)
    return {name: one_array(table[name]) for name in table.column_names}


def table(columns: Mapping[str, pa.Array], view: PartitionPlan) -> RewardTable:
    """The rows of a partition as a table, with new prompt codes."""
    values = {
        name: column.to_numpy(zero_copy_only=False)
        for name, column in columns.items()
        if not name.startswith("tokens ")
    }
    job, file = view.job, values["file"]
    parts = [values[name] for name in values if name.startswith("part ")]
    tokens = {
        name.removeprefix("tokens "): column for name, column in columns.items() if name.startswith("tokens ")
    }
    counts = next((column.value_lengths().to_numpy() for column in tokens.values()), None)
    return RewardTable(
        rewards=values["reward"].copy(),
        cause=values["cause"].copy(),
        key=_key(values, job),
        step=values["step"].copy() if view.has_steps else None,
        step_names=view.steps,
        parts=np.stack(parts, axis=1) if parts else None,
        length=_copied(values, "length"),
        logged=_copied(values, "logged"),
        turn=_copied(values, "turn"),
        rollout=values["rollout"].copy() if "rollout" in values else None,
        turn_counts=values["turn_counts"].copy() if "turn_counts" in values else None,
        uneven=values["uneven"].copy() if "uneven" in values and values["uneven"].any() else None,
        roles=_named(values, "role"),
        extra=_named(values, "extra"),
        outcomes=_named(values, "outcome"),
        causes=_named(values, "cause"),
        by=values["by"].copy() if "by" in values else None,
        by_names=view.by,
        tokens={
            role: column.flatten().to_numpy(zero_copy_only=False).copy() for role, column in tokens.items()
        },
        token_counts=None if counts is None else counts.astype(np.int64),
        rows=tuple(np.bincount(file, minlength=len(job.sources)).tolist()),
        choice=job.choice,
        dropped=(),
        lines=values["line"].astype(np.int64),
        names=job.names,
    )


def data_of(columns: Mapping[str, pa.Array], view: PartitionPlan) -> DataSet:
    """The rows of a partition as a data set, grouped as on one machine."""
    rows = table(columns, view)
    groups = grouping.group(rows, view.job.options.n, part=True)
    data = data_set.grouped(rows, groups)
    if view.job.refuse_singletons:
        data_set.refuse_singletons(data)
    return data


def _key(values: Mapping[str, NDArray[Any]], job: ScanJob) -> NDArray[np.int64]:
    if not job.choice.prompt:
        return np.where(values["usable"], 0, -1)
    codes, second_half = group_codes.numbered(values["key"]), values["key2"]
    if (second_half[group_codes.first_rows(codes)][codes] != second_half).any():
        # Among billions of prompts, two may share the first half of the digest.
        codes = group_codes.paired(codes, group_codes.numbered(second_half))
    return np.where(values["usable"], codes, -1)


def _named(values: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """The columns with a prefix, without it."""
    return {
        name.removeprefix(f"{prefix} "): result.copy()
        for name, result in values.items()
        if name.startswith(f"{prefix} ")
    }


def _copied(values: Mapping[str, NDArray[Any]], name: str) -> NDArray[np.float64] | None:
    return values[name].copy() if name in values else None
