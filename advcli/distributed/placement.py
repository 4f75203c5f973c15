"""Assigns rows to partitions: a partition is a set of files, and only groups that span files are moved.

Trainers usually write the rows of a group together, so few rows move. If more than a few groups have rows
in several files, all rows are shuffled by the digest of their group.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from advcli.distributed import crossing
from advcli.distributed.crossing import Crossing, Digests, among, numbers, runs
from advcli.distributed.scan import ScanJob, Summary
from advcli.distributed.tasks import ObjectRef, Tasks
from advcli.records.table import Choice

_LARGE_FRACTION = 4
"""A file is its own partition if its rows are at least a partition's size divided by this."""

_Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Partition:
    """A partition.

    Attributes:
        rows: its rows, in file order; they stay on the workers.
        files: the files that the rows come from.
    """

    rows: ObjectRef
    files: tuple[int, ...]


@dataclass(frozen=True)
class PartitionPlan:
    """The plan of all partitions, which every task gets.

    Attributes:
        job: the scan job.
        unit: what must be in one partition: "group", "key" (a prompt), "position", "step" or "all".
        partitions: the number of partitions.
        steps: the names of all steps, in order of first appearance.
        step_of: file → the global code of each of its steps.
        by: the values of the `--by` column, in order of first appearance.
        by_of: file → the global code of each of its values.
        partition_of_step: the partition of each step.
        before: number of usable rows before each file.
        starts: number of rows before each file.
        low: the smallest usable reward of all.
        high: the largest usable reward of all.
        home: [F] the first partition of each file.
        width: [F] the number of partitions of each file.
        crossing: ascending digests of the groups with rows in several files; None if all rows are shuffled by digest.
        reused: number of prompts drawn at several steps, if partitions do not see all steps.
    """

    job: ScanJob
    unit: str
    partitions: int
    steps: tuple[str, ...]
    step_of: tuple[_Ints, ...]
    by: tuple[str, ...]
    by_of: tuple[_Ints, ...]
    partition_of_step: _Ints
    before: _Ints
    starts: _Ints
    low: float
    high: float
    home: _Ints
    width: _Ints
    crossing: Digests | None = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    reused: int = 0

    @classmethod
    def of(
        cls, job: ScanJob, summaries: Sequence[Summary], unit: str, rows_per_partition: int
    ) -> "PartitionPlan":
        """Plan the partitions, as if no group had rows in several files.

        Args:
            job: the scan job.
            summaries: one per file, in order.
            unit: what must be in one partition.
            rows_per_partition: the approximate number of rows of a partition.
        """
        names, step_of = _numbered([summary.steps for summary in summaries])
        by, by_of = _numbered([summary.by for summary in summaries])
        rows = np.array([summary.rows for summary in summaries], dtype=np.int64)
        usable = np.array([summary.usable for summary in summaries], dtype=np.int64)
        home, width = _bundles(rows, rows_per_partition)
        if unit == "all":
            home, width = np.zeros_like(home), np.ones_like(width)
        partitions = int((home + width).max(initial=1))
        rows_of = np.zeros((len(rows), max(1, len(names))), dtype=np.int64) if unit == "step" else None
        if rows_of is not None:
            for number, (summary, codes) in enumerate(zip(summaries, step_of, strict=True)):
                rows_of[number, codes[: len(summary.step_rows)]] += summary.step_rows
        return cls(
            job=job,
            unit=unit,
            partitions=partitions,
            steps=names,
            step_of=step_of,
            by=by,
            by_of=by_of,
            partition_of_step=np.zeros(0, dtype=np.int64)
            if rows_of is None
            else _partitions_of_steps(rows_of, home, partitions, rows_per_partition),
            before=np.cumsum(usable) - usable,
            starts=np.cumsum(rows) - rows,
            low=float(np.nanmin([np.inf, *(summary.low for summary in summaries)])),
            high=float(np.nanmax([-np.inf, *(summary.high for summary in summaries)])),
            home=home,
            width=width,
        )

    @property
    def has_whole_prompts(self) -> bool:
        """Whether all rows of a prompt, at any step, are in one partition."""
        return self.partitions == 1 or self.unit in ("key", "all")

    @property
    def has_steps(self) -> bool:
        """Whether the dump has steps."""
        return self.job.choice.step is not None

    def steps_in_key(self, number: int) -> _Ints | None:
        """The global code of each step of a file; None unless a prompt at another step is another group."""
        return self.step_of[number] if by_step(self.job.choice) and self.unit != "key" else None

    def find_crossing(self, tasks: Tasks, rows: Sequence[ObjectRef], workers: int) -> Crossing:
        """Find the groups with rows in several files; `rows` as in `spread`."""
        steps = [self.steps_in_key(number) for number in range(len(rows))]
        return crossing.find(tasks, rows, steps, self.partitions, workers)


