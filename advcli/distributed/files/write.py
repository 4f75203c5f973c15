"""Passes (b) and (c): each partition computes its advantages; one task per file appends them to the file."""

import operator
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from advcli.common.errors import UsageError
from advcli.distributed.counts import PartitionCounts, partition_counts
from advcli.distributed.crossing import numbers
from advcli.distributed.files import resume
from advcli.distributed.files.remote import RemoteOutput, with_retries
from advcli.distributed.files.resume import Goal
from advcli.distributed.placement import Partition
from advcli.distributed.run import PartitionJob, PartitionRows
from advcli.distributed.scan import ScanJob, blank
from advcli.distributed.tasks import ObjectRef, Tasks
from advcli.io import atomic
from advcli.io.collect.cells import one_array
from advcli.io.write import COLUMNS, TOKENS, Additions, lists, write
from advcli.io.write import ROLLOUT as OF_ROLLOUT
from advcli.records.mergeable import Merge, Mergeable
from advcli.tensors.codes import first_rows

GROUP, ROLLOUT = "first of group:", "first of rollout:"
"""Prefixes of the columns with the file and row of the first row of each row's group or rollout."""


@dataclass(frozen=True)
class Writing:
    """What every writing task needs.

    Attributes:
        job: the scan job.
        goals: the output of each file.
        dropped: for each file, the numbers of the lines that are not rows.
        prefix: prefix of the column names.
        about: key-value metadata for parquet files.
        record: the column with the record number, or None.
        run: the fingerprint of the run.
        force: overwrite existing files.
        partition_job: the computation on every partition.
        groups: the numbering of groups.
        rollouts: the numbering of rollouts; None if each is one row.
    """

    job: ScanJob
    goals: tuple[Goal, ...]
    dropped: tuple[frozenset[int], ...]
    prefix: str
    about: Mapping[str, str]
    record: str | None
    run: str
    force: bool
    partition_job: PartitionJob
    groups: "Numbering | None" = None
    rollouts: "Numbering | None" = None

    @property
    def tokens(self) -> bool:
        """Whether there is an advantage per token."""
        return self.partition_job.plans[0].entry.level == "token"


@dataclass(frozen=True)
class Numbering:
    """The data to number groups or rollouts in order of first appearance.

    Attributes:
        before: [F] how many begin in earlier files.
        first: for files with groups that continue in others, a bit per row: whether it is the first of a group.
    """

    before: NDArray[np.int64]
    first: Mapping[int, NDArray[np.uint8]]


@dataclass(frozen=True)
class Beginnings(Mergeable):
    """Where the groups or rollouts of a partition begin.

    Attributes:
        count: file → how many begin in it.
        shared: the files in which some begin that continue in others.
    """

    count: Mapping[int, int]
    shared: Annotated[frozenset[int], Merge(operator.or_)]

    @classmethod
    def of(cls, file: NDArray[np.int64], first: NDArray[np.int64], codes: NDArray[np.int64]) -> "Beginnings":
        """From the file of each row, the file in which each group begins, and the group of each row."""
        grouped = codes >= 0
        begins = first[codes[grouped]]
        return cls(_occurrences(first), frozenset(np.unique(begins[begins != file[grouped]]).tolist()))


def _occurrences(values: NDArray[np.int64]) -> dict[int, int]:
    return dict(zip(*(part.tolist() for part in np.unique(values, return_counts=True)), strict=True))


@dataclass(frozen=True)
class Computed(Mergeable):
    """What one or several partitions have computed in addition to the advantages.

    Attributes:
        partition_counts: the counts.
        groups: where the groups begin.
        rollouts: where the rollouts begin; empty if rows are not turns.
    """

    partition_counts: PartitionCounts
    groups: Beginnings
    rollouts: Beginnings


Pieces: TypeAlias = Mapping[int, Sequence[ObjectRef]]
"""File → the pieces of its advantages, which stay on the workers."""


