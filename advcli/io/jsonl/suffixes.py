"""The new columns as JSON text: what is put before the closing brace of each line."""

import json
from collections.abc import Callable
from copy import copy

import pyarrow as pa
import pyarrow.compute as pc

from advcli.io.collect.cells import one_array

# Rows that are made into text at once: arrow takes half a millisecond however few they are.
_ROWS = 1 << 13
# Between these, arrow and Python both write a number without an exponent.
_SMALL, _LARGE = 1e-4, 1e9


class Suffixes:
    """Hands out `"adv_original": 0.5, ...` for one row after the other; null where undefined, never NaN.

    Args:
        added: the new columns.
        advance: called with the number of rows that are done, now and then.

    Example:
        >>> suffixes = Suffixes(pa.table({"a": [0.5, None], "b": [True, False]}))
        >>> next(suffixes), suffixes.take(5).to_pylist()
        (b'"a": 0.5, "b": true', [b'"a": null, "b": false'])
    """

    def __init__(self, added: pa.Table, advance: Callable[[int], None] = lambda rows: None) -> None:
        self._made = _Made(added.combine_chunks())
        self._done, self._end = 0, len(added)
        self._advance = advance
        # Some texts as Python objects, and the row of the first.
        self._texts: list[bytes] = []
        self._first = 0

    def part(self, start: int, rows: int) -> "Suffixes":
        """Some of the rows, for a file of their own; where files are small, texts for several are made at once."""
        result = copy(self)
        result._done, result._end = start, min(start + rows, self._end)  # noqa: SLF001  of the same class
        return result

    @property
    def left(self) -> bool:
        """Whether there are more rows."""
        return self._done < self._end

    def __iter__(self) -> "Suffixes":
        return self

    def __next__(self) -> bytes:
        if not self.left:
            raise StopIteration
        position = self._done - self._first
        if not 0 <= position < len(self._texts):
            # None were made yet, or others were taken meanwhile.
            self._first, position = self._done, 0
            self._texts = self._made.some(self._done, self._end).to_pylist()
            self._advance(self._done)
        self._done += 1
        if self._done == self._end:
            self._advance(self._done)
        return self._texts[position]

    def take(self, rows: int) -> pa.Array:
        """The next rows at once, as an array of bytes; fewer where there are no more."""
        parts, end = [], min(self._done + rows, self._end)
        while self._done < end:
            parts.append(self._made.some(self._done, end))
            self._done += len(parts[-1])
        self._advance(self._done)
        return parts[0] if len(parts) == 1 else pa.concat_arrays(parts or [pa.array([], pa.binary())])


class _Made:
    """The texts that were made last; files that are written one after the other share them."""

    def __init__(self, added: pa.Table) -> None:
        self._added = added
        self._first, self._texts = 0, pa.array([], pa.binary())

    def some(self, start: int, end: int) -> pa.Array:
        """The texts of the rows between, as many as are made at once."""
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
    """As Python writes them; arrow agrees but for whole numbers and those that have an exponent."""
    text, size = values.cast(pa.string()), pc.abs(values)
    usual = pc.less(size, _LARGE)
    whole = pc.and_(usual, pc.equal(values, pc.trunc(values)))
    text = pc.if_else(whole, pc.binary_join_element_wise(text, ".0", ""), text)
    odd = pc.and_(pc.invert(whole), pc.invert(pc.and_(usual, pc.greater_equal(size, _SMALL))))
    odd = odd.fill_null(pa.scalar(value=False))
    if not pc.any(odd).as_py():
        return text
    spelled = [json.dumps(value) for value in values.filter(odd).to_pylist()]
    return pc.replace_with_mask(text, odd, pa.array(spelled, pa.string()))
