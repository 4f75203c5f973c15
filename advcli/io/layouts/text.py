"""Writes exploded JSON: one row each, or records with new values added; existing values are copied verbatim."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from advcli.io.jsonl import spans
from advcli.io.layouts import objects
from advcli.records.layout import Layout


def row_texts(text: str, record: Mapping[str, Any], layout: Layout) -> Iterator[str]:
    """The rows of a record as JSON objects, one line each, without the closing brace.

    Args:
        text: the original text of the record.
        record: the parsed record.
        layout: how rows are nested in it.

    Example:
        >>> text = '{"p": "a", "r": [1.0, 2e0]}'
        >>> list(row_texts(text, json.loads(text), Layout("lists", "r", ("r",), ("p",))))
        ['{"p": "a", "r": 1.0', '{"p": "a", "r": 2e0']
    """
    if layout.name in ("rows", "ones"):
        yield spans.on_one_line(text).rstrip()[:-1].rstrip()
        return
    values = spans.values(text)
    rows = _nested(values, layout) if layout.name == "nested" else _lists(values, record, layout)
    for row in rows:
        yield "{" + ", ".join(f"{json.dumps(key, ensure_ascii=False)}: {value}" for key, value in row.items())


def folded(text: str, layout: Layout, added: Mapping[str, Sequence[str]]) -> str:
    """A record with new values added in its layout: as lists, or in its nested objects.

    Args:
        text: the original text of the record.
        layout: how rows are nested in it.
        added: key → JSON text of the value of each row.

    Example:
        >>> folded('{"s": [{"r": 1}, {}]}', Layout("nested", "s"), {"adv": ["0.5", "null"]})
        '{"s": [{"r": 1, "adv": 0.5}, {"adv": null}]}'
    """
    if layout.name != "nested":
        lists = (
            f"{json.dumps(key, ensure_ascii=False)}: [{', '.join(values)}]" for key, values in added.items()
        )
        return _with(text, ", ".join(lists))
    begin = next(begin for key, begin, _ in _last(text, layout.path))
    parts, at = [], 0
    for row, (start, end) in enumerate(spans.elements(text, begin)):
        pairs = (f"{json.dumps(key, ensure_ascii=False)}: {values[row]}" for key, values in added.items())
        parts += [text[at:start], _with(text[start:end], ", ".join(pairs))]
        at = end
    return "".join([*parts, text[at:]])


def can_fold(text: str, layout: Layout) -> bool:
    """Whether the list is stored as a list, not as JSON in a string."""
    return layout.name != "nested" or any(text[begin] == "[" for _, begin, _ in _last(text, layout.path))


def _last(text: str, path: str) -> list[tuple[str, int, int]]:
    return [member for member in spans.members(text) if member[0] == path][-1:]


def _with(text: str, members: str) -> str:
    """An object with more members before its closing brace."""
    head = text.rstrip()[:-1].rstrip()
    tail = text[len(head) :]
    return f"{head}{'' if head.endswith('{') else ', '}{members}{tail}"


def _nested(values: Mapping[str, str], layout: Layout) -> Iterator[dict[str, str]]:
    """Members of the record and of one object each; a record's key that objects have too is renamed."""
    array = _array(values[layout.path])
    for begin, _ in spans.elements(array):
        item = spans.values(array, begin)
        about = {objects.outer_name(key, item): value for key, value in values.items() if key != layout.path}
        yield about | item


def _lists(values: Mapping[str, str], record: Mapping[str, Any], layout: Layout) -> Iterator[dict[str, str]]:
    count = objects.length(record, layout)
    columns = {}
    for key, value in values.items():
        split = objects.is_split(record, layout, key, count)
        cells = (
            [value[begin:end] for begin, end in spans.elements(value)] if split and value[0] == "[" else []
        )
        # A list of another length is repeated in all rows, so that nothing is lost.
        columns[key] = cells if len(cells) == count else [value] * count
    for row in range(count):
        yield {key: cells[row] for key, cells in columns.items()}


def _array(text: str) -> str:
    """A list, also one that was stored as a string."""
    return str(json.loads(text)) if text.startswith('"') else text
