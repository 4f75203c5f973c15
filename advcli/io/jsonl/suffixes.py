"""The new columns as JSON text, to be inserted before the closing brace of each line."""

import json
from collections.abc import Callable
from copy import copy

import pyarrow as pa
import pyarrow.compute as pc

from advcli.io.collect.cells import one_array

# Rows converted to text at once: a call of arrow takes half a millisecond however few they are.
_ROWS = 1 << 13
# Between these, both arrow and Python write a number without an exponent.
_SMALL, _LARGE = 1e-4, 1e9


class Suffixes:
    """Yields `"adv_original": 0.5, ...` for each row in order; null where undefined, never NaN.

    Args:
        added: the new columns.
        advance: called now and then with the number of rows done.

    Example:
        >>> suffixes = Suffixes(pa.table({"a": [0.5, None], "b": [True, False]}))
        >>> next(suffixes), suffixes.take(5).to_pylist()
        (b'"a": 0.5, "b": true', [b'"a": null, "b": false'])
    """

    def __init__(self, added: pa.Table, advance: Callable[[int], None] = lambda rows: None) -> None:
        self._cache = _TextCache(added.combine_chunks())
        self._done, self._end = 0, len(added)
        self._advance = advance
        # The current texts as Python objects, and the row of the first.
        self._texts: list[bytes] = []
        self._first = 0

    def part(self, start: int, rows: int) -> "Suffixes":
        """A slice of the rows, for a separate file; the texts of several small files are made at once."""
        result = copy(self)
        result._done, result._end = start, min(start + rows, self._end)  # noqa: SLF001  of the same class
        return result

    @property
    def left(self) -> bool:
        """Whether rows remain."""
        return self._done < self._end

    def __iter__(self) -> "Suffixes":
        return self

    def __next__(self) -> bytes:
        if not self.left:
            raise StopIteration
        position = self._done - self._first
        if not 0 <= position < len(self._texts):
            # Not converted yet, or `take` has moved on meanwhile.
            self._first, position = self._done, 0
            self._texts = self._cache.some(self._done, self._end).to_pylist()
            self._advance(self._done)
        self._done += 1
        if self._done == self._end:
            self._advance(self._done)
        return self._texts[position]

    def take(self, rows: int) -> pa.Array:
        """The next rows at once, as an array of bytes; fewer at the end."""
        parts, end = [], min(self._done + rows, self._end)
        while self._done < end:
            parts.append(self._cache.some(self._done, end))
            self._done += len(parts[-1])
        self._advance(self._done)
        return parts[0] if len(parts) == 1 else pa.concat_arrays(parts or [pa.array([], pa.binary())])


class _TextCache:
    """Caches the last converted texts; files that are written one after another share them."""

    def __init__(self, added: pa.Table) -> None:
        self._added = added
        self._first, self._texts = 0, pa.array([], pa.binary())

    def some(self, start: int, end: int) -> pa.Array:
        """The texts of the rows from `start`: up to `end`, or fewer if the cached chunk ends before."""
        position = start - self._first
        if not 0 <= position < len(self._texts):
            self._first, self._texts, position = start, _texts(self._added.slice(start, _ROWS)), 0
        return self._texts.slice(position, end - start)


def _texts(added: pa.Table) -> pa.Array:
    parts: list[str | pa.Array] = []
    for name, column in zip(added.column_names, added.columns, strict=True):
        values = one_array(column)
        parts += [f"{', ' if parts else ''}{json.dumps(name)}: ", _text(values)]
    joined = pc.binary_join_element_wise(*parts, "")
    return joined.cast(pa.binary())


def _text(values: pa.Array) -> pa.Array:
    if pa.types.is_float64(values.type):
        text = _floats(values)
    elif pa.types.is_integer(values.type):
        text = values.cast(pa.string())
    elif pa.types.is_boolean(values.type):
        text = pc.if_else(values, "true", "false")
    else:
        return pa.array([json.dumps(value) for value in values.to_pylist()], pa.string())
    return text.fill_null("null")


def _floats(values: pa.Array) -> pa.Array:
    """Floats as Python writes them; arrow differs for whole numbers and those with an exponent."""
    text, size = values.cast(pa.string()), pc.abs(values)
    no_exponent = pc.less(size, _LARGE)
    whole = pc.and_(no_exponent, pc.equal(values, pc.trunc(values)))
    text = pc.if_else(whole, pc.binary_join_element_wise(text, ".0", ""), text)
    differing = pc.and_(pc.invert(whole), pc.invert(pc.and_(no_exponent, pc.greater_equal(size, _SMALL))))
    differing = differing.fill_null(pa.scalar(value=False))
    if not pc.any(differing).as_py():
        return text
    spelled = [json.dumps(value) for value in values.filter(differing).to_pylist()]
    return pc.replace_with_mask(text, differing, pa.array(spelled, pa.string()))
