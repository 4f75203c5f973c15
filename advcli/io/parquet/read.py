"""Parquet: read a few columns of every row group, or copy all of them with columns appended."""

import json
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from advcli.common.errors import DataError
from advcli.common.wording import counted
from advcli.io.collect.batch import BadRows, Batch
from advcli.io.collect.duplicates import ROW, digests
from advcli.io.collect.values import records, values
from advcli.io.jsonl.read import already_there
from advcli.io.layouts import arrow, kinds, paths
from advcli.io.layouts import objects as layouts
from advcli.io.parquet import files
from advcli.io.readahead import readahead
from advcli.records.layout import PLAIN, Layout
from advcli.records.table import Source

# Bytes of column data per batch: bounds the memory however long the texts are.
_BATCH_BYTES = 32 << 20
_MAX_ROWS = 1 << 18
_PROBE = 64


def columns(source: Source, *, again: bool = False) -> dict[str, str]:
    """The columns and their kinds.

    Args:
        source: a parquet source.
        again: whether the file will be opened again soon.

    Raises:
        DataError: not a parquet file, or two columns with the same name.
    """
    file = files.opened(source, again=again)
    schema, readable = file.schema_arrow, set(file.columns)
    names = schema.names
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise DataError(f"{source.name}: the column {', '.join(twice)} is there twice, expected unique names")
    return {field.name: kinds.of_type(field.type) for field in schema if field.name in readable}


def head(source: Source, rows: int = 8) -> list[Mapping[str, Any]]:
    """The first rows as objects, without binary columns, for what the types alone don't show.

    Raises:
        DataError: the file is broken.
    """
    file = files.opened(source, again=files.is_kept(source))
    readable = set(file.columns)
    fields = (field for field in file.schema_arrow if field.name in readable)
    names = [field.name for field in fields if kinds.of_type(field.type) != "other"]
    try:
        for batch in file.iter_batches(batch_size=rows, columns=names) if names else ():
            return records(batch)
    except files.UNREADABLE:
        # The scan reports the error if the column is needed.
        return []
    return []


def sample(source: Source, rows: int) -> list[Mapping[str, Any]]:
    """The first rows without lists of numbers, to detect what a column contains; unreadable columns are skipped.

    Args:
        source: a parquet source.
        rows: how many of them.
    """
    file = files.opened(source, again=files.is_kept(source))
    names = [field.name for field in file.schema_arrow if _is_informative(field.type)]
    try:
        batch = next(file.iter_batches(batch_size=rows, columns=names), None) if names else None
    except files.UNREADABLE:
        # The scan reports the error if the column is needed.
        batch = None
    columns: dict[str, list[Any]] = {}
    for name in names if batch is not None else ():
        with suppress(*files.UNREADABLE, ValueError):
            columns[name] = values(batch.column(name))  # type: ignore[union-attr]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _is_informative(type_: pa.DataType) -> bool:
    """Whether a column holds numbers, texts, objects, or lists of texts or objects."""
    shape = kinds.of_type(type_)
    if shape != "list":
        return shape != "other"
    return kinds.of_type(getattr(type_, "value_type", pa.null())) in ("text", "object")


def scan(
    source: Source,
    columns: Collection[str],
    *,
    refused: Collection[str],
    bad_rows: BadRows,
    dropped: set[int],
    layout: Layout = PLAIN,
) -> Iterator[Batch]:
    """Read some columns of every row; columns that the file lacks are null.

    Args:
        source: a parquet source.
        columns: the columns or dotted paths.
        refused: names that the file may not have, because they would be written.
        bad_rows: how to handle a row with a different layout.
        dropped: receives the numbers of the skipped rows.
        layout: how rows are nested in a row of the file.

    Yields:
        Batches of arrow arrays.

    Raises:
        DataError: the file is broken or has a refused column.
    """
    file = files.opened(source)
    names = file.columns
    bad_rows.encrypted |= file.encrypted
    if not set(refused).isdisjoint(file.schema_arrow.names):
        raise already_there(source.name, sorted(set(file.schema_arrow.names) & set(refused)))
    if layout.name != "rows":
        yield from _exploded(file, source, columns, layout, bad_rows, dropped)
        return
    roots = paths.roots(tuple(columns), names)
    read = _batches(file, source, None if ROW in columns else _leaves(file, roots))
    with closing(readahead(read, threaded=file.metadata.num_rows > _MAX_ROWS)) as batches:
        yield from _cells(source, batches, columns, roots, layout, file.metadata.num_rows)


def _cells(
    source: Source,
    batches: Iterable[pa.RecordBatch],
    columns: Collection[str],
    roots: Mapping[str, str],
    layout: Layout,
    rows: int,
) -> Iterator[Batch]:
    """The requested columns of each batch; `rows` is the row count of the file."""
    done = 0
    for batch in batches:
        cells: dict[str, Any] = {
            name: paths.in_batch(batch, name, roots[name])
            if name in roots
            else pa.nulls(batch.num_rows, pa.float64())
            for name in columns
        }
        if ROW in columns:
            cells[ROW] = [digest for record in records(batch) for digest in digests(record, layout)]
        yield Batch(source.name, cells, range(done + 1, done + batch.num_rows + 1), rows - done)
        done += batch.num_rows


