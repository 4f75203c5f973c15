"""Finds the positions of values in a JSON text, so that they can be copied verbatim.

Copying the characters preserves a number of 30 digits, an unusual escape or a bare NaN; parsing and writing again doesn't.
"""

import json
import re
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

_SPACE = re.compile(r"[ \t\n\r]*")
_LINE_END = re.compile(r"\s*[\r\n]\s*", re.ASCII)
# Parsed values are discarded, so numbers are not converted.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)

Span = tuple[int, int]


def members(text: str, start: int = 0) -> Iterator[tuple[str, int, int]]:
    """The members of an object.

    Args:
        text: valid JSON text.
        start: position of the opening brace.

    Yields:
        Key, and begin and end of its value.

    Example:
        >>> text = '{"a": 1.50, "b": [NaN]}'
        >>> [(key, text[begin:end]) for key, begin, end in members(text)]
        [('a', '1.50'), ('b', '[NaN]')]
    """
    at = _after_space(text, start + 1)
    while text[at] != "}":
        key, at = scanstring(text, at + 1)
        begin = _after_space(text, _after_space(text, at) + 1)
        end = _end(text, begin)
        yield key, begin, end
        at = _next(text, end)


def elements(text: str, start: int = 0) -> Iterator[Span]:
    """The elements of a list, as begin and end.

    Example:
        >>> text = '[ 1, {"a": "]"} ]'
        >>> [text[begin:end] for begin, end in elements(text)]
        ['1', '{"a": "]"}']
    """
    at = _after_space(text, start + 1)
    while text[at] != "]":
        end = _end(text, at)
        yield at, end
        at = _next(text, end)


def values(text: str, start: int = 0) -> dict[str, str]:
    """The members of an object as key → text of its value, on one line; of duplicate keys, the last one counts."""
    return {key: on_one_line(text[begin:end]) for key, begin, end in members(text, start)}


def on_one_line(text: str) -> str:
    """A JSON value on one line; its line ends are between tokens, never in a string."""
    return _LINE_END.sub(" ", text)


def _end(text: str, begin: int) -> int:
    value: tuple[Any, int] = _DECODER.raw_decode(text, begin)
    return value[1]


def _next(text: str, end: int) -> int:
    """The position of the next member or the closing bracket."""
    at = _after_space(text, end)
    return _after_space(text, at + 1) if text[at] == "," else at


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
