"""A parquet file, opened: of many small ones, that takes most of the time."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from advcli.errors import DataError
from advcli.io.sources.remote import random_access
from advcli.records.table import Source

UNREADABLE = (OSError, pa.ArrowException, UnicodeDecodeError, OverflowError)
"""What pyarrow raises for a broken file; a name that is no UTF-8 or a size that is no number are among it."""

# Files of so many bytes are read whole; so many of them are kept open between two looks at them.
_SMALL, _MOST = 1 << 15, 1 << 10
_KEPT: dict[tuple[Path, tuple[int, int]], pq.ParquetFile] = {}


def opened(source: Source, *, again: bool = False) -> pq.ParquetFile:
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
            file = pq.ParquetFile(pa.BufferReader(source.path.read_bytes()), pre_buffer=False)
        elif file is None:
            # Without pre-buffering: it would hold every column chunk of the file at once.
            file = pq.ParquetFile(random_access(source.path), pre_buffer=False, buffer_size=1 << 20)
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
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return DataError(
        f"{source.name}: not a readable parquet file ({reason})", hint="writing or copying it again"
    )
