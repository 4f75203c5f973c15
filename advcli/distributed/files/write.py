"""Passes (b) and (c): each partition computes its advantages; one task per file appends them to that file."""

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
from advcli.distributed.counts import Account, account
from advcli.distributed.crossing import numbers
from advcli.distributed.files import resume
from advcli.distributed.files.remote import Away, patiently
from advcli.distributed.files.resume import Goal
from advcli.distributed.placement import Place
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
"""Columns that say where the first row of a row's group, or rollout, is: its file and its row there."""


@dataclass(frozen=True)
class Writing:
    """What every task has to know.

    Attributes:
        job: what was read.
        goals: where each file goes.
        dropped: numbers of the lines of each file that are no rows.
        prefix: put before the names of the columns.
        about: key-value metadata for parquet files.
        record: the column with the number of the record, or None.
        run: the fingerprint of the run.
        force: overwrite what exists.
        work: what is computed.
        groups: what it takes to number the groups.
        rollouts: the same of the rollouts; None where each is one row.
    """

    job: ScanJob
    goals: tuple[Goal, ...]
    dropped: tuple[frozenset[int], ...]
    prefix: str
    about: Mapping[str, str]
    record: str | None
    run: str
    force: bool
    work: PartitionJob
    groups: "Numbering | None" = None
    rollouts: "Numbering | None" = None

    @property
    def tokens(self) -> bool:
        """Whether there is an advantage per token."""
        return self.work.plans[0].entry.level == "token"


@dataclass(frozen=True)
class Numbering:
    """What it takes to number groups, or rollouts, in order of first appearance.

    Attributes:
        before: [F] those that begin in earlier files.
        first: of files whose groups go on in others, a bit per row: whether it begins one.
    """

    before: NDArray[np.int64]
    first: Mapping[int, NDArray[np.uint8]]


@dataclass(frozen=True)
class Beginnings(Mergeable):
    """Where the groups, or the rollouts, of a partition begin.

    Attributes:
        count: file → how many begin in it.
        shared: the files in which some begin that go on in others.
    """

    count: Mapping[int, int]
    shared: Annotated[frozenset[int], Merge(operator.or_)]

    @classmethod
    def of(cls, file: NDArray[np.int64], first: NDArray[np.int64], codes: NDArray[np.int64]) -> "Beginnings":
        """Tell it from the file of each row, the file in which each group begins, and the group of each row."""
        grouped = codes >= 0
        begins = first[codes[grouped]]
        return cls(_occurrences(first), frozenset(np.unique(begins[begins != file[grouped]]).tolist()))


def _occurrences(values: NDArray[np.int64]) -> dict[int, int]:
    return dict(zip(*(part.tolist() for part in np.unique(values, return_counts=True)), strict=True))


@dataclass(frozen=True)
class Computed(Mergeable):
    """What a partition, or several, have computed, beside the advantages.

    Attributes:
        account: what is counted.
        groups: where the groups begin.
        rollouts: where the rollouts begin; empty where rows are not turns.
    """

    account: Account
    groups: Beginnings
    rollouts: Beginnings


Pieces: TypeAlias = Mapping[int, Sequence[ObjectRef]]
"""File → its advantages, in pieces, which stay with the workers."""


def compute(tasks: Tasks, places: Sequence[Place], work: PartitionJob) -> tuple[Computed, Pieces]:
    """Compute the advantages, and count; both in one pass."""
    shared = tasks.share(work)
    counts: list[ObjectRef] = []
    pieces: dict[int, list[ObjectRef]] = {}
    for number, position in enumerate(places):
        count, *tables = tasks.split(
            1 + len(position.files), advantages, number, position.rows, position.files, shared
        )
        counts.append(count)
        for file, table in zip(position.files, tables, strict=True):
            pieces.setdefault(file, []).append(table)
    return reduce(operator.add, tasks.get(counts)), pieces


