"""Columns appended to a parquet file without reading the others.

A parquet file is a body of column chunks and a footer that says where each of them lies. The body is copied byte by
byte, the chunks of the new columns follow it, and a footer is written that names both. So a text is neither
decompressed nor decoded, and what a file holds (encodings, pages, statistics, indexes) stays what it was.

It steps aside, before anything is written, where a file is not as simple as that: encrypted, with chunks in other
files, with an empty row group, or with a footer that does not come out of `thrift` byte by byte as it went in.

What a torn copy leaves is a hole of zero bytes. Where there seems to be one, the whole file is decoded once, to see whether
it is damage. Other damage in a column that is not read is copied with the rest.
"""

import base64
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from copy import deepcopy
from functools import lru_cache
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from advcli.io import jsonl, parquet, thrift
from advcli.io.beside import beside
from advcli.io.thrift import Struct
from advcli.records.table import Source

_MAGIC = b"PAR1"
_TAIL = struct.Struct("<I4s")
# A longer footer takes longer to go through in Python than the columns do in C++.
_LONGEST = 4 << 20
_PIECE = 4 << 20
# A hole is a number of empty blocks; so many bytes of a block are looked at.
_BLOCK, _LOOK = 4096, 64
_ARROW_SCHEMA = b"ARROW:schema"