def _leaves(file: files.File, roots: Mapping[str, str]) -> list[str]:
    """The columns to read for some paths: only the needed fields of a struct, if they can be read separately."""
    if all(path == root for path, root in roots.items()):
        return list(roots)
    result = []
    for path, root in roots.items():
        inner = path != root and pa.types.is_struct(file.schema_arrow.field(root).type)
        known = inner and any(
            column == path or column.startswith(f"{path}.")
            for column in (file.schema.column(i).path for i in range(len(file.schema)))
        )
        result.append(path if known else root)
    # Given a whole column and one of its fields, pyarrow would read only the field.
    whole = set(result) & set(file.columns)
    return list(
        dict.fromkeys(
            roots[path] if roots[path] in whole else name for path, name in zip(roots, result, strict=True)
        )
    )


def _exploded(
    file: files.File,
    source: Source,
    columns: Collection[str],
    layout: Layout,
    bad_rows: BadRows,
    dropped: set[int],
) -> Iterator[Batch]:
    """The rows nested in rows of the file, converted in Python, with the requested columns only."""
    names = [name for name in columns if name != ROW]
    wanted = [
        layout.path,
        *(name.removeprefix("record.") for name in names),
        *(name.split(".")[0] for name in names),
    ]
    needed = list(dict.fromkeys(paths.roots(wanted, file.columns).values()))
    number = 0
    for batch in _batches(file, source, None if ROW in columns else needed):
        cells: dict[str, list[Any]] = {name: [] for name in columns}
        lines: list[int] = []
        for record in records(batch):
            number += 1
            try:
                count, result = layouts.cells(record, layout, names)
            except layouts.LayoutMismatch as error:
                bad_rows.add(
                    f"{source.name}:{number}: {error}", hint="--layout or --explode, or --on-bad-row skip"
                )
                dropped.add(number)
                continue
            bad_rows.empty += not count
            lines += [number] * count
            if ROW in cells:
                cells[ROW] += digests(record, layout)
            for name in names:
                cells[name] += result[name]
        yield Batch(source.name, cells, np.array(lines, dtype=np.int64))


def annotate(
    source: Source, sink: BinaryIO, slices: Callable[[int], pa.RecordBatch], about: Mapping[str, str]
) -> None:
    """Copy a parquet file with columns appended.

    Columns, types, nested values, dictionaries, schema and field metadata, codecs and row group sizes are kept.

    Args:
        source: a parquet source.
        sink: takes the bytes; need not be seekable.
        slices: returns the new columns of the next rows, given their number.
        about: further key-value metadata of the file.
    """
    file = files.opened(source)
    file.refuse_encrypted()
    added = slices(0).schema
    schema = pa.schema([*file.schema_arrow, *added], metadata={**(file.schema_arrow.metadata or {}), **about})
    with pq.ParquetWriter(sink, schema, **_written_like(file, added.names)) as writer:
        for group in range(file.num_row_groups):
            # With the group's length as the limit, the writer closes its row group where the source does.
            rows = max(1, file.metadata.row_group(group).num_rows)
            for batch in _batches(file, source, None, row_groups=[group]):
                columns = [*batch.columns, *slices(batch.num_rows).columns]
                writer.write_batch(pa.record_batch(columns, schema=schema), row_group_size=rows)


def write_batches(
    source: Source, sink: BinaryIO, batches: Iterator[pa.RecordBatch], about: Mapping[str, str]
) -> None:
    """Write batches derived from a file.

    Args:
        source: the file, whose metadata are kept.
        sink: takes the bytes; need not be seekable.
        batches: all columns.
        about: further key-value metadata of the file.
    """
    metadata = {**(files.opened(source).schema_arrow.metadata or {}), **about}
    # It describes the original columns.
    metadata.pop(b"pandas", None)
    writer = None
    try:
        for batch in batches:
            schema = batch.schema.with_metadata(metadata)
            writer = writer or pq.ParquetWriter(sink, schema, version="2.6")
            writer.write_batch(batch.replace_schema_metadata(metadata))
    finally:
        if writer:
            writer.close()


def rows(source: Source, layout: Layout, dropped: Collection[int]) -> Iterator[pa.RecordBatch]:
    """All columns of the rows nested in records, batch by batch."""
    return (arrow.unfolded(batch, layout) for batch in objects(source, dropped))