def advantages(number: int, rows: pa.Table, files: Sequence[int], work: PartitionJob) -> list[Any]:
    """What is counted of a partition, and for each of its files the advantages of its rows.

    Each row has the first row of its group, as the number of a group is known once all partitions are done.
    """
    del number
    here = PartitionRows.of(rows, work)
    data, columns, result = here.data, here.columns, here.results[0]
    file, row = (columns[name].to_numpy() for name in ("file", "row"))
    original, processed = (values.double().numpy() for values in (result.original, result.processed))
    found = {
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
    found |= {
        f"{GROUP} file": pa.array(np.where(grouped, file[first], -1)),
        f"{GROUP} row": pa.array(np.where(grouped, row[first], -1)),
    }
    groups, rollouts = Beginnings.of(file, file[position], group), Beginnings({}, frozenset())
    if data.table.choice.rollout:
        rollout = np.arange(len(group)) if data.grouping.rollout is None else data.grouping.rollout
        position = first_rows(rollout)
        found |= {
            f"{ROLLOUT} {name}": columns[name].take(pa.array(position[rollout])) for name in ("file", "row")
        }
        rollouts = Beginnings.of(file, file[position], rollout)
    if result.tokens is not None:
        found["tokens"] = lists(result.tokens, result.token_counts)
    table = pa.table(found)
    return [Computed(account(here), groups, rollouts), *_by_file(table, file, files)]


def _by_file(table: pa.Table, file: NDArray[np.int64], files: Sequence[int]) -> list[pa.Table]:
    """The rows of each file; a slice would be sent with all rows around it."""
    if len(files) == 1:
        return [table]
    edges = zip(np.searchsorted(file, files), np.searchsorted(file, files, side="right"), strict=True)
    return [table.take(pa.array(np.arange(low, high))) for low, high in edges]


def numbered(tasks: Tasks, pieces: Pieces, begun: Beginnings, of: str = GROUP) -> Numbering:
    """What it takes to number the groups, or the rollouts, in order of first appearance.

    Args:
        tasks: where it is done.
        pieces: the advantages of each file.
        begun: where they begin.
        of: `GROUP` or `ROLLOUT`.
    """
    shared = sorted(begun.shared)
    first = tasks.get([tasks.run(bits, number, of, *pieces[number]) for number in shared])
    count = np.array([begun.count.get(number, 0) for number in range(max(pieces) + 1)], dtype=np.int64)
    return Numbering(np.cumsum(count) - count, dict(zip(shared, first, strict=True)))


def bits(number: int, of: str, *pieces: pa.Table) -> NDArray[np.uint8]:
    """A bit per row of a file: whether it begins a group, or a rollout."""
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
    """Write every file that is open.

    Args:
        tasks: where it is done.
        writing: how.
        computed: from `compute`.
        pieces: from `compute`.
        open_: the numbers of the files.
    """
    several = computed.account.turns is not None
    rollouts = numbered(tasks, pieces, computed.rollouts, ROLLOUT) if several else None
    shared = tasks.share(replace(writing, groups=numbered(tasks, pieces, computed.groups), rollouts=rollouts))
    try:
        tasks.get([tasks.run(write_file, number, shared, *pieces[number]) for number in open_])
    except BaseException:
        tasks.stop()
        raise
    finally:
        # A process that was killed leaves what it had written.
        for folder in {
            resume.staging(goal.path, writing.run) for goal in writing.goals if isinstance(goal.path, Path)
        }:
            shutil.rmtree(folder, ignore_errors=True)


def write_file(number: int, writing: Writing, *pieces: pa.Table) -> None:
    """Write one file with its columns."""
    table = _rows_of(pieces)
    columns = {name: one_array(table[name]) for name in table.column_names}
    assert writing.groups is not None
    group = _numbers(columns, writing.groups, GROUP)
    made = (columns["original"], columns["processed"], columns["kept"], pa.array(group, mask=group < 0))
    added = {writing.prefix + name: column for name, column in zip(COLUMNS, made, strict=True)}
    if writing.rollouts is not None:
        rollout = _numbers(columns, writing.rollouts, ROLLOUT)
        added[writing.prefix + OF_ROLLOUT] = pa.array(rollout, mask=group < 0)
    if writing.tokens:
        added[writing.prefix + TOKENS] = columns["tokens"]
    _written(number, added, columns["line"].to_numpy().astype(np.int64), writing)


def _numbers(columns: Mapping[str, pa.Array], numbering: Numbering, of: str) -> NDArray[np.int64]:
    """[n] number of each row's group or rollout, in order of first appearance in all files; -1 without one."""
    file, row = (columns[name].to_numpy() for name in (f"{of} file", f"{of} row"))
    result = np.full(len(file), -1, dtype=np.int64)
    for number in np.unique(file[file >= 0]).tolist():
        begins = (
            np.unpackbits(numbering.first[number])
            if number in numbering.first
            else (file == number) & (row == columns["row"].to_numpy())
        )
        rank = np.cumsum(begins, dtype=np.int64) - 1
        here = file == number
        result[here] = numbering.before[number] + rank[row[here]]
    return result


def _written(number: int, added: dict[str, pa.Array], lines: NDArray[np.int64], writing: Writing) -> None:
    """Write a file under another name, note it, and give it its own."""
    source, goal = writing.job.sources[number], writing.goals[number]
    lines_of = replace(
        blank(writing.job.choice), rows=(len(lines),), dropped=(writing.dropped[number],), lines=lines
    )
    additions = Additions(added, writing.about, writing.record)
    with _staged(goal, writing.run) as partial:
        target = replace(goal.target, path=partial)
        patiently(source, lambda source: write([source], [target], lines_of, additions, force=True))
        resume.note(partial, goal.path, writing.run)
        if isinstance(goal.path, Away):
            goal.path.put(partial)
            return
        try:
            atomic.publish(partial, goal.path, force=writing.force)
        except UsageError:
            # A task that was taken for dead may have written it meanwhile: the same run, the same file.
            if not resume.is_done(goal.path, writing.run):
                raise


@contextmanager
def _staged(goal: Goal, run: str) -> Iterator[Path]:
    """A temporary name for a file until it is complete: next to it, or for an object on this worker's disk."""
    if isinstance(goal.path, Away):
        with tempfile.TemporaryDirectory(prefix="advcli-") as folder:
            yield Path(folder) / goal.path.name[-40:]
        return
    partial = resume.staging(goal.path, run) / f"{secrets.token_hex(4)}.{goal.path.name[-40:]}"
    partial.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield partial
    finally:
        partial.unlink(missing_ok=True)