def by_step(choice: Choice) -> bool:
    """Whether a prompt at another step is another group."""
    return bool(choice.step and choice.step_in_key and choice.prompt)


def largest_step(summaries: Sequence[Summary]) -> int:
    """The number of rows of the largest step; 0 without steps."""
    sizes: dict[str, int] = {}
    for summary in summaries:
        for name, rows in zip(summary.steps, summary.step_rows, strict=True):
            sizes[name] = sizes.get(name, 0) + rows
    return max(sizes.values(), default=0)


def move(
    tasks: Tasks,
    tables: Sequence[ObjectRef],
    targets: Sequence[Sequence[int]],
    cut: Callable[..., Sequence[pa.Table]],
    *given: object,
) -> dict[int, list[ObjectRef]]:
    """Scatter tables: target number → its pieces, in the order of the tables.

    Args:
        tasks: the cluster.
        tables: the tables.
        targets: for each table, the targets of its rows; with a single target it is not split.
        cut: runs on a worker: called with a table, its targets and `given`, returns a piece for each target.
        given: further arguments of `cut`.
    """
    pieces: dict[int, list[ObjectRef]] = {}
    for table, numbers_ in zip(tables, targets, strict=True):
        to = tuple(numbers_)
        parts = [table] if len(to) == 1 else tasks.split(len(to), cut, table, to, *given)
        for number, part in zip(to, parts, strict=True):
            pieces.setdefault(number, []).append(part)
    return pieces


def spread(
    tasks: Tasks, rows: Sequence[ObjectRef], plan: PartitionPlan, workers: int
) -> tuple[PartitionPlan, list[Partition]]:
    """Move rows to their partitions.

    Args:
        tasks: the cluster.
        rows: the rows of each file, from `scan.read`.
        plan: from `PartitionPlan.of`.
        workers: how many tasks run concurrently.

    Returns:
        The plan, completed with the groups that have rows in several files; the non-empty partitions.
    """
    shared = tasks.share(plan)
    targets = [_home_partitions(plan, number) for number in range(len(rows))]
    if plan.unit in ("group", "key") and plan.partitions > 1:
        result = plan.find_crossing(tasks, rows, workers)
        plan = replace(plan, crossing=result.digests, reused=result.reused)
        shared = tasks.share(plan)
        if plan.crossing is None:
            targets = [range(plan.partitions)] * len(rows)
        for number, to in result.targets.items():
            targets[number] = sorted({*targets[number], *to})
    partitions = []
    pieces = move(tasks, rows, targets, cut, shared)
    for number in sorted(pieces):
        (first, *others) = pieces[number]
        files = tuple(file for file, to in enumerate(targets) if number in to)
        partitions.append(Partition(tasks.run(joined, number, first, *others) if others else first, files))
    return plan, partitions


