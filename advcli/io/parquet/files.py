"""Opens parquet files and keeps small ones open: with many small files, opening takes most of the time."""

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
"""What pyarrow raises for a broken file, including one with a name that is not UTF-8 or an invalid size."""

# Files of up to _SMALL bytes are read at once; up to _MOST of them are kept open between two reads.
_SMALL, _MAX_KEPT = 1 << 15, 1 << 10
_kept_open: "dict[tuple[Path, tuple[int, int]], File]" = {}


class File(pq.ParquetFile):  # type: ignore[misc]
    """An open file and its footer.

    Args:
        name: its name in error messages.
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
        # A plaintext footer is signed if a column is encrypted, which shows in its length without decoding it.
        is_local = isinstance(self._data, pa.OSFile | pa.BufferReader)
        if not is_local or self._tail[0] == self.metadata.serialized_size:
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
        """Raise an error if a column is encrypted, because it can't be copied.

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
        again: whether it will be opened again soon; a small file is kept open until then.

    Raises:
        DataError: it is no parquet file.
    """
    is_small = 0 < source.stamp[0] <= _SMALL and isinstance(source.path, Path)
    file = _kept_open.pop((source.path, source.stamp), None)
    try:
        if file is None and is_small:
            file = File(source.name, pa.BufferReader(source.path.read_bytes()))
        elif file is None:
            # No pre-buffering: it would hold every column chunk of the file at once.
            file = File(source.name, random_access(source.path), buffer_size=1 << 20)
    except UNREADABLE as error:
        raise broken(source, error) from error
    if again and is_small and len(_kept_open) < _MAX_KEPT:
        _kept_open[source.path, source.stamp] = file
    return file


def is_kept(source: Source) -> bool:
    """Whether a file is kept open."""
    return (source.path, source.stamp) in _kept_open


def forget() -> None:
    """Close the files that are still kept open."""
    _kept_open.clear()


def broken(source: Source, error: Exception) -> DataError:
    """The error for a file that pyarrow cannot read."""
    if isinstance(error, FileNotFoundError | PermissionError):
        return DataError(f"{source.name}: {os.strerror(error.errno or 0).lower()}")
    return DataError(
        f"{source.name}: not a readable parquet file ({reason(error)})", hint="writing or copying it again"
    )
