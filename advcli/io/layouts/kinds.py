"""Classifies what columns hold; finer than the kinds that the reader needs."""

from collections.abc import Mapping

import pyarrow as pa

_KINDS = {"list": "nested", "object": "nested", "null": "number"}


def of_value(value: object) -> str:
    """The shape of a JSON value: "number" (also true and false), "text", "list", "object", "null" or "other".

    Example:
        >>> of_value(True), of_value([1]), of_value(None)
        ('number', 'list', 'null')
    """
    if value is None:
        return "null"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, list):
        return "list"
    return "object" if isinstance(value, Mapping) else "other"


def of_type(type_: pa.DataType) -> str:
    """The shape of an arrow type, in the terms of `of_value`.

    Example:
        >>> of_type(pa.list_(pa.int64())), of_type(pa.float32()), of_type(pa.binary())
        ('list', 'number', 'other')
    """
    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
    if isinstance(type_, pa.BaseExtensionType):
        type_ = type_.storage_type
    for shape, tests in _TESTS.items():
        if any(test(type_) for test in tests):
            return shape
    return "other"


_TESTS = {
    "null": (pa.types.is_null,),
    "number": (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean),
    "text": (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    "list": (
        pa.types.is_list,
        pa.types.is_large_list,
        pa.types.is_fixed_size_list,
        pa.types.is_list_view,
        pa.types.is_large_list_view,
    ),
    "object": (pa.types.is_struct, pa.types.is_map),
}


def add(shapes: dict[str, str], record: Mapping[str, object]) -> bool:
    """Add a record; the first non-null value sets the shape of a column.

    Returns:
        Whether it added anything new.
    """
    new = False
    for name, value in record.items():
        if shapes.get(name, "null") == "null":
            shape = of_value(value)
            new = new or name not in shapes or shape != "null"
            shapes[name] = shape
    return new


def kind(shape: str) -> str:
    """The kind of a shape, as the reader needs it: "number", "text", "nested" or "other"."""
    return _KINDS.get(shape, shape)