def with_lists(
    source: Source, layout: Layout, dropped: Collection[int], slices: Callable[[int], pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """All columns of the records, with the new ones appended as lists."""
    for batch in objects(source, dropped):
        counts = arrow.lengths(batch, layout)
        new = arrow.as_lists(slices(int(counts.sum())), counts)
        schema = pa.schema([*batch.schema, *new.schema])
        yield pa.record_batch([*batch.columns, *new.columns], schema=schema)


def objects(source: Source, dropped: Collection[int] = (), *, whole: bool = True) -> Iterator[pa.RecordBatch]:
    """All columns, batch by batch, without the skipped rows; one empty batch for a file without rows.

    Args:
        source: a parquet source.
        dropped: numbers of the rows to leave out.
        whole: refuse a file with an encrypted column, instead of leaving the column out.

    Raises:
        DataError: the file is broken, or a column is encrypted.
    """
    file = files.opened(source)
    if whole:
        file.refuse_encrypted()
    number = 1
    for batch in _batches(file, source, None):
        yield arrow.without(batch, number, dropped)
        number += batch.num_rows
    if number == 1:
        yield from file.schema_arrow.empty_table().to_batches() or [_no_rows(file.schema_arrow)]


def decode(source: Source) -> None:
    """Decode all columns, to check the file.

    Raises:
        DataError: the file is broken.
    """
    for _ in _batches(files.opened(source), source, None):
        pass


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.record_batch([pa.array([], field.type) for field in schema], schema=schema)


def rows_at(source: Source, wanted: Collection[int]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Some rows with all their columns; row groups without a requested row are not read.

    Args:
        source: a parquet source.
        wanted: numbers of the rows, counted from 1.

    Yields:
        Number and columns of each row, in file order.
    """
    file = files.opened(source)
    done = 0
    positions = np.array(sorted(wanted), dtype=np.int64) - 1
    for group in range(file.num_row_groups):
        end = done + file.metadata.row_group(group).num_rows
        if not ((positions >= done) & (positions < end)).any():
            done = end
            continue
        for batch in _batches(file, source, None, row_groups=[group]):
            in_batch = positions[(positions >= done) & (positions < done + batch.num_rows)]
            for position in in_batch.tolist():
                # take() doesn't support every type.
                yield position + 1, records(batch.slice(position - done, 1))[0]
            done += batch.num_rows


def to_metadata(prefix: str, settings: Mapping[str, object]) -> dict[str, str]:
    """The settings as key-value metadata of a parquet file, under the key `advcli/PREFIX`."""
    return {f"advcli/{prefix}": json.dumps(settings, allow_nan=False)}


def _batches(
    file: files.File,
    source: Source,
    columns: Collection[str] | None,
    row_groups: Sequence[int] | None = None,
) -> Generator[pa.RecordBatch]:
    """Columns (None: all) of some row groups (None: all), in batches of about `_BATCH_BYTES`."""
    if columns is not None and not columns:
        # Without any column pyarrow would yield nothing, and the rows would be lost.
        columns = file.columns[:1]
    elif columns is None and file.encrypted:
        columns = file.columns
    try:
        for group in range(file.num_row_groups) if row_groups is None else row_groups:
            # For a few rows, starting threads takes longer than reading.
            few = _is_one_batch(file, group, columns)
            rows, expected = 0, file.metadata.row_group(group).num_rows
            for batch in file.iter_batches(
                batch_size=_MAX_ROWS if few else _rows_per_batch(file, group, columns),
                columns=columns,
                row_groups=[group],
                use_threads=not few,
            ):
                rows += batch.num_rows
                yield batch
            if rows != expected:
                raise _damaged(source, group, rows, expected)
    except files.UNREADABLE as error:
        raise files.broken(source, error) from error


def _damaged(source: Source, group: int, rows: int, expected: int) -> DataError:
    """The error for columns whose length differs from the row count of their row group."""
    return DataError(
        f"{source.name}: not a readable parquet file (row group {group + 1} has {counted(expected, 'row')}, and "
        f"{rows:,} can be read)",
        hint="writing or copying it again",
    )


def _is_one_batch(file: files.File, group: int, columns: Collection[str] | None) -> bool:
    """Whether a row group certainly fits in one batch: no value is longer than its uncompressed chunk."""
    if file.metadata.row_group(group).num_rows > _MAX_ROWS or file.chunks is None:
        return False
    size = 0
    for chunk in file.chunks[group]:
        path = ".".join(chunk.path)
        if columns is None or any(path == name or path.startswith(f"{name}.") for name in columns):
            size += chunk.values * chunk.size
    return size <= _BATCH_BYTES


def _rows_per_batch(file: files.File, group: int, columns: Collection[str] | None) -> int:
    """The number of rows that keeps a batch of a row group near `_BATCH_BYTES`.

    The sizes in the metadata are of encoded data, in which a repeated text counts once, so the first rows are
    read and measured.
    """
    for batch in file.iter_batches(batch_size=_PROBE, columns=columns, row_groups=[group]):
        per_row: int = max(1, batch.nbytes // max(1, batch.num_rows))
        return max(1, min(_MAX_ROWS, _BATCH_BYTES // per_row))
    return _MAX_ROWS


def _written_like(file: files.File, added: Collection[str]) -> dict[str, object]:
    """Writer options that match the original's encoding."""
    options: dict[str, object] = {"version": "2.6", "store_schema": True}
    chunks = file.chunks[0] if file.chunks else ()
    if chunks:
        codecs = {".".join(chunk.path): chunk.codec for chunk in chunks}
        options["compression"] = codecs | dict.fromkeys(added, chunks[0].codec)
        options["use_compliant_nested_type"] = not any(".list.item" in path for path in codecs)
    options["use_deprecated_int96_timestamps"] = any(chunk.physical == "INT96" for chunk in chunks)
    return options
