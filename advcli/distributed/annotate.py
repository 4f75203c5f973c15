"""Pass (c): one task per file streams that file through and appends its own columns."""

import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from advcli.distributed import done, faults
from advcli.distributed.narrow import Job, blank
from advcli.distributed.patience import patiently
from advcli.distributed.places import numbers, pack, unpack
from advcli.distributed.rounds import Work, advantages
from advcli.errors import UsageError
from advcli.io import sink
from advcli.io.write import COLUMNS, TOKENS, Additions, Target, write


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
        before: groups that begin in the files before each.
        first: file → which of its rows begin a group, for files with groups that go on in others.
    """

    job: Job
    goals: tuple[Target, ...]
    dropped: tuple[frozenset[int], ...]
    prefix: str
    about: Mapping[str, str]
    record: str | None
    run: str
    force: bool
    work: Work
    rows: tuple[int, ...]
    before: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    first: Mapping[int, NDArray[np.uint8]] = field(default_factory=dict)

    @property
    def tokens(self) -> bool:
        """Whether there is an advantage per token."""
        return self.work.plans[0].entry.level == "token"


def by_file(results: Any, files: int) -> Any:  # noqa: ANN401  Ray's class
    """Move the advantages to their files: a data set of one row per file, in Ray's memory."""
    packed = results.groupby("file", num_partitions=files).map_groups(
        pack, batch_format="pyarrow", fn_kwargs={"by": "file"}, num_cpus=1
    )
    return packed.materialize()


def numbered(packed: Any, files: int) -> tuple[NDArray[np.int64], dict[int, NDArray[np.uint8]]]:  # noqa: ANN401
    """What it takes to number the groups in order of first appearance.

    Args:
        packed: from `by_file`.
        files: how many files there are.

    Returns:
        [F] groups that begin in earlier files; and of files whose groups go on in others, a bit per row: whether it
        begins a group.
    """
    begun = np.zeros(files, dtype=np.int64)
    shared: set[int] = set()
    for row in packed.map_batches(_beginnings, batch_size=1, batch_format="pyarrow").take_all():
        begun[row["file"]] = row["begun"]
        shared.update(row["others"])
    first: dict[int, NDArray[np.uint8]] = {}
    if shared:
        bits = packed.map_batches(
            _bits, batch_size=1, batch_format="pyarrow", fn_kwargs={"files": frozenset(shared)}
        )
        first = {row["file"]: np.frombuffer(row["bits"], dtype=np.uint8) for row in bits.take_all()}
    return np.cumsum(begun) - begun, first


def _beginnings(batch: pa.Table) -> pa.Table:
    number = batch["file"][0].as_py()
    begins, file = _begins(batch)
    others = sorted(set(np.unique(file).tolist()) - {number, -1})
    return pa.table(
        {
            "file": [number],
            "begun": [int(begins.sum())],
            "others": pa.array([others], pa.list_(pa.int64())),
        }
    )


def _bits(batch: pa.Table, files: frozenset[int]) -> pa.Table:
    number = batch["file"][0].as_py()
    wanted = number in files
    bits = [np.packbits(_begins(batch)[0]).tobytes()] if wanted else []
    return pa.table(
        {"file": pa.array([number] if wanted else [], pa.int64()), "bits": pa.array(bits, pa.large_binary())}
    )


def _begins(batch: pa.Table) -> tuple[NDArray[np.bool_], NDArray[np.int32]]:
    """[n] whether a row begins its group, and the file in which its group begins."""
    columns, number = unpack(batch), batch["file"][0].as_py()
    file, first = (columns[name].to_numpy() for name in ("first file", "first row"))
    return (file == number) & (first == columns["row"].to_numpy()), file


