"""Pass (c): one task per file streams that file through and appends its own columns."""

import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from advcli.common.errors import UsageError
from advcli.distributed import resume
from advcli.distributed.partitions import numbers, unpack
from advcli.distributed.remote import Away
from advcli.distributed.resume import Goal
from advcli.distributed.retry import patiently
from advcli.distributed.run import GROUP, ROLLOUT, PartitionJob, advantages
from advcli.distributed.scan import ScanJob, blank
from advcli.distributed.tasks import ObjectRef, Tasks
from advcli.io import atomic
from advcli.io.write import COLUMNS, TOKENS, Additions, write
from advcli.io.write import ROLLOUT as OF_ROLLOUT


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
        rows: rows of each file.
        groups: what it takes to number the groups.
        rollouts: the same of the rollouts; None where each is one row.
        several: whether any rollout has several rows.
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
    rows: tuple[int, ...]
    several: bool = False
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
class Beginnings:
    """The groups that begin in a file.

    Attributes:
        count: how many.
        others: the other files in which groups of its rows begin.
    """

    count: int
    others: tuple[int, ...]


def collect(number: int, table: pa.Table) -> pa.Table:
    """The advantages of one file, in the order of its rows."""
    return table.take(pa.array(np.argsort(numbers(table, "row")))).combine_chunks()


def numbered(tasks: Tasks, files: Sequence[ObjectRef], of: str = GROUP) -> Numbering:
    """What it takes to number the groups, or the rollouts, in order of first appearance.

    Args:
        tasks: where it is done.
        files: the advantages of each file.
        of: `rounds.GROUP` or `rounds.ROLLOUT`.
    """
    found = tasks.get([tasks.run(beginnings, number, file, of) for number, file in enumerate(files)])
    shared = sorted({other for one in found for other in one.others})
    first = tasks.get([tasks.run(bits, number, files[number], of) for number in shared])
    begun = np.array([one.count for one in found], dtype=np.int64)
    return Numbering(np.cumsum(begun) - begun, dict(zip(shared, first, strict=True)))


def beginnings(number: int, columns: pa.Table, of: str = GROUP) -> Beginnings:
    """The groups, or the rollouts, that begin in a file."""
    begins, file = _begins(number, columns, of)
    return Beginnings(int(begins.sum()), tuple(sorted(set(np.unique(file).tolist()) - {number, -1})))


def bits(number: int, columns: pa.Table, of: str = GROUP) -> NDArray[np.uint8]:
    """A bit per row of a file: whether it begins a group, or a rollout."""
    return np.packbits(_begins(number, columns, of)[0])


def _begins(number: int, columns: pa.Table, of: str) -> tuple[NDArray[np.bool_], NDArray[np.int32]]:
    """[n] whether a row begins its group, and the file in which its group begins."""
    file, first, row = (numbers(columns, name) for name in (f"{of} file", f"{of} row", "row"))
    return (file == number) & (first == row), file


def write_all(tasks: Tasks, writing: Writing, places: Sequence[ObjectRef], open_: Sequence[int]) -> None:
    """Write every file that is open.

    Args:
        tasks: where it is done.
        writing: how.
        places: the rows, from `places.spread`.
        open_: the numbers of the files.
    """
    files = tasks.shuffle(places, len(writing.goals), advantages, collect, tasks.share(writing.work))
    rollouts = numbered(tasks, files, ROLLOUT) if writing.several else None
    shared = tasks.share(replace(writing, groups=numbered(tasks, files), rollouts=rollouts))
    try:
        tasks.get([tasks.run(write_file, number, files[number], shared) for number in open_])
    except BaseException:
        tasks.stop()
        raise
    finally:
        # A process that was killed leaves what it had written.
        for folder in {
            resume.staging(goal.path, writing.run) for goal in writing.goals if isinstance(goal.path, Path)
        }:
            shutil.rmtree(folder, ignore_errors=True)


def write_file(number: int, table: pa.Table, writing: Writing) -> None:
    """Write one file with its columns."""
    columns = unpack(table)
    assert writing.groups is not None
    group = _numbers(columns, writing.groups, GROUP)
    made = (columns["original"], columns["processed"], columns["kept"], pa.array(group, mask=group < 0))
    added = {writing.prefix + name: column for name, column in zip(COLUMNS, made, strict=True)}
    if writing.rollouts is not None:
        rollout = _numbers(columns, writing.rollouts, ROLLOUT)
        added[writing.prefix + OF_ROLLOUT] = pa.array(rollout, mask=group < 0)
    if writing.tokens:
        added[writing.prefix + TOKENS] = columns["tokens"]
    _written(number, added, columns["line"].to_numpy(), writing)


def _numbers(columns: Mapping[str, pa.Array], numbering: Numbering, of: str) -> NDArray[np.int64]:
    """[n] number of each row's group or rollout, in order of first appearance in all files; -1 without one."""
    file, row = (columns[name].to_numpy() for name in (f"{of} file", f"{of} row"))
    found = np.full(len(file), -1, dtype=np.int64)
    for number in np.unique(file[file >= 0]).tolist():
        begins = (
            np.unpackbits(numbering.first[number])
            if number in numbering.first
            else (file == number) & (row == columns["row"].to_numpy())
        )
        rank = np.cumsum(begins, dtype=np.int64) - 1
        here = file == number
        found[here] = numbering.before[number] + rank[row[here]]
    return found


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
