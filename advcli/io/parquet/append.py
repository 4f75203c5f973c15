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
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import lru_cache
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from advcli.io.jsonl import read as jsonl
from advcli.io.parquet import read as parquet
from advcli.io.parquet import thrift
from advcli.io.parquet.column_chunks import (
    BYTES,
    CHUNK,
    CODEC,
    COLUMNS,
    COMPRESSED,
    GROUP_ROWS,
    MAGIC,
    ROW_GROUPS,
    TAIL,
    ChunkFormat,
    Chunks,
    Group,
    add,
    move,
    number,
    structs,
    written,
)
from advcli.io.parquet.thrift import Struct
from advcli.io.readahead import beside
from advcli.records.table import Source

# A longer footer takes longer to go through in Python than the columns do in C++.
_LONGEST = 4 << 20
_PIECE = 4 << 20
# A hole is a number of empty blocks; so many bytes of a block are looked at.
_BLOCK, _LOOK = 4096, 64
_ARROW_SCHEMA = b"ARROW:schema"

# Numbers of fields in parquet.thrift, beside those of `chunks`.
_SCHEMA, _METADATA, _ORDERS, _ENCRYPTION = 2, 5, 7, 8
_NAME, _CHILDREN = 4, 5
_ELSEWHERE, _CRYPTO = 1, 8
# What is opened of a footer: its row groups, and their chunks.
_OPENED: thrift.Wanted = {ROW_GROUPS: {COLUMNS: {}}}
_CODECS = {0: "none", 1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4"}


def annotate(source: Source, sink: BinaryIO, chunks: Chunks, about: Mapping[str, str]) -> bool:
    """Copy a parquet file with columns appended.

    Args:
        source: a parquet source.
        sink: takes the bytes; need not be seekable.
        chunks: the new columns.
        about: further key-value metadata of the file.

    Returns:
        False if this file has to be copied in another way; nothing was written then.

    Raises:
        DataError: the file is damaged.
    """
    with source.path.open("rb") as file:
        result = _footer(file, chunks.schema, tuple(about.items()))
        if result is None:
            return False
        footer, size, compliant = result
        with closing(beside(_body(source, file, size), apart=size > _PIECE)) as pieces:
            for piece in pieces:
                sink.write(piece)
    groups = structs(footer, ROW_GROUPS)
    # The next chunks are made while these are written.
    new_chunks = (_new_chunks(group, chunks, compliant=compliant) for group in groups)
    with closing(beside(new_chunks, apart=len(groups) > 1)) as made:
        for group, new in zip(groups, made, strict=True):
            sink.write(new.body)
            _append(group, new, size)
            size += len(new.body)
    text = thrift.encode(footer)
    sink.write(text + TAIL.pack(len(text), MAGIC))
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
    end = file.seek(-TAIL.size, 2)
    length, magic = TAIL.unpack(file.read(TAIL.size))
    if magic != MAGIC or not 0 < length <= min(_LONGEST, end - len(MAGIC)):
        return None
    start = file.seek(end - length)
    try:
        footer = thrift.decode(file.read(length), _OPENED)
        if not _is_simple(footer):
            return None
        lists = {name: footer[name][1] for name in (_SCHEMA, _METADATA, _ORDERS) if name in footer}
        lists, compliant = _with_columns(tuple(lists.items()), added, about)
    except (KeyError, TypeError, IndexError, ValueError):
        return None
    footer |= {name: (thrift.LIST, value) for name, value in lists.items()}
    return dict(sorted(footer.items())), start, compliant


def _is_simple(footer: Struct) -> bool:
    if _ENCRYPTION in footer:
        return False
    groups = structs(footer, ROW_GROUPS)
    chunks = [chunk for group in groups for chunk in structs(group, COLUMNS)]
    return all(number(group, GROUP_ROWS) > 0 and _codec(group) for group in groups) and all(
        CHUNK in chunk and _ELSEWHERE not in chunk and _CRYPTO not in chunk for chunk in chunks
    )


def _has_hole(piece: bytes) -> bool:
    """Whether a block of a file system is empty, going by its beginning."""
    if len(piece) < _BLOCK:
        return False
    blocks = np.frombuffer(piece, np.uint8, len(piece) // _BLOCK * _BLOCK).reshape(-1, _BLOCK)
    return bool((~blocks[:, :_LOOK].any(axis=1)).any())


@lru_cache(maxsize=8)
def _with_columns(
    lists: tuple[tuple[int, bytes], ...], added: pa.Schema, about: tuple[tuple[str, str], ...]
) -> tuple[dict[int, bytes], bool]:
    """What a footer says of all row groups, with more columns and metadata; of many files it is the same.

    Args:
        lists: its lists of columns, of metadata and of orders, as far as they are there.
        added: the new columns.
        about: the new metadata.

    Returns:
        The same lists with the new ones in them, which nobody changes; whether lists hold an "element".
    """
    result = dict(lists)
    schema = thrift.decode_list(result[_SCHEMA], {})
    compliant = not any(thrift.binary(element[_NAME][1]) == b"item" for element in schema)
    _, new = written(added.empty_table(), (), ChunkFormat("none", compliant))
    schema[0][_CHILDREN] = (thrift.I32, thrift.of_integer(number(schema[0], _CHILDREN) + len(added)))
    schema += thrift.decode_list(new[_SCHEMA][1], {})[1:]
    result[_SCHEMA] = thrift.encode_list(schema)
    if _ORDERS in result:
        orders = thrift.decode_list(result[_ORDERS], {}) + thrift.decode_list(new[_ORDERS][1], {})
        result[_ORDERS] = thrift.encode_list(orders)
    mine = {name.encode(): value.encode() for name, value in about}
    entries = thrift.decode_list(result[_METADATA], {}) if _METADATA in result else []
    pairs = [_pair_of(entry) for entry in entries]
    pairs = [
        (key, _with_fields(value, added, mine) if key == _ARROW_SCHEMA else value) for key, value in pairs
    ]
    pairs = [(key, value) for key, value in pairs if key not in mine] + list(mine.items())
    result[_METADATA] = thrift.encode_list([_pair(key, value) for key, value in pairs])
    return result, compliant


def _with_fields(stored: bytes | None, added: pa.Schema, about: Mapping[bytes, bytes]) -> bytes:
    """The arrow schema that a footer holds, with more columns and metadata."""
    known = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(stored or b"")))
    schema = pa.schema([*known, *added], metadata={**(known.metadata or {}), **about})
    return base64.b64encode(schema.serialize().to_pybytes())


