"""Fast path: reads a few fields of many lines at once in C.

The field types are taken from the first rows, which are read line by line. msgspec decodes the fields and skips
everything else; if it fails, arrow is tried, which accepts NaN and Infinity. A block that neither accepts (another type, a
broken line, a refused name) is left to `read`, which parses it with Python's json and reports errors; the result is the same.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Annotated, Any, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
from numpy.typing import NDArray

from advcli.io.collect.batch import Batch
from advcli.io.collect.cells import one_array
from advcli.io.jsonl.blocks import Block

_RETURN, _OPEN, _CLOSE = b"\r{}"
# Longer lines are left to Python.
_MAX_LINE = 1 << 20
# Arrow accepts these as numbers, Python doesn't.
_NO_NUMBER = re.compile(rb"[:,\[]\s*(?:-NaN|-?Inf)(?![A-Za-z])")
# From 2^53 on, a float can't represent every integer.
_MAX_EXACT = float(2**53)
# A field of this type always fails to decode, because no text is that long.
_Never = Annotated[str, msgspec.Meta(min_length=1 << 40)]
_PYTHON = {pa.string(): str, pa.int64(): int, pa.float64(): float}
_Decoder: TypeAlias = Callable[[bytes, int], dict[str, pa.Array] | None]
"""Reads lines, given their number; None if one is not as expected."""


@dataclass
class FieldTypes:
    """The known types of some fields, shared by files with the same fields.

    Attributes:
        types: field → its type; empty before the first lines.
        ways: readers of lines with such fields, tried in turn.
    """

    types: Mapping[str, pa.DataType] = field(default_factory=dict)
    ways: tuple[_Decoder, ...] = ()


class Reader:
    """Reads blocks of lines whose fields have the types of the first rows.

    Args:
        name: the source.
        columns: the fields.
        refused: names that no line may have.
        learnt: the field types, which `learn` updates.
    """

    def __init__(
        self, name: str, columns: Collection[str], refused: Collection[str], learnt: FieldTypes | None = None
    ) -> None:
        self._name = name
        self._columns = tuple(columns)
        self._refused = tuple(refused)
        self._learnt = learnt or FieldTypes()

    def learn(self, cells: Mapping[str, Sequence[Any]]) -> None:
        """Take the field types from rows that were read in Python."""
        types = {name: kind for name in self._columns if (kind := _type_of(cells[name])) is not None}
        new = len(types) == len(self._columns) and types != self._learnt.types
        if new and types.keys().isdisjoint(self._refused):
            self._learnt.types = types
            self._learnt.ways = _ways(types, self._refused)

    def batch(self, block: Block, lines: NDArray[np.int64] | None) -> Batch | None:
        """The fields of a block; None if it has to be read line by line.

        Args:
            block: some lines.
            lines: the result of `numbers` for the block.
        """
        if lines is None or not self._learnt.types:
            return None
        for read in self._learnt.ways:
            cells = read(block.data, len(lines))
            if cells is not None:
                return None if any(map(_inexact, cells.values())) else Batch(self._name, cells, lines)
        return None


def _ways(types: Mapping[str, pa.DataType], refused: Sequence[str]) -> tuple[_Decoder, ...]:
    """The readers to try in turn."""
    try:
        return _Msgspec(types, refused), _Arrow(types, refused)
    except ValueError:
        # msgspec rejects field names with a quote, backslash or control character.
        return (_Arrow(types, refused),)


class _Msgspec:
    """Decodes the requested fields with msgspec, which fails on NaN and on refused names."""

    def __init__(self, types: Mapping[str, pa.DataType], refused: Sequence[str]) -> None:
        kinds = [_PYTHON[kind] | None for kind in types.values()] + [_Never] * len(refused)
        fields = [(f"_{position}", kind, None) for position, kind in enumerate(kinds)]
        names = dict(zip((field for field, _, _ in fields), (*types, *refused), strict=True))
        self._types = types
        self._decoder = msgspec.json.Decoder(msgspec.defstruct("Row", fields, rename=names.get, gc=False))

    def __call__(self, data: bytes, rows: int) -> dict[str, pa.Array] | None:
        try:
            result = self._decoder.decode_lines(data)
            if len(result) != rows:
                return None
            return {
                name: pa.array(list(map(attrgetter(f"_{position}"), result)), kind)
                for position, (name, kind) in enumerate(self._types.items())
            }
        except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError, pa.ArrowException):
            return None


class _Arrow:
    """Decodes the requested fields with arrow, which accepts NaN and Infinity like Python, about four times slower."""

    def __init__(self, types: Mapping[str, pa.DataType], refused: Sequence[str]) -> None:
        schema = pa.schema({**dict.fromkeys(refused, pa.string()), **types})
        self._options = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
        self._types, self._refused = types, refused

    def __call__(self, data: bytes, rows: int) -> dict[str, pa.Array] | None:
        # In arrow's result, a refused name with value null looks absent.
        if any(name.encode() in data for name in self._refused) or _has_invalid_number(data):
            return None
        try:
            table = pj.read_json(
                pa.BufferReader(data),
                read_options=pj.ReadOptions(block_size=_MAX_LINE),
                parse_options=self._options,
            )
        except pa.ArrowException:
            return None
        if len(table) != rows or any(table[name].null_count < rows for name in self._refused):
            return None
        return {name: one_array(table[name]) for name in self._types}


def _type_of(cells: Sequence[Any]) -> pa.DataType | None:
    """The type of a field; None if it can't be read by a fast path."""
    kinds = {type(cell) for cell in cells} - {type(None)}
    if not kinds or kinds == {str}:
        # Only nulls so far: a later block with a number is read by Python.
        return pa.string()
    if kinds == {int}:
        return pa.int64()
    return pa.float64() if kinds <= {int, float} else None


def numbers(block: Block) -> NDArray[np.int64] | None:
    """The line number of each non-blank line; None unless all are UTF-8 and begin and end with a brace.

    A last line without a line end is left to Python. A brace that ends a line and one that begins the next can't
    belong to one object, and no string contains a line end, so if there are as many objects as lines, each line is one object.
    """
    data, ends = block.data, block.ends
    if not data.endswith(b"\n"):
        return None
    text = np.frombuffer(data, np.uint8)
    starts = np.concatenate([[0], ends[:-1] + 1])
    last = ends - 1 - ((ends - starts > 0) & (text[ends - 1] == _RETURN))
    some = last >= starts
    if not ((text[starts[some]] == _OPEN) & (text[last[some]] == _CLOSE)).all() or not _is_utf8(data):
        return None
    result: NDArray[np.int64] = block.first + np.flatnonzero(some)
    return result


def _is_utf8(data: bytes) -> bool:
    whole = pa.py_buffer(np.array([0, len(data)], dtype=np.int64))
    try:
        pa.LargeStringArray.from_buffers(1, whole, pa.py_buffer(data)).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _has_invalid_number(data: bytes) -> bool:
    text = np.frombuffer(data, np.uint8)
    # The data begin with a brace and end with a line end, so there is a byte on either side.
    infinite, negative = np.flatnonzero(text == ord("I")), np.flatnonzero(text == ord("N"))
    some = (text[infinite + 1] == ord("n")).any() or (text[negative - 1] == ord("-")).any()
    return bool(some) and _NO_NUMBER.search(data) is not None


def _inexact(cells: pa.Array) -> bool:
    """Whether an integer may have lost digits because it was read as a float."""
    if not pa.types.is_float64(cells.type):
        return False
    return bool(pc.any(pc.greater_equal(pc.abs(cells), _MAX_EXACT)).as_py())