def write_all(data: Any, writing: Writing, places: Any, open_: Sequence[int]) -> None:  # noqa: ANN401  Ray's classes
    """Write every file that is open.

    Args:
        data: the module `ray.data`.
        writing: how.
        places: the rows, from `places.spread`.
        open_: the numbers of the files.
    """
    results = places.map_batches(
        advantages, batch_size=1, batch_format="pyarrow", fn_kwargs={"work": writing.work}, num_cpus=1
    )
    packed = by_file(results, len(writing.goals))
    before, first = numbered(packed, len(writing.goals))
    writing = replace(writing, before=before, first=first)
    how = {"batch_size": 1, "batch_format": "pyarrow", "num_cpus": 1}
    try:
        kwargs = {"writing": writing, "open_": frozenset(open_)}
        packed.map_batches(write_file, fn_kwargs=kwargs, **how).take_all()
        empty = [number for number in open_ if not writing.rows[number]]
        if empty:
            data.from_items(empty).map_batches(write_empty, fn_kwargs={"writing": writing}, **how).take_all()
    finally:
        # A process that was killed leaves what it had written.
        for folder in {done.staging(goal.path, writing.run) for goal in writing.goals if goal.path}:
            shutil.rmtree(folder, ignore_errors=True)


def write_file(batch: pa.Table, writing: Writing, open_: frozenset[int]) -> pa.Table:
    """Write one file with its columns, if it is open."""
    number = batch["file"][0].as_py()
    if number not in open_:
        return pa.table({"file": [number]})
    columns = unpack(batch)
    group = _groups(columns, number, writing)
    made = (columns["original"], columns["processed"], columns["kept"], pa.array(group, mask=group < 0))
    added = {writing.prefix + name: column for name, column in zip(COLUMNS, made, strict=True)}
    if writing.tokens:
        added[writing.prefix + TOKENS] = columns["tokens"]
    _written(number, added, columns["line"].to_numpy(), writing)
    return pa.table({"file": [number]})


def write_empty(batch: pa.Table, writing: Writing) -> pa.Table:
    """Write files without rows."""
    types = (pa.float64(), pa.float64(), pa.bool_(), pa.int64())
    added = {writing.prefix + name: pa.array([], type_) for name, type_ in zip(COLUMNS, types, strict=True)}
    if writing.tokens:
        added[writing.prefix + TOKENS] = pa.array([], pa.list_(pa.float64()))
    for number in numbers(batch, "item").tolist():
        _written(number, added, np.zeros(0, dtype=np.int64), writing)
    return pa.table({"file": numbers(batch, "item")})


def _groups(columns: Mapping[str, pa.Array], number: int, writing: Writing) -> NDArray[np.int64]:
    """[n] number of each row's group, in order of first appearance in all files; -1 without one."""
    file, row = (columns[name].to_numpy() for name in ("first file", "first row"))
    found = np.full(len(file), -1, dtype=np.int64)
    for of in np.unique(file[file >= 0]).tolist():
        begins = (
            np.unpackbits(writing.first[of])
            if of in writing.first
            else (file == of) & (row == columns["row"].to_numpy())
        )
        rank = np.cumsum(begins, dtype=np.int64) - 1
        here = file == of
        found[here] = writing.before[of] + rank[row[here]]
    return found


def _written(number: int, added: dict[str, pa.Array], lines: NDArray[np.int64], writing: Writing) -> None:
    """Write a file under another name, note it, and give it its own."""
    source, goal = writing.job.sources[number], writing.goals[number]
    assert goal.path is not None
    partial = done.staging(goal.path, writing.run) / f"{secrets.token_hex(4)}.{goal.path.name[-40:]}"
    partial.parent.mkdir(parents=True, exist_ok=True)
    table = replace(
        blank(writing.job.choice), rows=(len(lines),), dropped=(writing.dropped[number],), lines=lines
    )
    additions = Additions(added, writing.about, writing.record)
    try:
        target = replace(goal, path=partial)
        patiently(source, lambda source: write([source], [target], table, additions, force=True))
        faults.strike("write", number)
        done.note(partial, goal.path, writing.run)
        try:
            sink.publish(partial, goal.path, force=writing.force)
        except UsageError:
            # A task that was taken for dead may have written it meanwhile: the same run, the same file.
            if not done.is_done(goal.path, writing.run):
                raise
    finally:
        partial.unlink(missing_ok=True)
