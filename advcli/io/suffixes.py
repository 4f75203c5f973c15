"""The new columns as JSON text: what is put before the closing brace of each line."""

import json
from collections.abc import Callable, Iterator
from copy import copy

import pyarrow as pa
import pyarrow.compute as pc

from advcli.io.values import one_array

# Rows that are made into text at once where fewer are asked for.
_ROWS = 4096
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
        self._next: Iterator[tuple[int, bytes]] = iter(())

    def part(self, start: int, rows: int) -> "Suffixes":
        """Some of the rows, for a file of their own; where files are small, texts for several are made at once."""
        found = copy(self)
        found._done, found._end = start, min(start + rows, self._end)
        return found

    @property
    def left(self) -> bool:
        """Whether there are more rows."""
        return self._done < self._end

    def __iter__(self) -> "Suffixes":
        return self

    def __next__(self) -> bytes:
        if not self.left:
            raise StopIteration
        place, text = next(self._next, (-1, b""))
        if place != self._done:
            # None were made yet, or others were taken meanwhile.
            some = self._made.between(self._done, min(self._done + _ROWS, self._end)).to_pylist()
            self._next = enumerate(some, start=self._done)
            self._advance(self._done)
            _, text = next(self._next)
        self._done += 1
        if self._done == self._end:
            self._advance(self._done)
        return text

    def take(self, rows: int) -> pa.Array:
        """The next rows at once, as an array of bytes; fewer where there are no more."""
        found = self._made.between(self._done, min(self._done + rows, self._end))
        self._done += len(found)
        self._advance(self._done)
        return found


class _Made:
    """The texts that were made last."""

    def __init__(self, added: pa.Table) -> None:
        self._added = added
        self._first, self._texts = 0, pa.array([], pa.binary())

    def between(self, start: int, end: int) -> pa.Array:
        if not self._first <= start <= end <= self._first + len(self._texts):
            self._first, self._texts = start, _texts(self._added.slice(start, max(end - start, _ROWS)))
        return self._texts.slice(start - self._first, end - start)


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