def compute(
    tasks: Tasks, partitions: Sequence[Partition], partition_job: PartitionJob
) -> tuple[Computed, Pieces]:
    """Compute and count the advantages in one pass."""
    shared = tasks.share(partition_job)
    counts: list[ObjectRef] = []
    pieces: dict[int, list[ObjectRef]] = {}
    for number, partition in enumerate(partitions):
        count, *tables = tasks.split(
            1 + len(partition.files), advantages, number, partition.rows, partition.files, shared
        )
        counts.append(count)
        for file, table in zip(partition.files, tables, strict=True):
            pieces.setdefault(file, []).append(table)
    return reduce(operator.add, tasks.get(counts)), pieces


def advantages(number: int, rows: pa.Table, files: Sequence[int], partition_job: PartitionJob) -> list[Any]:
    """The counts of a partition, and for each of its files the advantages of its rows.

    Each row has a reference to the first row of its group, because groups can only be numbered once all partitions
    are done.
    """
    del number
    partition = PartitionRows.of(rows, partition_job)
    data, columns, result = partition.data, partition.columns, partition.results[0]
    file, row = (columns[name].to_numpy() for name in ("file", "row"))
    original, processed = (values.double().numpy() for values in (result.original, result.processed))
    columns_of_rows = {
        "row": columns["row"],
        "original": pa.array(original, pa.float64(), mask=np.isnan(original)),
        "processed": pa.array(processed, pa.float64(), mask=np.isnan(processed)),
        "kept": pa.array(result.kept.numpy()),
        "line": columns["line"],
    }
    group = data.grouping.group
    grouped = group >= 0
    position = np.flatnonzero(grouped)[first_rows(group[grouped])]
    first = np.append(position, 0)[group]
    columns_of_rows |= {
        f"{GROUP} file": pa.array(np.where(grouped, file[first], -1)),
        f"{GROUP} row": pa.array(np.where(grouped, row[first], -1)),
    }
    groups, rollouts = Beginnings.of(file, file[position], group), Beginnings({}, frozenset())
    if data.table.choice.rollout:
        rollout = np.arange(len(group)) if data.grouping.rollout is None else data.grouping.rollout
        position = first_rows(rollout)
        columns_of_rows |= {
            f"{ROLLOUT} {name}": columns[name].take(pa.array(position[rollout])) for name in ("file", "row")
        }
        rollouts = Beginnings.of(file, file[position], rollout)
    if result.tokens is not None:
        columns_of_rows["tokens"] = lists(result.tokens, result.token_counts)
    table = pa.table(columns_of_rows)
    return [Computed(partition_counts(partition), groups, rollouts), *_by_file(table, file, files)]


def _by_file(table: pa.Table, file: NDArray[np.int64], files: Sequence[int]) -> list[pa.Table]:
    """The rows of each file; copied, because a slice would be sent with its whole buffer."""
    if len(files) == 1:
        return [table]
    edges = zip(np.searchsorted(file, files), np.searchsorted(file, files, side="right"), strict=True)
    return [table.take(pa.array(np.arange(low, high))) for low, high in edges]


def numbered(tasks: Tasks, pieces: Pieces, begun: Beginnings, of: str = GROUP) -> Numbering:
    """The data to number the groups or rollouts in order of first appearance.

    Args:
        tasks: the cluster.
        pieces: the advantages of each file.
        begun: where they begin.
        of: `GROUP` or `ROLLOUT`.
    """
    shared = sorted(begun.shared)
    first = tasks.get([tasks.run(bits, number, of, *pieces[number]) for number in shared])
    count = np.array([begun.count.get(number, 0) for number in range(max(pieces) + 1)], dtype=np.int64)
    return Numbering(np.cumsum(count) - count, dict(zip(shared, first, strict=True)))


def bits(number: int, of: str, *pieces: pa.Table) -> NDArray[np.uint8]:
    """A bit per row of a file: whether it is the first of a group or rollout."""
    columns = _rows_of(pieces)
    file, first, row = (numbers(columns, name) for name in (f"{of} file", f"{of} row", "row"))
    return np.packbits((file == number) & (first == row))


def _rows_of(pieces: Sequence[pa.Table]) -> pa.Table:
    """The rows of a file, in order."""
    if len(pieces) == 1:
        return pieces[0]
    table = pa.concat_tables(pieces)
    return table.take(pa.array(np.argsort(numbers(table, "row")))).combine_chunks()


