"""Encodes the new columns as parquet column chunks.

Arrow writes them. Opening a writer takes longer than writing a few hundred rows, so for small files one writer
also writes the next files' chunks, one row group per file.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from itertools import accumulate
from struct import Struct as Layout
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from advcli.io.parquet import thrift
from advcli.io.parquet.thrift import Struct

MAGIC = b"PAR1"
TAIL = Layout("<I4s")

# Field numbers in parquet.thrift: of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData.
ROW_GROUPS = 4
COLUMNS, BYTES, GROUP_ROWS, COMPRESSED = 1, 2, 3, 6
CHUNK_OFFSET, CHUNK, OFFSET_INDEX, COLUMN_INDEX = 2, 3, 4, 6
CODEC, PAGES, INDEX, DICTIONARY, BLOOM = 4, 9, 10, 11, 14
_PATH, _PLAIN_SIZE, _CHUNK_SIZE = 3, 6, 7
# The header of a list with one text.
_ONE_TEXT = b"\x18"
OPENED: thrift.Wanted = {ROW_GROUPS: {COLUMNS: {CHUNK: {}}}}
"""The fields of a footer to decode: its row groups, their chunks, and the chunks' metadata."""

# At most so many rows and bytes are encoded in advance.
_MAX_ROWS, _MAX_BYTES = 1 << 13, 4 << 20


class ChunkFormat(NamedTuple):
    """How chunks are encoded to match the file that they are added to.

    Attributes:
        codec: arrow's name of the compression codec.
        compliant: whether lists hold an "element", as the format requires, or an "item".
    """

    codec: str
    compliant: bool


@dataclass(frozen=True)
class Group:
    """The encoded chunks of a row group.

    Attributes:
        rows: its number of rows.
        body: the bytes of all chunks.
        metadata: its RowGroup struct for the footer.
        start: the offset of the body that the metadata assume.
    """

    rows: int
    body: bytes
    metadata: Struct
    start: int


class Chunks:
    """Encodes the rows of a table in order, as row groups.

    Args:
        added: the new columns.
        files: the rows of each file that they are added to.
        advance: called with the number of rows encoded so far.

    Attributes:
        schema: the schema of the table.
    """

    def __init__(
        self,
        added: pa.Table,
        files: Sequence[int] = (),
        advance: Callable[[int], None] = lambda rows: None,
    ) -> None:
        self.schema = added.schema
        self._encoded = _Encoded(added, files)
        self._done = 0
        self._advance = advance

    def part(self, start: int) -> "Chunks":
        """A copy that starts at a given row, for a separate file."""
        result = copy(self)
        result._done = start  # noqa: SLF001  of the same class
        return result

    def __call__(self, rows: int, chunk_format: ChunkFormat) -> Group:
        """The next `rows` rows; the caller owns the metadata and may modify them."""
        result = self._encoded.group(self._done, rows, chunk_format)
        self._done += rows
        self._advance(self._done)
        return result