def _append(group: Struct, new: Group, at: int) -> None:
    """Name the chunks of the new columns in a row group; they begin at a place in the file."""
    columns = structs(new.metadata, COLUMNS)
    for column in columns:
        move(column, at - new.start)
    structs(group, COLUMNS).extend(columns)
    for name in (BYTES, COMPRESSED):
        if name in group:
            add(group, name, number(new.metadata, name))


def _new_chunks(group: Struct, chunks: Chunks, *, compliant: bool) -> Group:
    """The chunks of the new columns for a row group, with the codec of its first column."""
    return chunks(number(group, GROUP_ROWS), ChunkFormat(_codec(group), compliant))


def _codec(group: Struct) -> str:
    """The codec of the first column of a row group."""
    meta = thrift.decode(structs(group, COLUMNS)[0][CHUNK][1], {})
    return _CODECS.get(number(meta, CODEC), "snappy")


def _pair_of(entry: Struct) -> tuple[bytes, bytes | None]:
    return thrift.binary(entry[1][1]), thrift.binary(entry[2][1]) if 2 in entry else None


def _pair(key: bytes, value: bytes | None) -> Struct:
    given = {1: key} if value is None else {1: key, 2: value}
    return {name: (thrift.BINARY, thrift.of_binary(text)) for name, text in given.items()}
