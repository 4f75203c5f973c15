"""Parquet: read a few columns of every row group, and stream the rest through with columns appended."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from advcli.errors import DataError
from advcli.io.batch import BadRows, Batch
from advcli.io.jsonl import already_there
from advcli.io.values import kind_of_type
from advcli.records import Source

# Bytes of column data in one batch: what bounds the memory, however long the texts are.
_BATCH_BYTES = 32 << 20
_MAX_ROWS = 1 << 16
_PROBE = 64
_CODECS = {"SNAPPY", "GZIP", "BROTLI", "ZSTD", "LZ4", "NONE"}


def kinds(source: Source) -> dict[str, str]:
    """The columns and what they hold.

    Raises:
        DataError: no parquet file, or two columns of one name.
    """
    names = [field.name for field in _opened(source).schema_arrow]
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise DataError(f"{source.name}: the column {', '.join(twice)} is there twice, expected unique names")
    return {field.name: kind_of_type(field.type) for field in _opened(source).schema_arrow}


def scan(
    source: Source,
    columns: Collection[str],
    *,
    refused: Collection[str],
    bad_rows: BadRows,
    dropped: set[int],
) -> Iterator[Batch]:
    """Read some columns of every row; a column that the file lacks is null.

    Args:
        source: a parquet source.
        columns: the columns.
        refused: names that the file may not have, because they would be written.
        bad_rows: not used: parquet has no broken rows.
        dropped: not used.

    Yields:
        Batches of arrow arrays.

    Raises:
        DataError: the file is broken or has a refused column.
    """
    del bad_rows, dropped
    file = _opened(source)
    names = set(file.schema_arrow.names)
    if names & set(refused):
        raise already_there(source.name, sorted(names & set(refused)))
    done = 0
    for batch in _batches(file, source, [name for name in columns if name in names]):
        cells = {
            name: batch.column(name) if name in names else pa.nulls(batch.num_rows, pa.float64())
            for name in columns
        }
        yield Batch(source.name, cells, np.arange(done + 1, done + batch.num_rows + 1))
        done += batch.num_rows


def annotate(
    source: Source, sink: BinaryIO, slices: Callable[[int], pa.RecordBatch], about: Mapping[str, str]
) -> None:
    """Copy a parquet file with columns appended.

    Columns, types, nested values, dictionaries, schema and field metadata, codecs and the size of the row
    groups are those of the source.

    Args:
        source: a parquet source.
        sink: takes the bytes; need not be seekable.
        slices: called with a number of rows, gives the new columns of the next rows.
        about: further key-value metadata of the file.
    """
    file = _opened(source)
    added = slices(0).schema
    schema = pa.schema([*file.schema_arrow, *added], metadata={**(file.schema_arrow.metadata or {}), **about})
    with pq.ParquetWriter(sink, schema, **_written_like(file, added.names)) as writer:
        for group in range(file.num_row_groups):
            # Asked to be as long as the group, the writer closes its row group where the source does.
            rows = max(1, file.metadata.row_group(group).num_rows)
            for batch in _batches(file, source, None, row_groups=[group]):
                columns = [*batch.columns, *slices(batch.num_rows).columns]
                writer.write_batch(pa.record_batch(columns, schema=schema), row_group_size=rows)


def objects(source: Source) -> Iterator[pa.RecordBatch]:
    """All columns, batch by batch, for writing another format."""
    return _batches(_opened(source), source, None)


def rows_at(source: Source, wanted: Collection[int]) -> Iterator[tuple[int, dict[str, object]]]:
    """Some rows with all their columns; row groups without such a row are not read.

    Args:
        source: a parquet source.
        wanted: numbers of the rows, counted from 1.

    Yields:
        Number and columns of each, in file order.
    """
    file = _opened(source)
    done = 0
    places = np.array(sorted(wanted), dtype=np.int64) - 1
    for group in range(file.num_row_groups):
        end = done + file.metadata.row_group(group).num_rows
        if not ((places >= done) & (places < end)).any():
            done = end
            continue
        for batch in _batches(file, source, None, row_groups=[group]):
            here = places[(places >= done) & (places < done + batch.num_rows)]
            for place, row in zip(here.tolist(), batch.take(pa.array(here - done)).to_pylist(), strict=True):
                yield place + 1, row
            done += batch.num_rows


def to_metadata(prefix: str, settings: Mapping[str, object]) -> dict[str, str]:
    """The settings as key-value metadata of a parquet file, one key per prefix."""
    return {f"advcli/{prefix}": json.dumps(settings, allow_nan=False)}


def _opened(source: Source) -> pq.ParquetFile:
    try:
        # Without pre-buffering: it would hold every column chunk of the file at once.
        return pq.ParquetFile(source.path, pre_buffer=False, buffer_size=1 << 20)
    except (OSError, pa.ArrowException) as error:
        raise _broken(source, error) from error


def _batches(
    file: pq.ParquetFile,
    source: Source,
    columns: Collection[str] | None,
    row_groups: Sequence[int] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Columns (None: all) of some row groups (None: all), in batches of about `_BATCH_BYTES`."""
    if columns is not None and not columns:
        # No column at all: pyarrow would yield nothing, but the rows are there.
        columns = file.schema_arrow.names[:1]
    try:
        for group in range(file.num_row_groups) if row_groups is None else row_groups:
            yield from file.iter_batches(
                batch_size=_rows_per_batch(file, group, columns), columns=columns, row_groups=[group]
            )
    except (OSError, pa.ArrowException) as error:
        raise _broken(source, error) from error


def _rows_per_batch(file: pq.ParquetFile, group: int, columns: Collection[str] | None) -> int:
    """So many rows of a row group that a batch stays near `_BATCH_BYTES`.

    The sizes that a file tells are those of its encodings: a text that is repeated is counted once. So the first
    rows are read and measured.
    """
    for batch in file.iter_batches(batch_size=_PROBE, columns=columns, row_groups=[group]):
        per_row: int = max(1, batch.nbytes // max(1, batch.num_rows))
        return max(1, min(_MAX_ROWS, _BATCH_BYTES // per_row))
    return _MAX_ROWS


def _written_like(file: pq.ParquetFile, added: Collection[str]) -> dict[str, object]:
    """Writer options that give the copy the look of the original."""
    options: dict[str, object] = {"version": "2.6", "store_schema": True}
    physical = set()
    if file.num_row_groups:
        group = file.metadata.row_group(0)
        chunks = [group.column(i) for i in range(group.num_columns)]
        codecs = {chunk.path_in_schema: _codec(chunk.compression) for chunk in chunks}
        first = next(iter(codecs.values()), "snappy")
        options["compression"] = codecs | dict.fromkeys(added, first)
        options["use_compliant_nested_type"] = not any(".list.item" in path for path in codecs)
        physical = {chunk.physical_type for chunk in chunks}
    options["use_deprecated_int96_timestamps"] = "INT96" in physical
    return options


def _codec(name: str) -> str:
    return name.lower() if name in _CODECS else {"UNCOMPRESSED": "none"}.get(name, "snappy")


def _broken(source: Source, error: Exception) -> DataError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return DataError(
        f"{source.name}: not a readable parquet file ({reason})", hint="writing or copying it again"
    )
