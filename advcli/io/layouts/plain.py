"""Arrow values as Python values, whatever they are: times that Python has no type for, and texts that are no UTF-8.

`to_pylist` raises on a zone that nobody knows, a date beyond the year 9999, a nanosecond without pandas, a broken text. A
column that plays no part must not stop a command.
"""

import contextlib
from typing import Any

import pyarrow as pa

_FAILED = (ValueError, OverflowError, ImportError, KeyError, UnicodeDecodeError, pa.ArrowException)


def values(array: pa.Array) -> list[Any]:
    """Each value as Python has it; a time that it has not as text or as a whole number of its unit.

    Example:
        >>> values(pa.array([1], pa.timestamp("ms", "Mars/Olympus"))), values(pa.array([1], pa.int64()))
        (['1970-01-01T00:00:00.001+00:00'], [1])
    """
    try:
        if not _has_nanoseconds(array.type):
            return list(array.to_pylist())
    except _FAILED:
        pass
    return _one_by_one(array)


def rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """Each row of a batch as an object."""
    names = batch.schema.names
    return (
        [dict(zip(names, row, strict=True)) for row in zip(*map(values, batch.columns), strict=True)]
        if names
        else []
    )


def _has_nanoseconds(type_: pa.DataType) -> bool:
    """Whether values would come as pandas has them, or not at all."""
    inner = (
        [type_.field(place).type for place in range(type_.num_fields)] if pa.types.is_nested(type_) else []
    )
    return getattr(type_, "unit", "") == "ns" or any(map(_has_nanoseconds, inner))


def _one_by_one(array: pa.Array) -> list[Any]:
    type_ = array.type
    if pa.types.is_struct(type_):
        names = [type_.field(place).name for place in range(type_.num_fields)]
        inner = [values(part) for part in array.flatten()]
        found = [dict(zip(names, row, strict=True)) for row in zip(*inner, strict=True)]
        return [
            row if there else None for row, there in zip(found, array.is_valid().to_pylist(), strict=True)
        ]
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return [None if not item.is_valid else values(item.values) for item in array]
    return _scalars(array)


def _scalars(array: pa.Array) -> list[Any]:
    """A column of times or texts."""
    if pa.types.is_timestamp(array.type):
        zone = "+00:00" if array.type.tz else ""
        texts = array.cast(pa.timestamp(array.type.unit)).cast(pa.string()).to_pylist()
        return [None if text is None else text.replace(" ", "T") + zone for text in texts]
    for type_ in (
        (pa.int64(),) if pa.types.is_duration(array.type) else (pa.string(), pa.int64(), pa.binary())
    ):
        with contextlib.suppress(*_FAILED):
            return list(array.cast(type_).to_pylist())
    return [None if not item.is_valid else repr(item) for item in array]
