"""Columns appended to a parquet file without reading the others.

A parquet file is a body of column chunks and a footer that says where each of them lies. The body is copied byte by
byte, the chunks of the new columns follow it, and a footer is written that names both. So a text is neither
decompressed nor decoded, and what a file holds (encodings, pages, statistics, indexes) stays what it was.

It steps aside, before anything is written, where a file is not as simple as that: encrypted, with chunks in other
files, with an empty row group, or with a footer that `thrift` does not know.

What a torn copy leaves is a hole of zero bytes. Where there seems to be one, the whole file is decoded once, to see whether
it is damage. Other damage in a column that is not read is copied with the rest.
"""

import base64
import struct
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import lru_cache
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from advcli.io import jsonl, parquet, thrift
from advcli.io.beside import beside
from advcli.io.slices import Slices
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
_CODEC, _PAGES, _INDEX, _DICTIONARY, _BLOOM = 4, 9, 10, 11, 14
# What is opened of a footer: its row groups, their chunks, and what these say of themselves.
_OPENED: thrift.Wanted = {_ROW_GROUPS: {_COLUMNS: {_CHUNK: {}}}}
_CODECS = {0: "none", 1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4"}


def annotate(source: Source, sink: BinaryIO, slices: Slices, about: Mapping[str, str]) -> bool:
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
        found = _footer(file, slices.schema, tuple(about.items()))
        if found is None:
            return False
        footer, size, compliant = found
        with closing(beside(_body(source, file, size), apart=size > _PIECE)) as pieces:
            for piece in pieces:
                sink.write(piece)
    groups = _structs(footer, _ROW_GROUPS)
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


def _footer(
    file: BinaryIO, added: pa.Schema, about: tuple[tuple[str, str], ...]
) -> tuple[Struct, int, bool] | None:
    """The footer of a file, with the new columns and metadata in its schema; None if this is not for us.

    Returns:
        The footer; where it begins in the file; whether the lists of the file hold an "element".
    """
    end = file.seek(-_TAIL.size, 2)
    length, magic = _TAIL.unpack(file.read(_TAIL.size))
    if magic != _MAGIC or not 0 < length <= min(_LONGEST, end - len(_MAGIC)):
        return None
    start = file.seek(end - length)
    try:
        footer = thrift.decode(file.read(length), _OPENED)
        if not _is_simple(footer):
            return None
        told = {name: footer[name][1] for name in (_SCHEMA, _METADATA, _ORDERS) if name in footer}
        told, compliant = _with_columns(tuple(told.items()), added, about)
    except (KeyError, TypeError, IndexError, ValueError):
        return None
    footer |= {name: (thrift.LIST, value) for name, value in told.items()}
    return dict(sorted(footer.items())), start, compliant


def _is_simple(footer: Struct) -> bool:
    if _ENCRYPTION in footer:
        return False
    groups = _structs(footer, _ROW_GROUPS)
    chunks = [chunk for group in groups for chunk in _structs(group, _COLUMNS)]
    return all(_number(group, _GROUP_ROWS) > 0 and _structs(group, _COLUMNS) for group in groups) and not any(
        _ELSEWHERE in chunk or _CRYPTO in chunk or _CODEC not in chunk[_CHUNK][1] for chunk in chunks
    )


def _has_hole(piece: bytes) -> bool:
    """Whether a block of a file system is empty, going by its beginning."""
    if len(piece) < _BLOCK:
        return False
    blocks = np.frombuffer(piece, np.uint8, len(piece) // _BLOCK * _BLOCK).reshape(-1, _BLOCK)
    return bool((~blocks[:, :_LOOK].any(axis=1)).any())


@lru_cache(maxsize=8)
def _with_columns(
    told: tuple[tuple[int, bytes], ...], added: pa.Schema, about: tuple[tuple[str, str], ...]
) -> tuple[dict[int, bytes], bool]:
    """What a footer says of all row groups, with more columns and metadata; of many files it is the same.

    Args:
        told: its lists of columns, of metadata and of orders, as far as they are there.
        added: the new columns.
        about: the new metadata.

    Returns:
        The same lists with the new ones in them, which nobody changes; whether lists hold an "element".
    """
    found = dict(told)
    schema = thrift.decode_list(found[_SCHEMA], {})
    compliant = not any(thrift.binary(element[_NAME][1]) == b"item" for element in schema)
    new = _written(added.empty_table(), "none", compliant=compliant)[1]
    schema[0][_CHILDREN] = (thrift.I32, thrift.of_integer(_number(schema[0], _CHILDREN) + len(added)))
    schema += thrift.decode_list(new[_SCHEMA][1], {})[1:]
    found[_SCHEMA] = thrift.encode_list(schema)
    if _ORDERS in found:
        orders = thrift.decode_list(found[_ORDERS], {}) + thrift.decode_list(new[_ORDERS][1], {})
        found[_ORDERS] = thrift.encode_list(orders)
    mine = {name.encode(): value.encode() for name, value in about}
    entries = thrift.decode_list(found[_METADATA], {}) if _METADATA in found else []
    pairs = [_pair_of(entry) for entry in entries]
    pairs = [
        (key, _with_fields(value, added, mine) if key == _ARROW_SCHEMA else value) for key, value in pairs
    ]
    pairs = [(key, value) for key, value in pairs if key not in mine] + list(mine.items())
    found[_METADATA] = thrift.encode_list([_pair(key, value) for key, value in pairs])
    return found, compliant


def _with_fields(stored: bytes | None, added: pa.Schema, about: Mapping[bytes, bytes]) -> bytes:
    """The arrow schema that a footer holds, with more columns and metadata."""
    known = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(stored or b"")))
    schema = pa.schema([*known, *added], metadata={**(known.metadata or {}), **about})
    return base64.b64encode(schema.serialize().to_pybytes())


