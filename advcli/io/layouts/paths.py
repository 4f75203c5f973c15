"""Dotted paths such as `info.reward_components.format` into nested values, including JSON stored as a string.

A literal key takes precedence over a path, so a column named "rewards.format" is found.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from advcli.io.collect.values import values


class _Absent:
    """Distinguishes a missing key from a null."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = _Absent()
"""Returned by `find` for a missing key."""


def find(value: object, path: str) -> Any:  # noqa: ANN401  any JSON value
    """Follow a path into a nested value.

    Args:
        value: a JSON value.
        path: keys separated by dots; a number is a position in a list. If the path can be split into keys in several
            ways, the longest existing first key is used.

    Returns:
        The value, or `ABSENT`.

    Example:
        >>> row = {"info": '{"parts": {"format": 0.5}}', "a.b": 1, "turns": [{"r": 2}]}
        >>> find(row, "info.parts.format"), find(row, "a.b"), find(row, "turns.0.r"), find(row, "info.x")
        (0.5, 1, 2, ABSENT)
    """
    if isinstance(value, Mapping) and path in value:
        return value[path]
    if isinstance(value, str):
        value = parsed(value)
    if isinstance(value, list):
        return _item(value, path)
    if not isinstance(value, Mapping):
        return ABSENT
    if path in value:
        return value[path]
    return _descend(value, path)


def get(value: object, path: str) -> Any:  # noqa: ANN401  any JSON value
    """The value at a path; None if it is missing."""
    result = find(value, path)
    return None if result is ABSENT else result


def parsed(text: str) -> object:
    """The parsed value of a string with a JSON object or list; otherwise the string itself.

    Example:
        >>> parsed('{"a": 1}'), parsed("[1"), parsed("text")
        ({'a': 1}, '[1', 'text')
    """
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def roots(paths: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """The column in which each path begins: the longest column name that is the path or its first keys.

    Args:
        paths: columns or dotted paths.
        names: the existing columns.

    Returns:
        path → column, for those that have one.

    Example:
        >>> roots(["a", "a.b.c", "x.y"], ["a", "a.b"])
        {'a': 'a', 'a.b.c': 'a.b'}
    """
    known = set(names)
    result = {}
    for path in paths:
        root = path if path in known else next((head for head in _prefixes(path) if head in known), None)
        if root is not None:
            result[path] = root
    return result


def in_batch(batch: pa.RecordBatch, path: str, root: str) -> Any:  # noqa: ANN401  an arrow array or Python values
    """A column of an arrow batch, or the values at a path in its structs.

    Args:
        batch: the batch.
        path: a column or dotted path.
        root: the column in which the path begins.

    Returns:
        An arrow array; a list of Python values if the path goes through lists or JSON strings.
    """
    cells = batch.column(root)
    rest = path[len(root) + 1 :]
    while rest and pa.types.is_struct(cells.type):
        names = [field.name for field in cells.type]
        head = next((head for head in _prefixes(rest) if head in names), None)
        if head is None:
            return pa.nulls(len(cells), pa.float64())
        cells = pc.struct_field(cells, [names.index(head)])
        rest = rest[len(head) + 1 :]
    if not rest:
        return cells
    return [get(cell, rest) for cell in values(cells)]


def _descend(value: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401  any JSON value
    """Follow the longest existing first key under which the rest of the path exists."""
    for head in _prefixes(path)[1:]:
        if head in value:
            result = find(value[head], path[len(head) + 1 :])
            if result is not ABSENT:
                return result
    return ABSENT


def _item(items: list[Any], path: str) -> Any:  # noqa: ANN401  any JSON value
    head, _, rest = path.partition(".")
    if not head.isdecimal() or int(head) >= len(items):
        return ABSENT
    return find(items[int(head)], rest) if rest else items[int(head)]


def _prefixes(path: str) -> list[str]:
    """The prefixes of a path, longest first: a.b.c, a.b, a."""
    parts = path.split(".")
    return [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