def write_all(
    tasks: Tasks, writing: Writing, computed: Computed, pieces: Pieces, open_: Sequence[int]
) -> None:
    """Write the files that are not done yet.

    Args:
        tasks: the cluster.
        writing: what the tasks need.
        computed: from `compute`.
        pieces: from `compute`.
        open_: the numbers of the files.
    """
    several = computed.partition_counts.turns is not None
    rollouts = numbered(tasks, pieces, computed.rollouts, ROLLOUT) if several else None
    shared = tasks.share(replace(writing, groups=numbered(tasks, pieces, computed.groups), rollouts=rollouts))
    try:
        tasks.get([tasks.run(write_file, number, shared, *pieces[number]) for number in open_])
    except BaseException:
        tasks.stop()
        raise
    finally:
        # Remove what killed processes left behind.
        for folder in {
            resume.staging(goal.path, writing.run) for goal in writing.goals if isinstance(goal.path, Path)
        }:
            shutil.rmtree(folder, ignore_errors=True)


def write_file(number: int, writing: Writing, *pieces: pa.Table) -> None:
    """Write one file with the new columns."""
    table = _rows_of(pieces)
    columns = {name: one_array(table[name]) for name in table.column_names}
    assert writing.groups is not None
    group = _numbers(columns, writing.groups, GROUP)
    standard = (columns["original"], columns["processed"], columns["kept"], pa.array(group, mask=group < 0))
    added = {writing.prefix + name: column for name, column in zip(COLUMNS, standard, strict=True)}
    if writing.rollouts is not None:
        rollout = _numbers(columns, writing.rollouts, ROLLOUT)
        added[writing.prefix + OF_ROLLOUT] = pa.array(rollout, mask=group < 0)
    if writing.tokens:
        added[writing.prefix + TOKENS] = columns["tokens"]
    _write_and_publish(number, added, columns["line"].to_numpy().astype(np.int64), writing)


def _numbers(columns: Mapping[str, pa.Array], numbering: Numbering, of: str) -> NDArray[np.int64]:
    """[n] the number of each row's group or rollout, in order of first appearance in all files; -1 without one."""
    file, row = (columns[name].to_numpy() for name in (f"{of} file", f"{of} row"))
    result = np.full(len(file), -1, dtype=np.int64)
    for number in np.unique(file[file >= 0]).tolist():
        begins = (
            np.unpackbits(numbering.first[number])
            if number in numbering.first
            else (file == number) & (row == columns["row"].to_numpy())
        )
        rank = np.cumsum(begins, dtype=np.int64) - 1
        mask = file == number
        result[mask] = numbering.before[number] + rank[row[mask]]
    return result


def _write_and_publish(
    number: int, added: dict[str, pa.Array], lines: NDArray[np.int64], writing: Writing
) -> None:
    """Write a file under a temporary name, write its note, and rename it."""
    source, goal = writing.job.sources[number], writing.goals[number]
    lines_of = replace(
        blank(writing.job.choice), rows=(len(lines),), dropped=(writing.dropped[number],), lines=lines
    )
    additions = Additions(added, writing.about, writing.record)
    with _staged(goal, writing.run) as partial:
        target = replace(goal.target, path=partial)
        with_retries(source, lambda source: write([source], [target], lines_of, additions, force=True))
        resume.note(partial, goal.path, writing.run)
        if isinstance(goal.path, RemoteOutput):
            goal.path.put(partial)
            return
        try:
            atomic.publish(partial, goal.path, force=writing.force)
        except UsageError:
            # A task presumed dead may have written the same file of the same run meanwhile.
            if not resume.is_done(goal.path, writing.run):
                raise


@contextmanager
def _staged(goal: Goal, run: str) -> Iterator[Path]:
    """A temporary path for an incomplete file: next to the target, or on the worker's disk for a remote object."""
    if isinstance(goal.path, RemoteOutput):
        with tempfile.TemporaryDirectory(prefix="advcli-") as folder:
            yield Path(folder) / goal.path.name[-40:]
        return
    partial = resume.staging(goal.path, run) / f"{secrets.token_hex(4)}.{goal.path.name[-40:]}"
    partial.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield partial
    finally:
        partial.unlink(missing_ok=True)