def _home_partitions(plan: PartitionPlan, number: int) -> Sequence[int]:
    """The partitions for those groups of a file that have no rows in other files."""
    own = range(int(plan.home[number]), int(plan.home[number] + plan.width[number]))
    if plan.unit == "step":
        steps = plan.step_of[number]
        return sorted(set(plan.partition_of_step[steps].tolist())) or own
    if plan.unit == "position":
        before, n = int(plan.before[number]), plan.job.options.n or 1
        first = _file_at(plan, np.array([before // n * n]))
        return sorted({*own, *_of_position(plan, first, np.array([before // n])).tolist()})
    return own


def cut(rows: pa.Table, targets: Sequence[int], plan: PartitionPlan) -> list[pa.Table]:
    """Split the rows of a file by partition, keeping their order."""
    position = partition_of(rows, plan)
    usable = numbers(rows, "usable")
    position = np.where(usable, position, targets[0])
    # A radix sort of 16-bit integers takes two passes.
    kind = np.uint16 if plan.partitions < 1 << 16 else np.int64
    order = np.argsort(position.astype(kind), kind="stable")
    edges = (
        np.searchsorted(position[order], targets, side="left"),
        np.searchsorted(position[order], targets, side="right"),
    )
    return [rows.take(pa.array(order[low:high])) for low, high in zip(*edges, strict=True)]


def joined(number: int, *pieces: pa.Table) -> pa.Table:
    """Concatenate the pieces of a partition, which are in file order."""
    del number
    return pa.concat_tables(pieces).combine_chunks()


def partition_of(rows: pa.Table, plan: PartitionPlan) -> _Ints:
    """[n] the partition of each usable row of a file."""
    number = int(rows["file"][0].as_py()) if rows.num_rows else 0
    if plan.unit == "all":
        return np.zeros(rows.num_rows, dtype=np.int64)
    if plan.unit == "step":
        result: _Ints = plan.partition_of_step[plan.step_of[number][numbers(rows, "step")]]
        return result
    if plan.unit == "position":
        position = numbers(rows, "key") + plan.before[number]
        n = plan.job.options.n or 1
        return _of_position(plan, _file_at(plan, position // n * n), position // n)
    _, digests, lengths = runs(rows, plan.steps_in_key(number))
    everywhere = digests % np.uint64(plan.partitions)
    if plan.crossing is None:
        return np.repeat(everywhere.astype(np.int64), lengths)
    own = plan.home[number] + (digests % np.uint64(plan.width[number])).astype(np.int64)
    return np.repeat(np.where(among(digests, plan.crossing), everywhere.astype(np.int64), own), lengths)


def _file_at(plan: PartitionPlan, position: _Ints) -> _Ints:
    """[n] the file of a usable row, given its position among the usable rows."""
    return np.searchsorted(plan.before, position, side="right") - 1


def _of_position(plan: PartitionPlan, file: _Ints, group: _Ints) -> _Ints:
    """[n] the partition of groups, given the file in which each begins."""
    result: _Ints = plan.home[file] + group % plan.width[file]
    return result


def with_codes_of_all(rows: pa.Table, plan: PartitionPlan) -> pa.Table:
    """Rows with the codes of steps and `--by` values unified over all files."""
    file = numbers(rows, "file")
    for name, present, codes_of in (("step", True, plan.step_of), ("by", bool(plan.by), plan.by_of)):
        if not present:
            continue
        codes = numbers(rows, name)
        result = np.empty(len(codes), dtype=np.int64)
        edges = [*np.flatnonzero(np.diff(file, prepend=-1)).tolist(), len(file)]
        for low, high in pairwise(edges):
            result[low:high] = codes_of[file[low]][codes[low:high]]
        rows = rows.set_column(rows.column_names.index(name), name, pa.array(result))
    return rows


def _numbered(names: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], tuple[_Ints, ...]]:
    """The distinct names in order of first appearance, and for each file the codes of its names."""
    codes: dict[str, int] = {}
    for of_file in names:
        for name in of_file:
            codes.setdefault(name, len(codes))
    return tuple(codes), tuple(
        np.array([codes[n] for n in of_file] or [0], dtype=np.int64) for of_file in names
    )


def _bundles(rows: _Ints, room: int) -> tuple[_Ints, _Ints]:
    """The first partition and the number of partitions of each file; neighboring small files share one."""
    home, width = np.zeros(len(rows), dtype=np.int64), np.ones(len(rows), dtype=np.int64)
    position, load = 0, 0
    for number, count in enumerate(rows.tolist()):
        # Larger files are not combined, because that would copy their rows.
        if load and (load + count > room or _LARGE_FRACTION * count > room):
            position, load = position + int(width[number - 1]), 0
        home[number], width[number] = position, max(1, -(-count // max(1, room))) if not load else 1
        load += count
    return home, width


def _partitions_of_steps(rows: _Ints, home: _Ints, partitions: int, room: int) -> _Ints:
    """[S] the partition of each step: that of the file with most of its rows, or if full the one with the fewest rows.

    Args:
        rows: [F, S] the rows of each step in each file.
        home: [F] the partition of each file.
        partitions: the number of partitions.
        room: the maximum number of rows of a partition.
    """
    load, result = np.zeros(partitions, dtype=np.int64), np.zeros(rows.shape[1], dtype=np.int64)
    sizes, preferred = rows.sum(axis=0), home[rows.argmax(axis=0)]
    for step in np.argsort(-sizes, kind="stable").tolist():
        target = int(preferred[step])
        fits = not load[target] or load[target] + sizes[step] <= room
        result[step] = target if fits else int(load.argmin())
        load[result[step]] += sizes[step]
    return result