# Numbers of fields in parquet.thrift.
_SCHEMA, _ROWS, _ROW_GROUPS, _METADATA, _ORDERS, _ENCRYPTION = 2, 3, 4, 5, 7, 8
_NAME, _CHILDREN = 4, 5
_COLUMNS, _BYTES, _GROUP_ROWS, _COMPRESSED = 1, 2, 3, 6
_ELSEWHERE, _CHUNK_OFFSET, _CHUNK, _OFFSET_INDEX, _COLUMN_INDEX, _CRYPTO = 1, 2, 3, 4, 6, 8
_PATH, _CODEC, _PLAIN_SIZE, _CHUNK_SIZE = 3, 4, 6, 7
_PAGES, _INDEX, _DICTIONARY, _BLOOM = 9, 10, 11, 14
_CODECS = {0: "none", 1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4"}


def annotate(
    source: Source, sink: BinaryIO, slices: Callable[[int], pa.RecordBatch], about: Mapping[str, str]
) -> bool:
    """Copy a parquet file with columns appended.

    Args:
        source: a parquet source.
        sink: takes the bytes; need not be seekable.
        slices: called with a number of rows, gives the new columns of the next rows.
        about: further key-value metadata of the file.

    Returns:
        False if this file has to be copied in another way; nothing was written then.

    Raises:
        DataError: the file is damaged.
    """
    with source.path.open("rb") as file:
        found = _footer(file)
        if found is None:
            return False
        footer, size = found
        with closing(beside(_body(source, file, size), apart=size > _PIECE)) as pieces:
            for piece in pieces:
                sink.write(piece)
    compliant = not any(element[_NAME][1] == b"item" for element in _items(footer, _SCHEMA))
    _add_schema(footer, slices(0).schema, about, compliant=compliant)
    groups = _items(footer, _ROW_GROUPS)
    # The next chunks are made while these are written.
    chunks = (_new_chunks(group, slices, compliant=compliant) for group in groups)
    with closing(beside(chunks, apart=len(groups) > 1)) as made:
        for group, (body, new) in zip(groups, made, strict=True):
            sink.write(body)
            _append(group, new, by=size - len(_MAGIC))
            size += len(body)
    text = thrift.encode(footer)
    sink.write(text + _TAIL.pack(len(text), _MAGIC))
    return True


def _body(source: Source, file: BinaryIO, size: int) -> Iterator[bytes]:
    """What comes before the footer, piece by piece."""
    file.seek(0)
    sound = False
    while left := size - file.tell():
        piece = file.read(min(left, _PIECE))
        if not piece:
            raise jsonl.changed(source)
        if not sound and _has_hole(piece):
            parquet.decode(source)
            sound = True
        yield piece


def _footer(file: BinaryIO) -> tuple[Struct, int] | None:
    """The footer of a file and where it begins; None if this is not for us."""
    end = file.seek(-_TAIL.size, 2)
    length, magic = _TAIL.unpack(file.read(_TAIL.size))
    if magic != _MAGIC or not 0 < length <= min(_LONGEST, end - len(_MAGIC)):
        return None
    start = file.seek(end - length)
    text = file.read(length)
    try:
        footer = thrift.decode(text)
        simple = thrift.encode(footer) == text and _is_simple(footer)
    except (thrift.Unknown, KeyError, TypeError, IndexError, ValueError):
        return None
    return (footer, start) if simple else None


def _is_simple(footer: Struct) -> bool:
    if _ENCRYPTION in footer:
        return False
    groups = _items(footer, _ROW_GROUPS)
    chunks = [chunk for group in groups for chunk in _items(group, _COLUMNS)]
    return all(group[_GROUP_ROWS][1] > 0 and _items(group, _COLUMNS) for group in groups) and not any(
        _ELSEWHERE in chunk or _CRYPTO in chunk or _CODEC not in chunk[_CHUNK][1] for chunk in chunks
    )


def _has_hole(piece: bytes) -> bool:
    """Whether a block of a file system is empty, going by its beginning."""
    blocks = np.frombuffer(piece, np.uint8, len(piece) // _BLOCK * _BLOCK).reshape(-1, _BLOCK)
    return bool((~blocks[:, :_LOOK].any(axis=1)).any())


def _add_schema(footer: Struct, added: pa.Schema, about: Mapping[str, str], *, compliant: bool) -> None:
    """Name the new columns and the metadata in a footer."""
    new = _footer_of(added, compliant=compliant)
    schema = _items(footer, _SCHEMA)
    schema[0][_CHILDREN] = (thrift.I32, schema[0][_CHILDREN][1] + len(added))
    schema += _items(new, _SCHEMA)[1:]
    if _ORDERS in footer:
        _items(footer, _ORDERS).extend(_items(new, _ORDERS))
    told = {name.encode(): value.encode() for name, value in about.items()}
    pairs = [_pair_of(pair) for pair in _items(footer, _METADATA)] if _METADATA in footer else []
    pairs = [
        (key, _with_columns(value, added, told) if key == _ARROW_SCHEMA else value) for key, value in pairs
    ]
    pairs = [(key, value) for key, value in pairs if key not in told] + list(told.items())
    entries = [_pair(key, value) for key, value in pairs]
    footer[_METADATA] = (thrift.LIST, (thrift.STRUCT, entries))
    ordered = sorted(footer.items())
    footer.clear()
    footer.update(ordered)


@lru_cache(maxsize=4)
def _footer_of(added: pa.Schema, *, compliant: bool) -> Struct:
    """The footer of a file with the new columns and no row; of many files it is the same, and nobody changes it."""
    return _written(added.empty_table(), "none", compliant=compliant)[1]


def _with_columns(stored: bytes | None, added: pa.Schema, told: Mapping[bytes, bytes]) -> bytes:
    """The arrow schema that a footer holds, with more columns and metadata."""
    known = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(stored or b"")))
    schema = pa.schema([*known, *added], metadata={**(known.metadata or {}), **told})
    return base64.b64encode(schema.serialize().to_pybytes())


def _append(group: Struct, new: Struct, by: int) -> None:
    """Name the chunks of the new columns in a row group; they lie `by` bytes farther."""
    columns = _items(new, _COLUMNS)
    for column in columns:
        _move(column, by)
    _items(group, _COLUMNS).extend(columns)
    for name in (_BYTES, _COMPRESSED):
        if name in group:
            group[name] = (group[name][0], group[name][1] + new[name][1])


def _new_chunks(
    group: Struct, slices: Callable[[int], pa.RecordBatch], *, compliant: bool
) -> tuple[bytes, Struct]:
    """The chunks of the new columns for a row group, with the codec of its first column."""
    codec = _CODECS.get(_items(group, _COLUMNS)[0][_CHUNK][1][_CODEC][1], "snappy")
    return _chunks(slices(group[_GROUP_ROWS][1]), codec, compliant=compliant)