class _Encoded:
    """The row groups that were encoded in advance and not used yet."""

    def __init__(self, added: pa.Table, files: Sequence[int]) -> None:
        self._added = added
        sizes = [size for size in files if size]
        self._sizes, self._starts = sizes, [0, *accumulate(sizes)]
        self._max_rows = min(_MAX_ROWS, _MAX_BYTES * len(added) // max(1, added.nbytes))
        self._format: ChunkFormat | None = None
        self._groups: dict[int, Group] = {}

    def group(self, start: int, rows: int, chunk_format: ChunkFormat) -> Group:
        result = self._groups.pop(start, None)
        if result is None or result.rows != rows or self._format != chunk_format:
            result, *more = groups(self._added.slice(start), self._next(start, rows), chunk_format)
            starts = accumulate((group.rows for group in more), initial=start + rows)
            self._format, self._groups = chunk_format, dict(zip(starts, more, strict=False))
        return result

    def _next(self, start: int, rows: int) -> list[int]:
        """The sizes of the next row groups: the requested one, and those of the next files if these are small."""
        position = bisect_left(self._starts, start)
        if self._sizes[position : position + 1] != [rows] or self._starts[position] != start:
            return [rows]
        end = bisect_right(self._starts, start + self._max_rows) - 1
        return [rows, *self._sizes[position + 1 : end]]


def groups(added: pa.Table, sizes: Sequence[int], chunk_format: ChunkFormat) -> list[Group]:
    """Row groups of the first rows of a table.

    Args:
        added: the columns.
        sizes: the rows of each group; none is empty.
        chunk_format: how they are encoded.
    """
    first = _first_with_same_memory(added)
    data, footer = written(added.select(sorted(set(first))), sizes, chunk_format)
    metadata = structs(footer, ROW_GROUPS)
    starts = [_start(group) for group in metadata]
    assert len(metadata) == len(sizes), "arrow writes each table as a row group"
    ends = [*starts[1:], data.size]
    encoded = [
        Group(size, data[start:end].to_pybytes(), group, start)
        for size, group, start, end in zip(sizes, metadata, starts, ends, strict=True)
    ]
    if first == list(range(len(first))):
        return encoded
    return [_with_copies(group, first, added.column_names) for group in encoded]


def _first_with_same_memory(added: pa.Table) -> list[int]:
    """For each column, the first column that shares its memory; usually itself."""
    known: dict[object, int] = {}
    result = []
    for position, column in enumerate(added.columns):
        memory = tuple(
            (
                part.offset,
                len(part),
                *(None if buffer is None else buffer.address for buffer in part.buffers()),
            )
            for part in column.chunks
        )
        key = position if pa.types.is_nested(column.type) else (str(column.type), memory)
        result.append(known.setdefault(key, position))
    return result


def _with_copies(group: Group, first: Sequence[int], names: Sequence[str]) -> Group:
    """A row group with the duplicate columns added as copies of the encoded bytes.

    If no filter is set, the processed advantage is the original one and is encoded only once.
    """
    encoded = dict(zip(sorted(set(first)), structs(group.metadata, COLUMNS), strict=True))
    columns, pieces = [], [group.body]
    end = group.start + len(group.body)
    for position, name in enumerate(names):
        column = encoded[first[position]]
        if first[position] != position:
            column = deepcopy(column)
            chunk = column[CHUNK][1]
            start = min(number(chunk, field) for field in (PAGES, DICTIONARY) if field in chunk)
            length = number(chunk, _CHUNK_SIZE)
            pieces.append(group.body[start - group.start : start - group.start + length])
            chunk[_PATH] = (thrift.LIST, _ONE_TEXT + thrift.of_binary(name.encode()))
            move(column, by=end - start)
            end += length
            for total, own in ((BYTES, _PLAIN_SIZE), (COMPRESSED, _CHUNK_SIZE)):
                if total in group.metadata:
                    add(group.metadata, total, number(chunk, own))
        columns.append(column)
    structs(group.metadata, COLUMNS)[:] = columns
    return replace(group, body=b"".join(pieces))


def written(table: pa.Table, sizes: Sequence[int], chunk_format: ChunkFormat) -> tuple[pa.Buffer, Struct]:
    """The first rows of a table as a parquet file with these row group sizes: the bytes before the footer, and the footer."""
    sink = pa.BufferOutputStream()
    # Group numbers mostly increase by 0 or 1 and have many values: delta encoding fits, a dictionary doesn't.
    numbers = [field.name for field in table.schema if pa.types.is_int64(field.type)]
    with pq.ParquetWriter(
        sink,
        table.schema,
        version="2.6",
        compression=chunk_format.codec,
        store_schema=False,
        use_dictionary=[name for name in table.column_names if name not in numbers],
        column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
        use_compliant_nested_type=chunk_format.compliant,
    ) as writer:
        for start, size in zip(accumulate(sizes, initial=0), sizes, strict=False):
            writer.write_table(table.slice(start, size), row_group_size=size)
    data = sink.getvalue()
    length, _ = TAIL.unpack(data[-TAIL.size :].to_pybytes())
    end = data.size - TAIL.size - length
    return data[:end], thrift.decode(data[end : end + length].to_pybytes(), OPENED)


def move(column: Struct, by: int) -> None:
    """Shift all file offsets of a column chunk."""
    for holder, names in (
        (column, (CHUNK_OFFSET, OFFSET_INDEX, COLUMN_INDEX)),
        (column[CHUNK][1], (PAGES, INDEX, DICTIONARY, BLOOM)),
    ):
        for name in names:
            if name in holder and number(holder, name):
                add(holder, name, by)


def structs(holder: Struct, name: int) -> list[Struct]:
    """The structs of a decoded list."""
    result: list[Struct] = holder[name][1]
    return result


def number(holder: Struct, name: int) -> int:
    """The number in a field."""
    return thrift.integer(holder[name][1])


def add(holder: Struct, name: int, by: int) -> None:
    """Add to the number in a field."""
    holder[name] = (holder[name][0], thrift.of_integer(number(holder, name) + by))


def _start(group: Struct) -> int:
    """The offset of a row group's chunks: the first page of its first column."""
    chunk = structs(group, COLUMNS)[0][CHUNK][1]
    pages = (number(chunk, name) for name in (DICTIONARY, PAGES) if name in chunk)
    return min(position for position in pages if position)
