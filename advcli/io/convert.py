"""Converts between parquet and JSON Lines, when `--out` has another suffix than the input."""

import base64
import datetime
import decimal
import json
import math
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from advcli.common.errors import DataError
from advcli.io.collect.values import records
from advcli.io.parquet.storable import has_empty_struct

_BATCH = 1024


def parquet_to_jsonl(batches: Iterable[pa.RecordBatch], suffixes: Iterator[bytes], out: BinaryIO) -> None:
    """Write each row as one JSON object.

    Decimals become strings, timestamps ISO 8601, bytes base64, NaN and ±inf null, because JSON lacks these types.
    """
    for batch in batches:
        for row in records(batch):
            text = json.dumps(_as_json(row), ensure_ascii=False)
            out.write(
                text[:-1].encode("utf-8", "surrogatepass") + (b", " if row else b"") + next(suffixes) + b"}\n"
            )


def jsonl_to_parquet(
    rows: Callable[[], Iterator[dict[str, Any]]],
    added: pa.Table,
    out: BinaryIO,
    about: Mapping[str, str],
    name: str,
) -> None:
    """Write JSON objects as parquet, in two passes: one to determine the types, one to write.

    A field whose values have no common parquet type (numbers and strings, integers beyond 64 bits) is
    written as JSON text, which preserves every value.

    Args:
        rows: returns an iterator over all objects each time it is called.
        added: the new columns, one row per object.
        out: takes the bytes.
        about: key-value metadata of the file.
        name: the input, for messages.
    """
    types = _types(rows)
    fields = [pa.field(column, pa.string() if type_ is None else type_) for column, type_ in types.items()]
    schema = pa.schema([*fields, *added.schema], metadata=dict(about))
    done = 0
    with pq.ParquetWriter(out, schema) as writer:
        for chunk in _chunks(rows()):
            arrays = [_array([row.get(column) for row in chunk], type_) for column, type_ in types.items()]
            extra = added.slice(done, len(chunk)).combine_chunks()
            done += len(chunk)
            if extra.num_rows != len(chunk):
                raise DataError(
                    f"{name}: the file changed while it was read", hint="again when its writer is done"
                )
            columns = [*arrays, *(column.chunk(0) for column in extra.columns)]
            writer.write_batch(pa.record_batch(columns, schema=schema))


def _types(rows: Callable[[], Iterator[dict[str, Any]]]) -> dict[str, pa.DataType | None]:
    """The type of each field; None if only JSON text holds its values without loss."""
    types: dict[str, pa.DataType | None] = {}
    for chunk in _chunks(rows()):
        for column, cells in _columns(chunk).items():
            types[column] = _common(types.get(column, pa.null()), cells)
    # A type widened by later rows may not fit earlier ones (arrow refuses to round), so check all rows.
    for chunk in _chunks(rows()):
        for column, cells in _columns(chunk).items():
            if types[column] is not None and not _fits(cells, types[column]):
                types[column] = None
    return types


def _chunks(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while chunk := list(islice(rows, _BATCH)):
        yield chunk


def _columns(chunk: list[dict[str, Any]]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for row in chunk for name in row)
    return {name: [row.get(name) for row in chunk] for name in names}


def _common(known: pa.DataType | None, cells: list[Any]) -> pa.DataType | None:
    """The common type of the cells so far and these cells; None if only JSON text fits."""
    if known is None:
        return None
    try:
        schemas = [pa.schema([pa.field("x", type_)]) for type_ in (known, pa.array(cells).type)]
        return pa.unify_schemas(schemas, promote_options="permissive").field("x").type
    except (pa.ArrowException, OverflowError, ValueError, TypeError):
        return None


def _fits(cells: list[Any], type_: pa.DataType | None) -> bool:
    try:
        pa.array(cells, type_)
    except (pa.ArrowException, OverflowError, ValueError, TypeError):
        return False
    return not has_empty_struct(type_) and not any(_loses_boolean(cell, type_) for cell in cells)


def _loses_boolean(cell: Any, type_: Any) -> bool:  # noqa: ANN401  any JSON value, and arrow's type of it
    """Whether a boolean would become a number."""
    if isinstance(cell, bool):
        return not pa.types.is_boolean(type_)
    if isinstance(cell, list) and cell:
        return any(_loses_boolean(item, type_.value_type) for item in cell)
    if isinstance(cell, dict):
        return any(_loses_boolean(item, type_.field(name).type) for name, item in cell.items())
    return False


def _array(cells: list[Any], type_: pa.DataType | None) -> pa.Array:
    if type_ is None:
        texts = [None if cell is None else json.dumps(cell) for cell in cells]
        return pa.array(texts, pa.string())
    return pa.array(cells, type_)


def _as_json(value: Any) -> Any:  # noqa: ANN401  any JSON value
    """A parquet value as a JSON value."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal | datetime.timedelta):
        return str(value)
    return value
