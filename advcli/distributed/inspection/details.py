"""Single groups and rows of a dump that lies in many places, with their texts read back from the files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from advcli.distributed import run
from advcli.distributed.crossing import numbers
from advcli.distributed.files.remote import patiently
from advcli.distributed.load import Loaded
from advcli.distributed.placement import Place
from advcli.distributed.run import PartitionJob, PartitionRows
from advcli.distributed.scan import NTH, ScanJob
from advcli.inspection.details import (
    Asked,
    Listed,
    Wanted,
    asked,
    group_number,
    listed,
    no_group,
    step_code,
    texts_of,
)
from advcli.io.lookup import read_lines, rows_with_key
from advcli.io.read import read_one
from advcli.records.mergeable import Mergeable
from advcli.records.results.inspection import Detail

_BUCKETS = 4096


@dataclass(frozen=True)
class Among:
    """The rows among which the wanted ones are.

    Attributes:
        step: the code of their step, or None for all.
        begins: where their group begins, or None for all.
        keys: the digests of their prompts, or None for all.
    """

    step: int | None = None
    begins: int | None = None
    keys: frozenset[tuple[int, int]] | None = None

    def mask(self, here: PartitionRows) -> Tensor:
        """[n] bool of a place."""
        data = here.data
        result = data.rows.group >= 0
        if self.step is not None:
            result &= data.rows.step == self.step
        if self.begins is not None:
            result &= torch.from_numpy(here.begins() == self.begins)[data.rows.group.clamp(min=0)]
        if self.keys is not None:
            pairs = zip(*(here.columns[name].to_pylist() for name in ("key", "key2")), strict=True)
            result &= torch.tensor([pair in self.keys for pair in pairs], dtype=torch.bool)
        return result


@dataclass(frozen=True)
class Found(Mergeable):
    """What is there in a place.

    Attributes:
        there: the rows among which the wanted ones are.
        lists: one for each that was asked for; rows and groups are called by where they stand among all.
    """

    there: int
    lists: tuple[Listed, ...]


def details(
    wanted: Wanted,
    loaded: Loaded,
    places: Sequence[Place],
    work: PartitionJob,
    groups: int,
    columns: Sequence[str],
) -> tuple[Detail, ...]:
    """Find what the user wants to see, and read it back.

    Args:
        wanted: which groups and rows.
        loaded: the data set.
        places: from `placement.spread`.
        work: what is done in every place; its first plan gives the advantage.
        groups: how many groups there are.
        columns: those that make a group.

    Raises:
        UsageError: there is no such step or group.
    """
    lists = asked(wanted)
    if not lists:
        return ()
    among = _among(wanted, loaded, places, work, groups, columns)
    result: Found = run.over(loaded.tasks, places, work, find, lists, among)
    if among is None or (wanted.group is not None and not result.there):
        raise no_group(wanted.group or "", columns, groups)
    entries = [entry for one in result.lists for entry in one.entries]
    begins = sorted({entry.group for entry in entries})
    ranks = run.over(loaded.tasks, places, work, begun_before, tuple(begins)) if begins else []
    texts = _texts(loaded, work, {entry.row for entry in entries})
    known = dict(zip(begins, map(int, ranks), strict=True))
    return tuple(one.detail(asked_, known, texts) for asked_, one in zip(lists, result.lists, strict=True))


def _among(
    wanted: Wanted,
    loaded: Loaded,
    places: Sequence[Place],
    work: PartitionJob,
    groups: int,
    columns: Sequence[str],
) -> Among:
    among = Among()
    if wanted.step is not None:
        among = replace(among, step=step_code(wanted.step, loaded.job.choice, work.view.steps))
    if wanted.group is None:
        return among
    number = group_number(wanted.group)
    if number is None:
        return replace(among, keys=_keys(loaded, wanted.group))
    if number >= groups:
        raise no_group(wanted.group, columns, groups)
    return replace(among, begins=_begin(loaded, places, work, number))


def _keys(loaded: Loaded, key: str) -> frozenset[tuple[int, int]]:
    """The digests of the prompts of which a column holds this text."""
    shared = loaded.tasks.share(loaded.job)
    result = [loaded.tasks.run(keys_with, number, key, shared) for number in range(len(loaded.job.sources))]
    return frozenset().union(*loaded.tasks.get(result))


def keys_with(number: int, key: str, job: ScanJob) -> frozenset[tuple[int, int]]:
    """The same of one file."""
    source = job.sources[number]
    read = patiently(source, lambda source: read_one(source, job.choice, job.options, skip_bad_rows=True))
    if read is None:
        return frozenset()
    table, digests, _ = read
    codes = table.key[rows_with_key([source], table, key)]
    return frozenset(tuple(digests[code].tolist()) for code in set(codes[codes >= 0].tolist()))


def _begin(loaded: Loaded, places: Sequence[Place], work: PartitionJob, number: int) -> int:
    """Where a group begins, from its number: as many groups begin before it."""
    low, width = 0, loaded.count
    while width > 1:
        width = -(-width // _BUCKETS)
        counts = run.over(loaded.tasks, places, work, begun_in, low, width)
        before = np.cumsum(counts)
        bucket = int(np.searchsorted(before, number, side="right"))
        number -= int(before[bucket - 1]) if bucket else 0
        low += bucket * width
    return low


def begun_in(here: PartitionRows, low: int, width: int) -> NDArray[np.int64]:
    """Groups of a place that begin in each of some stretches of rows."""
    bucket = (here.begins() - low) // width
    return np.bincount(bucket[(bucket >= 0) & (bucket < _BUCKETS)], minlength=_BUCKETS)


def begun_before(here: PartitionRows, rows: tuple[int, ...]) -> NDArray[np.int64]:
    """Groups of a place that begin before each of some rows."""
    return np.searchsorted(here.begins(), np.array(rows))


def find(here: PartitionRows, lists: tuple[Asked, ...], among: Among) -> Found:
    """What was asked for, of one place."""
    original = here.work.results(here.data, [0])[0].original
    mask = among.mask(here)
    positions, begins = here.positions(), here.begins()
    result = []
    for one in lists:
        part = listed(one, here.data, original, mask)
        entries = tuple(
            replace(
                entry,
                rank=(entry.rank[0], int(positions[entry.row])),
                row=int(positions[entry.row]),
                group=int(begins[entry.group]),
            )
            for entry in part.entries
        )
        result.append(Listed(entries, part.total))
    return Found(int(mask.sum()), tuple(result))


def _texts(loaded: Loaded, work: PartitionJob, rows: set[int]) -> dict[int, Mapping[str, str]]:
    """The texts of some rows; one task reads each file."""
    starts = work.view.starts
    by_file: dict[int, list[int]] = {}
    for row in sorted(rows):
        by_file.setdefault(int(np.searchsorted(starts, row, side="right")) - 1, []).append(row)
    shared = loaded.tasks.share(loaded.job)
    read = [
        loaded.tasks.run(texts, number, loaded.rows[number], tuple(wanted), int(starts[number]), shared)
        for number, wanted in by_file.items()
    ]
    return {row: text for one in loaded.tasks.get(read) for row, text in one.items()}


def texts(
    number: int, table: pa.Table, rows: tuple[int, ...], start: int, job: ScanJob
) -> dict[int, Mapping[str, str]]:
    """The texts of some rows of a file."""
    lines = numbers(table, "line")
    nth = numbers(table, NTH) if NTH in table.column_names else np.zeros(len(lines), dtype=np.int64)
    wanted: dict[int, list[tuple[int, int]]] = {}
    for row in rows:
        wanted.setdefault(int(lines[row - start]), []).append((row, int(nth[row - start])))
    read = patiently(job.sources[number], lambda source: read_lines(source, job.choice, wanted))
    return {row: texts_of(columns, job.choice.prompt) for row, columns in read.items()}
