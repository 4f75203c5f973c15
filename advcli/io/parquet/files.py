"""A parquet file, opened: of many small ones, that takes most of the time."""

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from advcli.common.errors import DataError
from advcli.common.wording import reason, shortened, verb
from advcli.io.parquet.column_chunks import TAIL
from advcli.io.parquet.footer import Chunk, encrypted, row_groups
from advcli.io.sources.remote import random_access
from advcli.records.table import Source

UNREADABLE = (OSError, pa.ArrowException, UnicodeDecodeError, OverflowError)
"""What pyarrow raises for a broken file; a name that is no UTF-8 or a size that is no number are among it."""

# Files of so many bytes are read whole; so many of them are kept open between two looks at them.
_SMALL, _MOST = 1 << 15, 1 << 10
_KEPT: "dict[tuple[Path, tuple[int, int]], File]" = {}


class File(pq.ParquetFile):  # type: ignore[misc]
    """An open file, and what its footer says.

    Args:
        name: what it is called in errors.
        data: arrow's file.
        options: further arguments of pyarrow.
    """

    def __init__(self, name: str, data: Any, **options: Any) -> None:  # noqa: ANN401  arrow's class
        super().__init__(data, pre_buffer=False, **options)
        self.name = name
        self._data = data

    @cached_property
    def chunks(self) -> Sequence[Sequence[Chunk]] | None:
        """The column chunks of each row group; None if unknown."""
        length, _ = self._tail
        try:
            start = self._data.size() - TAIL.size - length
            result = row_groups(self._at(start, self.metadata.serialized_size))
        except (OSError, ValueError):
            return None
        return result if len(result) == self.num_row_groups else None

    @cached_property
    def encrypted(self) -> frozenset[str]:
        """The columns that are encrypted."""
        # A footer that others can read is signed if a column is encrypted. So much is seen without decoding it.
        is_here = isinstance(self._data, pa.OSFile | pa.BufferReader)
        if not is_here or self._tail[0] == self.metadata.serialized_size:
            return frozenset()
        return encrypted(self.chunks or ())

    @cached_property
    def columns(self) -> list[str]:
        """The columns that can be read.

        Raises:
            DataError: there is none.
        """
        names: list[str] = self.schema_arrow.names
        result = [name for name in names if name not in self.encrypted]
        if "" in self.encrypted or (names and not result):
            raise DataError(f"{self.name}: all columns are encrypted", hint="a copy that is not encrypted")
        return result

    @cached_property
    def _tail(self) -> tuple[int, bytes]:
        result: tuple[int, bytes] = TAIL.unpack(self._at(self._data.size() - TAIL.size, TAIL.size))
        return result

    def _at(self, start: int, size: int) -> bytes:
        return bytes(self._data.read_at(size, start))

    def refuse_encrypted(self) -> None:
        """An error if a column is encrypted: no copy can have it.

        Raises:
            DataError: there is one.
        """
        hidden = sorted(self.encrypted - {""})
        if self.encrypted:
            what = (
                f"{verb(len(hidden), 'the column', 'the columns')} {shortened(hidden, 5)}"
                if hidden
                else "a column"
            )
            raise DataError(
                f"{self.name}: {what} {verb(len(hidden), 'is', 'are')} encrypted and cannot be copied",
                hint="a copy that is not encrypted",
            )


def opened(source: Source, *, again: bool = False) -> File:
    """Open a file.

    Args:
        source: a parquet source.
        again: whether it will be opened once more soon: then a small one is kept open until it is.

    Raises:
        DataError: it is no parquet file.
    """
    is_small = 0 < source.stamp[0] <= _SMALL and isinstance(source.path, Path)
    file = _KEPT.pop((source.path, source.stamp), None)
    try:
        if file is None and is_small:
            file = File(source.name, pa.BufferReader(source.path.read_bytes()))
        elif file is None:
            # Without pre-buffering: it would hold every column chunk of the file at once.
            file = File(source.name, random_access(source.path), buffer_size=1 << 20)
    except UNREADABLE as error:
        raise broken(source, error) from error
    if again and is_small and len(_KEPT) < _MOST:
        _KEPT[source.path, source.stamp] = file
    return file


def is_kept(source: Source) -> bool:
    """Whether a file is kept open."""
    return (source.path, source.stamp) in _KEPT


def forget() -> None:
    """Close the files that were kept open and not asked for."""
    _KEPT.clear()


def broken(source: Source, error: Exception) -> DataError:
    """The error for a file that pyarrow cannot read."""
    if isinstance(error, FileNotFoundError | PermissionError):
        return DataError(f"{source.name}: {os.strerror(error.errno or 0).lower()}")
    return DataError(
        f"{source.name}: not a readable parquet file ({reason(error)})", hint="writing or copying it again"
    )
