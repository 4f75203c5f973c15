"""Dotted paths: `info.reward_components.format` in a nested value, also through JSON that was stored as a string.

A literal key of that very name wins over a path, so a column that is called "rewards.format" is found.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from advcli.io.collect.values import values


class _Absent:
    """Tells "there is no such key" from a null."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = _Absent()
"""What `find` gives where there is nothing."""


def find(value: object, path: str) -> Any:  # noqa: ANN401  any JSON value
    """Follow a path into a nested value.

    Args:
        value: a JSON value.
        path: keys with dots between them; a number is a position in a list. Of several ways to cut the path
            into keys, the one with the longest first key that is there counts.

    Returns:
        What is there, or `ABSENT`.

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
    return _below(value, path)


def get(value: object, path: str) -> Any:  # noqa: ANN401  any JSON value
    """The values, with null for what is missing."""
    result = find(value, path)
    return None if result is ABSENT else result


def parsed(text: str) -> object:
    """The value of a string that holds a JSON object or list; the string itself if it holds none.

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
        paths: what is wanted.
        names: the columns that there are.

    Returns:
        path → column, for those that have one.

    Example:
        >>> roots(["a", "a.b.c", "x.y"], ["a", "a.b"])
        {'a': 'a', 'a.b.c': 'a.b'}
    """
    known = set(names)
    result = {}
    for path in paths:
        root = path if path in known else next((head for head in _heads(path) if head in known), None)
        if root is not None:
            result[path] = root
    return result


def in_batch(batch: pa.RecordBatch, path: str, root: str) -> Any:  # noqa: ANN401  an arrow array or Python values
    """A column of an arrow batch, or what lies at a path in its structs.

    Args:
        batch: the batch.
        path: what is wanted.
        root: the column in which the path begins.

    Returns:
        An arrow array; a list of Python values where the path goes through lists or JSON strings.
    """
    cells = batch.column(root)
    rest = path[len(root) + 1 :]
    while rest and pa.types.is_struct(cells.type):
        names = [field.name for field in cells.type]
        head = next((head for head in _heads(rest) if head in names), None)
        if head is None:
            return pa.nulls(len(cells), pa.float64())
        cells = pc.struct_field(cells, [names.index(head)])
        rest = rest[len(head) + 1 :]
    if not rest:
        return cells
    return [get(cell, rest) for cell in values(cells)]


def _below(value: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401  any JSON value
    """Follow the longest first key that is there and leads somewhere."""
    for head in _heads(path)[1:]:
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


def _heads(path: str) -> list[str]:
    """The path and its beginnings, the longest first: a.b.c, a.b, a."""
    parts = path.split(".")
    return [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