def _append(group: Struct, new: Struct, by: int) -> None:
    """Name the chunks of the new columns in a row group; they lie `by` bytes farther."""
    columns = _structs(new, _COLUMNS)
    for column in columns:
        _move(column, by)
    _structs(group, _COLUMNS).extend(columns)
    for name in (_BYTES, _COMPRESSED):
        if name in group:
            _add(group, name, _number(new, name))


def _new_chunks(group: Struct, slices: Slices, *, compliant: bool) -> tuple[bytes, Struct]:
    """The chunks of the new columns for a row group, with the codec of its first column.

    Returns:
        Their bytes, and what a footer says about them as if they began at 4.
    """
    codec = _CODECS.get(_number(_structs(group, _COLUMNS)[0][_CHUNK][1], _CODEC), "snappy")
    batch = slices(_number(group, _GROUP_ROWS))
    body, footer = _written(pa.Table.from_batches([batch]), codec, compliant=compliant)
    return body, _structs(footer, _ROW_GROUPS)[0]


def _written(table: pa.Table, codec: str, *, compliant: bool) -> tuple[bytes, Struct]:
    """A table as parquet: its body without the magic, and its footer; `compliant` if lists hold an "element"."""
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        version="2.6",
        compression=codec,
        store_schema=False,
        row_group_size=max(1, len(table)),
        use_compliant_nested_type=compliant,
    )
    data = sink.getvalue()
    length, _ = _TAIL.unpack(data[-_TAIL.size :].to_pybytes())
    end = data.size - _TAIL.size - length
    footer = thrift.decode(data[end : end + length].to_pybytes(), _OPENED)
    return data[len(_MAGIC) : end].to_pybytes(), footer


def _move(column: Struct, by: int) -> None:
    """Add to every place in the file that a column chunk names."""
    for holder, names in (
        (column, (_CHUNK_OFFSET, _OFFSET_INDEX, _COLUMN_INDEX)),
        (column[_CHUNK][1], (_PAGES, _INDEX, _DICTIONARY, _BLOOM)),
    ):
        for name in names:
            if name in holder and _number(holder, name):
                _add(holder, name, by)


def _structs(holder: Struct, name: int) -> list[Struct]:
    """The structs of a list that was opened."""
    found: list[Struct] = holder[name][1]
    return found


def _number(holder: Struct, name: int) -> int:
    return thrift.integer(holder[name][1])


def _add(holder: Struct, name: int, by: int) -> None:
    holder[name] = (holder[name][0], thrift.of_integer(_number(holder, name) + by))


def _pair_of(entry: Struct) -> tuple[bytes, bytes | None]:
    return thrift.binary(entry[1][1]), thrift.binary(entry[2][1]) if 2 in entry else None


def _pair(key: bytes, value: bytes | None) -> Struct:
    given = {1: key} if value is None else {1: key, 2: value}
    return {name: (thrift.BINARY, thrift.of_binary(text)) for name, text in given.items()}
