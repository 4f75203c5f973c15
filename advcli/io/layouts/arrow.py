"""Writes exploded parquet: one row each, or new lists next to the lists of a record, all in arrow types."""

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from advcli.common.errors import DataError
from advcli.io.layouts.objects import outer_name
from advcli.records.layout import Layout


def lengths(batch: pa.RecordBatch, layout: Layout) -> NDArray[np.int64]:
    """The number of rows of each record, 0 where its list is null; always 1 in the layout "ones"."""
    if layout.name == "ones":
        return np.ones(batch.num_rows, dtype=np.int64)
    return np.asarray(pc.list_value_length(_list(batch, layout)).fill_null(0).cast(pa.int64()))


def unfolded(batch: pa.RecordBatch, layout: Layout) -> pa.RecordBatch:
    """The rows of a batch of records: one element each of split columns, other columns repeated.

    Raises:
        DataError: the length of a list differs from the number of rows.

    Example:
        >>> batch = pa.record_batch({"p": ["a", "b"], "r": [[1.0, 2.0], [3.0]]})
        >>> unfolded(batch, Layout("lists", "r", ("r",), ("p",))).to_pydict()
        {'p': ['a', 'a', 'b'], 'r': [1.0, 2.0, 3.0]}
    """
    counts = lengths(batch, layout)
    records = pa.array(np.repeat(np.arange(batch.num_rows), counts))
    if layout.name == "nested":
        items = pc.list_flatten(_list(batch, layout))
        inner = {field.name: pc.struct_field(items, [position]) for position, field in enumerate(items.type)}
        outer = {
            outer_name(name, inner): batch.column(name).take(records)
            for name in batch.schema.names
            if name != layout.path
        }
        return pa.record_batch({**outer, **inner})
    columns = {
        name: _elements(batch, name, counts) if name in layout.split else batch.column(name).take(records)
        for name in batch.schema.names
    }
    return pa.record_batch(columns)


def as_lists(rows: pa.RecordBatch, counts: NDArray[np.int64]) -> pa.RecordBatch:
    """Columns of rows as one list per record.

    Args:
        rows: the columns, with the rows of all records in order.
        counts: the number of rows of each record.
    """
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))
    columns = {name: pa.ListArray.from_arrays(offsets, rows.column(name)) for name in rows.schema.names}
    return pa.record_batch(columns)


def without(batch: pa.RecordBatch, first: int, dropped: Collection[int]) -> pa.RecordBatch:
    """A batch without the dropped records; `first` is the number of its first record."""
    if not dropped:
        return batch
    keep = [number not in dropped for number in range(first, first + batch.num_rows)]
    return batch.filter(pa.array(keep, pa.bool_()))


def _list(batch: pa.RecordBatch, layout: Layout) -> pa.Array:
    column = batch.column(layout.path)
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        raise DataError(
            f"'{layout.path}' is {column.type} in this file, expected a list",
            hint="--out with the suffix .jsonl",
        )
    return column


def _elements(batch: pa.RecordBatch, name: str, counts: NDArray[np.int64]) -> pa.Array:
    """The elements of a split column; null for the rows of a record in which it is null."""
    column = batch.column(name)
    own = np.asarray(pc.list_value_length(column).fill_null(-1).cast(pa.int64()))
    mismatched = (own != counts) & (own >= 0)
    if mismatched.any():
        record = int(np.argmax(mismatched))
        raise DataError(
            f"'{name}' has {own[record]} values where there are {counts[record]} rows, expected one per row",
            hint="--same-layout",
        )
    flat = pc.list_flatten(column)
    if (own == counts).all():
        return flat
    valid = np.repeat(own >= 0, counts)
    positions = np.where(valid, np.cumsum(valid) - 1, 0)
    return flat.take(pa.array(positions, mask=~valid))
