"""Reads the metadata of column chunks from a parquet footer without pyarrow.

pyarrow aborts the process when asked for the metadata of a chunk that is encrypted or has damaged statistics.
Here, reading such a column raises an error like any other.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from advcli.io.parquet import thrift
from advcli.io.parquet.thrift import Struct

# Field numbers in parquet.thrift.
_ROW_GROUPS, _COLUMNS, _META, _CRYPTO = 4, 1, 3, 8
_TYPE, _PATH, _CODEC, _VALUES, _PLAIN_SIZE = 1, 3, 4, 5, 6
_COLUMN_KEY, _KEY_PATH = 2, 1
_DECODED: thrift.Wanted = {_ROW_GROUPS: {_COLUMNS: {_META: {}, _CRYPTO: {_COLUMN_KEY: {}}}}}
_PHYSICAL = ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
_CODECS = {0: "none", 1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4"}


class Chunk(NamedTuple):
    """The metadata of a column chunk.

    Attributes:
        path: the column and the fields below it; () if the path itself is encrypted.
        values: the number of values, including nulls.
        size: uncompressed bytes.
        codec: arrow's name of the codec.
        physical: the physical type.
        encrypted: whether it is encrypted.
    """

    path: tuple[str, ...]
    values: int
    size: int
    codec: str
    physical: str
    encrypted: bool


def row_groups(footer: bytes) -> tuple[tuple[Chunk, ...], ...]:
    """The column chunks of each row group.

    Args:
        footer: its bytes, without the signature.

    Raises:
        thrift.UnsupportedFooter: it can't be parsed or lacks a field.
    """
    try:
        result = thrift.decode(footer, _DECODED)
        groups = result[_ROW_GROUPS][1] if _ROW_GROUPS in result else ()
        return tuple(tuple(map(_chunk, group[_COLUMNS][1])) for group in groups)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise thrift.UnsupportedFooter(f"no footer ({error})") from error


def encrypted(groups: Sequence[Sequence[Chunk]]) -> frozenset[str]:
    """The columns with an encrypted chunk; includes "" if the name of one is encrypted too."""
    return frozenset("".join(chunk.path[:1]) for group in groups for chunk in group if chunk.encrypted)


def _chunk(raw: Struct) -> Chunk:
    meta: Struct = raw[_META][1] if _META in raw else {}
    crypto: Struct = raw[_CRYPTO][1] if _CRYPTO in raw else {}
    path: tuple[str, ...] = ()
    if _PATH in meta:
        path = tuple(_texts(meta[_PATH][1]))
    elif _COLUMN_KEY in crypto and _KEY_PATH in crypto[_COLUMN_KEY][1]:
        path = tuple(_texts(crypto[_COLUMN_KEY][1][_KEY_PATH][1]))
    physical = _number(meta, _TYPE)
    return Chunk(
        path,
        _number(meta, _VALUES),
        _number(meta, _PLAIN_SIZE),
        _CODECS.get(_number(meta, _CODEC), "snappy"),
        _PHYSICAL[physical] if 0 <= physical < len(_PHYSICAL) else "",
        _CRYPTO in raw,
    )


def _number(holder: Struct, name: int) -> int:
    return thrift.integer(holder[name][1]) if name in holder else 0


def _texts(listed: bytes) -> Iterator[str]:
    for text in thrift.binaries(listed):
        yield text.decode("utf-8", "backslashreplace")