def _chunks(batch: pa.RecordBatch, codec: str, *, compliant: bool) -> tuple[bytes, Struct]:
    """The column chunks of one row group, and what a footer says about them as if they began at 4.

    Where nothing is left out, the processed advantage is the original one: its chunk is made once.
    """
    first = _first_of_its_kind(batch)
    table = pa.Table.from_batches([batch]).select(sorted(set(first)))
    body, footer = _written(table, codec, compliant=compliant)
    group = _items(footer, _ROW_GROUPS)[0]
    return _with_copies(body, group, first, batch.schema.names)


def _first_of_its_kind(batch: pa.RecordBatch) -> list[int]:
    """For each column the first one that lies at the same place of the memory: mostly itself."""
    known: dict[object, int] = {}
    found = []
    for place, column in enumerate(batch.columns):
        lies = tuple(None if part is None else part.address for part in column.buffers())
        kind = place if pa.types.is_nested(column.type) else (str(column.type), column.offset, lies)
        found.append(known.setdefault(kind, place))
    return found


def _with_copies(body: bytes, group: Struct, first: list[int], names: list[str]) -> tuple[bytes, Struct]:
    """A row group with the columns that are the same as one before them: copies of its bytes at the end."""
    if first == list(range(len(first))):
        return body, group
    made = dict(zip(sorted(set(first)), _items(group, _COLUMNS), strict=True))
    columns, pieces, end = [], [body], len(_MAGIC) + len(body)
    for place, name in enumerate(names):
        column = made[first[place]]
        if first[place] != place:
            column = deepcopy(column)
            chunk = column[_CHUNK][1]
            start = min(chunk[field][1] for field in (_PAGES, _DICTIONARY) if field in chunk)
            length = chunk[_CHUNK_SIZE][1]
            pieces.append(body[start - len(_MAGIC) : start - len(_MAGIC) + length])
            chunk[_PATH] = (thrift.LIST, (thrift.BINARY, [name.encode()]))
            _move(column, by=end - start)
            end += length
            for total, own in ((_BYTES, _PLAIN_SIZE), (_COMPRESSED, _CHUNK_SIZE)):
                group[total] = (group[total][0], group[total][1] + chunk[own][1])
        columns.append(column)
    _items(group, _COLUMNS)[:] = columns
    return b"".join(pieces), group


def _written(table: pa.Table, codec: str, *, compliant: bool) -> tuple[bytes, Struct]:
    """A table as parquet: its body without the magic, and its footer; `compliant` if lists hold an "element"."""
    sink = pa.BufferOutputStream()
    # Group numbers mostly go up by 0 or 1, and never have few values.
    numbers = [field.name for field in table.schema if pa.types.is_int64(field.type)]
    pq.write_table(
        table,
        sink,
        version="2.6",
        compression=codec,
        store_schema=False,
        use_dictionary=[name for name in table.column_names if name not in numbers],
        column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
        row_group_size=max(1, len(table)),
        use_compliant_nested_type=compliant,
    )
    data = sink.getvalue()
    length, _ = _TAIL.unpack(data[-_TAIL.size :].to_pybytes())
    end = data.size - _TAIL.size - length
    return data[len(_MAGIC) : end].to_pybytes(), thrift.decode(data[end : end + length].to_pybytes())


def _move(column: Struct, by: int) -> None:
    """Add to every place in the file that a column chunk names."""
    for holder, names in (
        (column, (_CHUNK_OFFSET, _OFFSET_INDEX, _COLUMN_INDEX)),
        (column[_CHUNK][1], (_PAGES, _INDEX, _DICTIONARY, _BLOOM)),
    ):
        for name in names:
            if name in holder and holder[name][1]:
                holder[name] = (holder[name][0], holder[name][1] + by)


def _items(holder: Struct, name: int) -> list[Any]:
    items: list[Any] = holder[name][1][1]
    return items


def _pair_of(entry: Struct) -> tuple[bytes, bytes | None]:
    return entry[1][1], entry[2][1] if 2 in entry else None


def _pair(key: bytes, value: bytes | None) -> Struct:
    return {1: (thrift.BINARY, key)} | ({} if value is None else {2: (thrift.BINARY, value)})
