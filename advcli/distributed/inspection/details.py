"""Details of single groups and rows of a partitioned dump, with their texts read back from the files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from advcli.distributed import run
from advcli.distributed.crossing import numbers
from advcli.distributed.files.remote import with_retries
from advcli.distributed.load import Loaded
from advcli.distributed.placement import Partition
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
class Restriction:
    """A restriction of the rows to search.

    Attributes:
        step: the code of the step, or None for all.
        begins: the position of the group's first row, or None for all.
        keys: the digests of the prompts, or None for all.
    """

    step: int | None = None
    begins: int | None = None
    keys: frozenset[tuple[int, int]] | None = None

    def mask(self, partition: PartitionRows) -> Tensor:
        """[n] bool, the rows of a partition that match."""
        data = partition.data
        result = data.rows.group >= 0
        if self.step is not None:
            result &= data.rows.step == self.step
        if self.begins is not None:
            result &= torch.from_numpy(partition.begins() == self.begins)[data.rows.group.clamp(min=0)]
        if self.keys is not None:
            pairs = zip(*(partition.columns[name].to_pylist() for name in ("key", "key2")), strict=True)
            result &= torch.tensor([pair in self.keys for pair in pairs], dtype=torch.bool)
        return result


@dataclass(frozen=True)
class Found(Mergeable):
    """The details found in one or several partitions.

    Attributes:
        matching: number of rows that match the restriction.
        lists: one list per request; rows and groups are identified by their position among all rows.
    """

    matching: int
    lists: tuple[Listed, ...]


def details(
    wanted: Wanted,
    loaded: Loaded,
    partitions: Sequence[Partition],
    partition_job: PartitionJob,
    groups: int,
    columns: Sequence[str],
) -> tuple[Detail, ...]:
    """Find the groups and rows that the user asked for, and read them back.

    Args:
        wanted: the requested groups and rows.
        loaded: the data set.
        partitions: from `placement.spread`.
        partition_job: the computation on every partition; its first plan gives the advantage.
        groups: the number of groups.
        columns: the columns that identify a group.

    Raises:
        UsageError: the step or group doesn't exist.
    """
    lists = asked(wanted)
    if not lists:
        return ()
    among = _restriction(wanted, loaded, partitions, partition_job, groups, columns)
    result: Found = run.map_reduce(loaded.tasks, partitions, partition_job, find, lists, among)
    if among is None or (wanted.group is not None and not result.matching):
        raise no_group(wanted.group or "", columns, groups)
    entries = [entry for listed_ in result.lists for entry in listed_.entries]
    begins = sorted({entry.group for entry in entries})
    ranks = (
        run.map_reduce(loaded.tasks, partitions, partition_job, begun_before, tuple(begins)) if begins else []
    )
    texts = _texts(loaded, partition_job, {entry.row for entry in entries})
    known = dict(zip(begins, map(int, ranks), strict=True))
    return tuple(
        listed_.detail(asked_, known, texts) for asked_, listed_ in zip(lists, result.lists, strict=True)
    )


def _restriction(
    wanted: Wanted,
    loaded: Loaded,
    partitions: Sequence[Partition],
    partition_job: PartitionJob,
    groups: int,
    columns: Sequence[str],
) -> Restriction:
    restriction = Restriction()
    if wanted.step is not None:
        restriction = replace(
            restriction, step=step_code(wanted.step, loaded.job.choice, partition_job.view.steps)
        )
    if wanted.group is None:
        return restriction
    number = group_number(wanted.group)
    if number is None:
        return replace(restriction, keys=_keys(loaded, wanted.group))
    if number >= groups:
        raise no_group(wanted.group, columns, groups)
    return replace(restriction, begins=_begin(loaded, partitions, partition_job, number))


def _keys(loaded: Loaded, key: str) -> frozenset[tuple[int, int]]:
    """The digests of the prompts with this text in some column."""
    shared = loaded.tasks.share(loaded.job)
    result = [loaded.tasks.run(keys_with, number, key, shared) for number in range(len(loaded.job.sources))]
    return frozenset().union(*loaded.tasks.get(result))


def keys_with(number: int, key: str, job: ScanJob) -> frozenset[tuple[int, int]]:
    """The digests of the prompts with this text in one file."""
    source = job.sources[number]
    read = with_retries(source, lambda source: read_one(source, job.choice, job.options, skip_bad_rows=True))
    if read is None:
        return frozenset()
    table, digests, _ = read
    codes = table.key[rows_with_key([source], table, key)]
    return frozenset(tuple(digests[code].tolist()) for code in set(codes[codes >= 0].tolist()))


def _begin(loaded: Loaded, partitions: Sequence[Partition], partition_job: PartitionJob, number: int) -> int:
    """The position of a group's first row, found by searching for the row before which `number` groups begin."""
    low, width = 0, loaded.count
    while width > 1:
        width = -(-width // _BUCKETS)
        counts = run.map_reduce(loaded.tasks, partitions, partition_job, begun_in, low, width)
        before = np.cumsum(counts)
        bucket = int(np.searchsorted(before, number, side="right"))
        number -= int(before[bucket - 1]) if bucket else 0
        low += bucket * width
    return low


def begun_in(partition: PartitionRows, low: int, width: int) -> NDArray[np.int64]:
    """The number of groups of a partition that begin in each of `_BUCKETS` ranges of `width` rows."""
    bucket = (partition.begins() - low) // width
    return np.bincount(bucket[(bucket >= 0) & (bucket < _BUCKETS)], minlength=_BUCKETS)


def begun_before(partition: PartitionRows, rows: tuple[int, ...]) -> NDArray[np.int64]:
    """The number of groups of a partition that begin before each of some rows."""
    return np.searchsorted(partition.begins(), np.array(rows))


def find(partition: PartitionRows, lists: tuple[Asked, ...], restriction: Restriction) -> Found:
    """The requested details of one partition."""
    original = partition.partition_job.results(partition.data, [0])[0].original
    mask = restriction.mask(partition)
    positions, begins = partition.positions(), partition.begins()
    result = []
    for request in lists:
        part = listed(request, partition.data, original, mask)
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


def _texts(loaded: Loaded, partition_job: PartitionJob, rows: set[int]) -> dict[int, Mapping[str, str]]:
    """The texts of some rows, with one task per file."""
    starts = partition_job.view.starts
    by_file: dict[int, list[int]] = {}
    for row in sorted(rows):
        by_file.setdefault(int(np.searchsorted(starts, row, side="right")) - 1, []).append(row)
    shared = loaded.tasks.share(loaded.job)
    read = [
        loaded.tasks.run(texts, number, loaded.rows[number], tuple(wanted), int(starts[number]), shared)
        for number, wanted in by_file.items()
    ]
    return {row: text for of_file in loaded.tasks.get(read) for row, text in of_file.items()}


def texts(
    number: int, table: pa.Table, rows: tuple[int, ...], start: int, job: ScanJob
) -> dict[int, Mapping[str, str]]:
    """The texts of some rows of a file."""
    lines = numbers(table, "line")
    nth = numbers(table, NTH) if NTH in table.column_names else np.zeros(len(lines), dtype=np.int64)
    wanted: dict[int, list[tuple[int, int]]] = {}
    for row in rows:
        wanted.setdefault(int(lines[row - start]), []).append((row, int(nth[row - start])))
    read = with_retries(job.sources[number], lambda source: read_lines(source, job.choice, wanted))
    return {row: texts_of(columns, job.choice.prompt) for row, columns in read.items()}
