"""Arrow columns of types that parquet has no room for, as columns that it has."""

import io
import json

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from advcli.common.errors import DataError
from advcli.io.collect.values import values

_VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}


def storable_schema(schema: pa.Schema, name: str) -> pa.Schema:
    """The types of a table as parquet can hold them.

    Dictionaries of views become dictionaries, runs single values, objects without keys JSON text.

    Args:
        schema: the types.
        name: the table, for messages.

    Raises:
        DataError: parquet cannot hold a column.
    """
    result = pa.schema([field.with_type(_type(field.type)) for field in schema], schema.metadata)
    _check(result, name)
    return result


def storable(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Some rows of a table with the types that `storable_schema` gives."""
    return pa.record_batch([_stored(cells) for cells in batch.columns], schema=schema)


def has_empty_struct(kind: pa.DataType | None) -> bool:
    """Whether a type has a struct without fields somewhere, which parquet has not."""
    if kind is None or not pa.types.is_nested(kind):
        return False
    if pa.types.is_struct(kind) and kind.num_fields == 0:
        return True
    return any(has_empty_struct(kind.field(at).type) for at in range(kind.num_fields))


def _type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind) and kind.value_type in _VIEWS:
        return pa.dictionary(kind.index_type, _VIEWS[kind.value_type], kind.ordered)
    if pa.types.is_run_end_encoded(kind):
        return kind.value_type
    return pa.string() if has_empty_struct(kind) else kind


def _stored(cells: pa.Array) -> pa.Array:
    kind = cells.type
    if pa.types.is_dictionary(kind) and kind.value_type in _VIEWS:
        values_of = cells.dictionary.cast(_VIEWS[kind.value_type])
        return pa.DictionaryArray.from_arrays(cells.indices, values_of, ordered=kind.ordered)
    if pa.types.is_run_end_encoded(kind):
        return pc.run_end_decode(cells)
    if has_empty_struct(kind):
        texts = [None if cell is None else json.dumps(cell, default=str) for cell in values(cells)]
        return pa.array(texts, pa.string())
    return cells


def _check(schema: pa.Schema, name: str) -> None:
    """Refuse a type that parquet has not, by the name of its column."""
    if _writes(schema):
        return
    odd = next(field for field in schema if not _writes(pa.schema([field])))
    raise DataError(
        f"{name}: column '{odd.name}' is of type {odd.type}, which parquet cannot hold", hint="leaving it out"
    )


def _writes(schema: pa.Schema) -> bool:
    try:
        pq.ParquetWriter(io.BytesIO(), schema).close()
    except pa.ArrowNotImplementedError:
        return False
    return True
