"""Converts Arrow values to Python values, including those that Python cannot represent.

An unused column must not stop a command: times in nanoseconds or after the year 9999, unknown time zones and bytes that
are not UTF-8 become text.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

# What `to_pylist` raises; an unknown time zone raises a KeyError.
_NOT_REPRESENTABLE = (ValueError, OverflowError, KeyError, pa.ArrowException)


def records(batch: pa.RecordBatch) -> list[Mapping[str, Any]]:
    """The rows of a batch as objects.

    Example:
        >>> records(pa.record_batch({"a": [1, 2], "at": pa.array([1, None], pa.duration("ns"))}))
        [{'a': 1, 'at': '1ns'}, {'a': 2, 'at': None}]
    """
    names, columns = batch.schema.names, [values(column) for column in batch.columns]
    rows = zip(*columns, strict=True) if columns else iter([()] * batch.num_rows)
    return [dict(zip(names, row, strict=True)) for row in rows]


def values(cells: pa.Array) -> list[Any]:
    """The values of an array, as text where Python has no equivalent.

    Example:
        >>> values(pa.array([1_700_000_000_123_456_789], pa.timestamp("ns")))
        ['2023-11-14T22:13:20.123456789']
        >>> values(pa.array([[1 << 50]], pa.list_(pa.timestamp("ms", "Mars/Olympus"))))
        [['1125899906842624ms']]
    """
    if not _has_nanoseconds(cells.type):
        try:
            return list(cells.to_pylist())
        except _NOT_REPRESENTABLE:
            pass
    return list(_converted(cells))


def text(data: bytes) -> str:
    r"""Bytes decoded as UTF-8, with invalid bytes as `\xNN` escapes.

    Example:
        >>> print(text(b"caf\xe9"), text("é".encode()))
        caf\xe9 é
    """
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "backslashreplace")


def _has_nanoseconds(type_: pa.DataType) -> bool:
    """Whether a type holds times in nanoseconds, which Python rounds, or converts to pandas types if pandas is imported."""
    if pa.types.is_dictionary(type_):
        return _has_nanoseconds(type_.value_type)
    if isinstance(type_, pa.BaseExtensionType):
        return _has_nanoseconds(type_.storage_type)
    if pa.types.is_nested(type_):
        return any(_has_nanoseconds(type_.field(position).type) for position in range(type_.num_fields))
    return getattr(type_, "unit", None) == "ns"


def _converted(cells: pa.Array) -> Iterator[Any]:
    type_ = cells.type
    if isinstance(cells, pa.ExtensionArray):
        yield from values(cells.storage)
    elif pa.types.is_dictionary(type_):
        yield from values(cells.dictionary_decode())
    elif pa.types.is_struct(type_):
        names = [field.name for field in type_]
        rows = zip(*map(values, cells.flatten()), strict=True)
        for row, valid in zip(rows, cells.is_valid().to_pylist(), strict=True):
            yield dict(zip(names, row, strict=True)) if valid else None
    elif pa.types.is_map(type_):
        for cell in cells:
            pairs = cell.values if cell.is_valid else None
            yield None if pairs is None else list(zip(*map(values, pairs.flatten()), strict=True))
    elif pa.types.is_nested(type_) and not pa.types.is_union(type_):
        inner = iter(values(pc.list_flatten(cells)))
        for length in pc.list_value_length(cells).to_pylist():
            yield None if length is None else [next(inner) for _ in range(length)]
    elif pa.types.is_temporal(type_):
        yield from _times(cells)
    else:
        yield from map(_as_python, cells)


def _times(cells: pa.Array) -> Iterator[str | None]:
    """Times as ISO 8601, or as number and unit where they have no ISO form."""
    type_ = cells.type
    numbers = cells.view(pa.int32() if type_.bit_width == 32 else pa.int64()).to_pylist()
    unit = getattr(type_, "unit", "d" if type_.bit_width == 32 else "ms")
    plain = [None if number is None else f"{number}{unit}" for number in numbers]
    if pa.types.is_duration(type_):
        yield from plain
        return
    try:
        texts = cells.cast(pa.string())
    except pa.ArrowInvalid:
        # An unknown time zone; the number still counts from 1970 in UTC.
        texts = cells.view(pa.timestamp(unit)).cast(pa.string())
    for text, number in zip(texts.to_pylist(), plain, strict=True):
        # Arrow writes an out-of-range time as <...>.
        yield number if text is None or text.startswith("<") else text.replace(" ", "T", 1)


def _as_python(cell: pa.Scalar) -> Any:  # noqa: ANN401  any value
    """The value of a cell; text that is not UTF-8 with its invalid bytes escaped."""
    try:
        return cell.as_py()
    except UnicodeDecodeError:
        return text(bytes(cell.as_buffer()))
