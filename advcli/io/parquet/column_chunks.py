"""The column chunks of the new columns, as they lie in a parquet file.

Arrow writes them. To open a writer takes longer than to write a few hundred rows, so where files are small, one writes for
the next of them too, a row group for each.
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

# Numbers of fields in parquet.thrift: of a footer, a row group, a column chunk, and what that says of itself.
ROW_GROUPS = 4
COLUMNS, BYTES, GROUP_ROWS, COMPRESSED = 1, 2, 3, 6
CHUNK_OFFSET, CHUNK, OFFSET_INDEX, COLUMN_INDEX = 2, 3, 4, 6
CODEC, PAGES, INDEX, DICTIONARY, BLOOM = 4, 9, 10, 11, 14
_PATH, _PLAIN_SIZE, _CHUNK_SIZE = 3, 6, 7
# The head of a list of one text.
_ONE_TEXT = b"\x18"
OPENED: thrift.Wanted = {ROW_GROUPS: {COLUMNS: {CHUNK: {}}}}
"""What is opened of a footer: its row groups, their chunks, and what these say of themselves."""

# So many rows and bytes are written ahead.
_ROWS, _BYTES = 1 << 13, 4 << 20


class ChunkFormat(NamedTuple):
    """What chunks have in common with the file that they are added to.

    Attributes:
        codec: how they are compressed, as arrow names it.
        compliant: whether lists hold an "element", as the format wants it, or an "item".
    """

    codec: str
    compliant: bool


@dataclass(frozen=True)
class Group:
    """The chunks of a row group.

    Attributes:
        rows: how many it has.
        body: the bytes of the chunks.
        metadata: what a footer says of them.
        start: where the body begins, going by that.
    """

    rows: int
    body: bytes
    metadata: Struct
    start: int


class Chunks:
    """Hands out the rows of a table in order, as row groups.

    Args:
        added: the new columns.
        files: the rows of each file that they are added to.
        advance: called with the number of rows that are done.

    Attributes:
        schema: of the table.
    """

    def __init__(
        self,
        added: pa.Table,
        files: Sequence[int] = (),
        advance: Callable[[int], None] = lambda rows: None,
    ) -> None:
        self.schema = added.schema
        self._made = _Made(added, files)
        self._done = 0
        self._advance = advance

    def part(self, start: int) -> "Chunks":
        """The column chunks of a separate file, from a row on."""
        result = copy(self)
        result._done = start  # noqa: SLF001  of the same class
        return result

    def __call__(self, rows: int, look: ChunkFormat) -> Group:
        """The next `rows` rows; their metadata is not shared, so it may be changed."""
        result = self._made.group(self._done, rows, look)
        self._done += rows
        self._advance(self._done)
        return result


class _Made:
    """The groups that were written and not asked for yet."""

    def __init__(self, added: pa.Table, files: Sequence[int]) -> None:
        self._added = added
        sizes = [size for size in files if size]
        self._sizes, self._starts = sizes, [0, *accumulate(sizes)]
        self._most = min(_ROWS, _BYTES * len(added) // max(1, added.nbytes))
        self._look: ChunkFormat | None = None
        self._groups: dict[int, Group] = {}

    def group(self, start: int, rows: int, look: ChunkFormat) -> Group:
        result = self._groups.pop(start, None)
        if result is None or result.rows != rows or self._look != look:
            result, *more = groups(self._added.slice(start), self._next(start, rows), look)
            starts = accumulate((group.rows for group in more), initial=start + rows)
            self._look, self._groups = look, dict(zip(starts, more, strict=False))
        return result

    def _next(self, start: int, rows: int) -> list[int]:
        """The rows that are asked for, and those of the next files, which will be groups if these are small."""
        position = bisect_left(self._starts, start)
        if self._sizes[position : position + 1] != [rows] or self._starts[position] != start:
            return [rows]
        end = bisect_right(self._starts, start + self._most) - 1
        return [rows, *self._sizes[position + 1 : end]]


def groups(added: pa.Table, sizes: Sequence[int], look: ChunkFormat) -> list[Group]:
    """Row groups of the first rows of a table.

    Args:
        added: the columns.
        sizes: the rows of each group; none is empty.
        look: how they are written.
    """
    first = _first_of_its_kind(added)
    data, footer = written(added.select(sorted(set(first))), sizes, look)
    metadata = structs(footer, ROW_GROUPS)
    starts = [_start(group) for group in metadata]
    assert len(metadata) == len(sizes), "arrow writes each table as a row group"
    ends = [*starts[1:], data.size]
    made = [
        Group(size, data[start:end].to_pybytes(), group, start)
        for size, group, start, end in zip(sizes, metadata, starts, ends, strict=True)
    ]
    if first == list(range(len(first))):
        return made
    return [_with_copies(group, first, added.column_names) for group in made]


def _first_of_its_kind(added: pa.Table) -> list[int]:
    """For each column the first one that lies at the same place of the memory: mostly itself."""
    known: dict[object, int] = {}
    result = []
    for position, column in enumerate(added.columns):
        lies = tuple(
            (part.offset, len(part), *(None if held is None else held.address for held in part.buffers()))
            for part in column.chunks
        )
        kind = position if pa.types.is_nested(column.type) else (str(column.type), lies)
        result.append(known.setdefault(kind, position))
    return result


def _with_copies(group: Group, first: Sequence[int], names: Sequence[str]) -> Group:
    """A row group with the columns that are the same as one before them: copies of its bytes at the end.

    Where nothing is left out, the processed advantage is the original one: its chunk is made once.
    """
    made = dict(zip(sorted(set(first)), structs(group.metadata, COLUMNS), strict=True))
    columns, pieces = [], [group.body]
    end = group.start + len(group.body)
    for position, name in enumerate(names):
        column = made[first[position]]
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


def written(table: pa.Table, sizes: Sequence[int], look: ChunkFormat) -> tuple[pa.Buffer, Struct]:
    """The first rows of a table as a parquet file with such row groups: all before its footer, and that."""
    sink = pa.BufferOutputStream()
    # Group numbers mostly go up by 0 or 1, and never have few values.
    numbers = [field.name for field in table.schema if pa.types.is_int64(field.type)]
    with pq.ParquetWriter(
        sink,
        table.schema,
        version="2.6",
        compression=look.codec,
        store_schema=False,
        use_dictionary=[name for name in table.column_names if name not in numbers],
        column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
        use_compliant_nested_type=look.compliant,
    ) as writer:
        for start, size in zip(accumulate(sizes, initial=0), sizes, strict=False):
            writer.write_table(table.slice(start, size), row_group_size=size)
    data = sink.getvalue()
    length, _ = TAIL.unpack(data[-TAIL.size :].to_pybytes())
    end = data.size - TAIL.size - length
    return data[:end], thrift.decode(data[end : end + length].to_pybytes(), OPENED)


def move(column: Struct, by: int) -> None:
    """Add to every place in the file that a column chunk names."""
    for holder, names in (
        (column, (CHUNK_OFFSET, OFFSET_INDEX, COLUMN_INDEX)),
        (column[CHUNK][1], (PAGES, INDEX, DICTIONARY, BLOOM)),
    ):
        for name in names:
            if name in holder and number(holder, name):
                add(holder, name, by)


def structs(holder: Struct, name: int) -> list[Struct]:
    """The structs of a list that was opened."""
    result: list[Struct] = holder[name][1]
    return result


def number(holder: Struct, name: int) -> int:
    """The number in a field."""
    return thrift.integer(holder[name][1])


def add(holder: Struct, name: int, by: int) -> None:
    """Add to the number in a field."""
    holder[name] = (holder[name][0], thrift.of_integer(number(holder, name) + by))


def _start(group: Struct) -> int:
    """Where the chunks of a row group begin: with the first page of the first column."""
    chunk = structs(group, COLUMNS)[0][CHUNK][1]
    pages = (number(chunk, name) for name in (DICTIONARY, PAGES) if name in chunk)
    return min(position for position in pages if position)
