"""Appends columns to a parquet file without decoding the existing ones.

A parquet file is a body of column chunks and a footer with the position of each chunk. The body is copied byte by
byte, the chunks of the new columns follow, and a new footer lists both. So no text is decompressed or decoded,
and encodings, pages, statistics and indexes stay as they were.

Unsupported files are declined before anything is written: encrypted, with chunks in other files, with an empty row group,
or with a footer that `thrift` can't parse.

An interrupted copy leaves a hole of zero bytes. If there seems to be one, the whole file is decoded once to check
for damage. Other damage in a column that is not read is copied along.
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
from advcli.io.readahead import readahead
from advcli.records.table import Source

# Above this size, parsing the footer in Python takes longer than rewriting the columns in C++.
_MAX_FOOTER = 4 << 20
_PIECE_BYTES = 4 << 20
# A hole consists of empty blocks; the first _CHECKED bytes of each block are checked.
_BLOCK, _CHECKED = 4096, 64
_ARROW_SCHEMA = b"ARROW:schema"

# Field numbers in parquet.thrift, in addition to those in `column_chunks`.
_SCHEMA, _METADATA, _ORDERS, _ENCRYPTION = 2, 5, 7, 8
_NAME, _CHILDREN = 4, 5
_FILE_PATH, _CRYPTO = 1, 8
# The fields of a footer to decode: its row groups and their chunks.
_DECODED: thrift.Wanted = {ROW_GROUPS: {COLUMNS: {}}}
_CODECS = {0: "none", 1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4"}


def annotate(source: Source, sink: BinaryIO, chunks: Chunks, about: Mapping[str, str]) -> bool:
    """Copy a parquet file with columns appended.

    Args:
        source: a parquet source.
        sink: takes the bytes; need not be seekable.
        chunks: the new columns.
        about: further key-value metadata of the file.

    Returns:
        False if the file is not supported; nothing was written then.

    Raises:
        DataError: the file is damaged.
    """
    with source.path.open("rb") as file:
        result = _footer(file, chunks.schema, tuple(about.items()))
        if result is None:
            return False
        footer, size, compliant = result
        with closing(readahead(_body(source, file, size), threaded=size > _PIECE_BYTES)) as pieces:
            for piece in pieces:
                sink.write(piece)
    groups = structs(footer, ROW_GROUPS)
    # Encode the next chunks while these are written.
    new_chunks = (_new_chunks(group, chunks, compliant=compliant) for group in groups)
    with closing(readahead(new_chunks, threaded=len(groups) > 1)) as encoded:
        for group, new in zip(groups, encoded, strict=True):
            sink.write(new.body)
            _append(group, new, size)
            size += len(new.body)
    text = thrift.encode(footer)
    sink.write(text + TAIL.pack(len(text), MAGIC))
    return True


def _body(source: Source, file: BinaryIO, size: int) -> Iterator[bytes]:
    """The bytes before the footer, piece by piece."""
    file.seek(0)
    verified = False
    while remaining := size - file.tell():
        piece = file.read(min(remaining, _PIECE_BYTES))
        if not piece:
            raise jsonl.changed(source)
        if not verified and _has_hole(piece):
            parquet.decode(source)
            verified = True
        yield piece


def _footer(
    file: BinaryIO, added: pa.Schema, about: tuple[tuple[str, str], ...]
) -> tuple[Struct, int, bool] | None:
    """The footer of a file, with the new columns and metadata in its schema; None if the file is not supported.

    Returns:
        The footer; its offset in the file; whether the lists of the file hold an "element".
    """
    end = file.seek(-TAIL.size, 2)
    length, magic = TAIL.unpack(file.read(TAIL.size))
    if magic != MAGIC or not 0 < length <= min(_MAX_FOOTER, end - len(MAGIC)):
        return None
    start = file.seek(end - length)
    try:
        footer = thrift.decode(file.read(length), _DECODED)
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
        CHUNK in chunk and _FILE_PATH not in chunk and _CRYPTO not in chunk for chunk in chunks
    )


def _has_hole(piece: bytes) -> bool:
    """Whether a file system block seems to be empty: its first bytes are zero."""
    if len(piece) < _BLOCK:
        return False
    blocks = np.frombuffer(piece, np.uint8, len(piece) // _BLOCK * _BLOCK).reshape(-1, _BLOCK)
    return bool((~blocks[:, :_CHECKED].any(axis=1)).any())


@lru_cache(maxsize=8)
def _with_columns(
    lists: tuple[tuple[int, bytes], ...], added: pa.Schema, metadata: tuple[tuple[str, str], ...]
) -> tuple[dict[int, bytes], bool]:
    """The schema and metadata lists of a footer, with columns and metadata added; cached, as many files share them.

    Args:
        lists: the footer's lists of columns, metadata and column orders, as far as present.
        added: the new columns.
        metadata: the new metadata.

    Returns:
        The extended lists, which must not be modified; whether lists hold an "element".
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
    own = {name.encode(): value.encode() for name, value in metadata}
    entries = thrift.decode_list(result[_METADATA], {}) if _METADATA in result else []
    pairs = [_pair_of(entry) for entry in entries]
    pairs = [
        (key, _with_fields(value, added, own) if key == _ARROW_SCHEMA else value) for key, value in pairs
    ]
    pairs = [(key, value) for key, value in pairs if key not in own] + list(own.items())
    result[_METADATA] = thrift.encode_list([_pair(key, value) for key, value in pairs])
    return result, compliant


def _with_fields(stored: bytes | None, added: pa.Schema, about: Mapping[bytes, bytes]) -> bytes:
    """The arrow schema stored in a footer, with columns and metadata added."""
    known = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(stored or b"")))
    schema = pa.schema([*known, *added], metadata={**(known.metadata or {}), **about})
    return base64.b64encode(schema.serialize().to_pybytes())


def _append(group: Struct, new: Group, offset: int) -> None:
    """Add the chunks of the new columns to a row group; `offset` is their position in the file."""
    columns = structs(new.metadata, COLUMNS)
    for column in columns:
        move(column, offset - new.start)
    structs(group, COLUMNS).extend(columns)
    for name in (BYTES, COMPRESSED):
        if name in group:
            add(group, name, number(new.metadata, name))


def _new_chunks(group: Struct, chunks: Chunks, *, compliant: bool) -> Group:
    """The chunks of the new columns for a row group, compressed like its first column."""
    return chunks(number(group, GROUP_ROWS), ChunkFormat(_codec(group), compliant))


def _codec(group: Struct) -> str:
    """The codec of the first column of a row group."""
    meta = thrift.decode(structs(group, COLUMNS)[0][CHUNK][1], {})
    return _CODECS.get(number(meta, CODEC), "snappy")


def _pair_of(entry: Struct) -> tuple[bytes, bytes | None]:
    return thrift.binary(entry[1][1]), thrift.binary(entry[2][1]) if 2 in entry else None


def _pair(key: bytes, value: bytes | None) -> Struct:
    fields = {1: key} if value is None else {1: key, 2: value}
    return {name: (thrift.BINARY, thrift.of_binary(text)) for name, text in fields.items()}
