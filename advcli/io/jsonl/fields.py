"""A few fields of many lines at once, read in C.

What the fields hold is learnt from the first rows, which were read line by line. msgspec looks for them and passes over
everything else; where it refuses, arrow is asked, which knows NaN and Infinity. Wherever a block holds anything that neither
takes (another type, a broken line, a name that may not be there), it is left to `jsonl`, which reads what Python reads
and says what is wrong; so the only difference is time.
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
# A line longer than that is left to Python.
_PARSED = 1 << 20
# Arrow reads these as numbers, Python does not.
_NO_NUMBER = re.compile(rb"[:,\[]\s*(?:-NaN|-?Inf)(?![A-Za-z])")
# Above, a float does not tell integers apart.
_EXACT = float(2**53)
# A field of this type is an error wherever it is there: no text is as long.
_Never = Annotated[str, msgspec.Meta(min_length=1 << 40)]
_PYTHON = {pa.string(): str, pa.int64(): int, pa.float64(): float}
_Way: TypeAlias = Callable[[bytes, int], dict[str, pa.Array] | None]
"""Reads lines, given how many they are; None if one is not as expected."""


@dataclass
class FieldTypes:
    """What is known of some fields: of one file, or of those before it with the same fields.

    Attributes:
        types: what each field holds; empty before the first lines.
        ways: how lines with such fields are read, tried in turn.
    """

    types: Mapping[str, pa.DataType] = field(default_factory=dict)
    ways: tuple[_Way, ...] = ()


class Reader:
    """Reads blocks of lines whose fields hold what they held at the beginning.

    Args:
        name: the source.
        columns: the fields.
        refused: names that no line may have.
        learnt: what is known of these fields, and gets what becomes known.
    """

    def __init__(
        self, name: str, columns: Collection[str], refused: Collection[str], learnt: FieldTypes | None = None
    ) -> None:
        self._name = name
        self._columns = tuple(columns)
        self._refused = tuple(refused)
        self._learnt = learnt or FieldTypes()

    def learn(self, cells: Mapping[str, Sequence[Any]]) -> None:
        """Take the types of the fields from rows that were read in Python."""
        types = {name: kind for name in self._columns if (kind := _type_of(cells[name])) is not None}
        new = len(types) == len(self._columns) and types != self._learnt.types
        if new and types.keys().isdisjoint(self._refused):
            self._learnt.types = types
            self._learnt.ways = _ways(types, self._refused)

    def batch(self, block: Block, lines: NDArray[np.int64] | None) -> Batch | None:
        """The fields of a block; None if it has to be read line by line.

        Args:
            block: some lines.
            lines: what `numbers` says of them.
        """
        if lines is None or not self._learnt.types:
            return None
        for read in self._learnt.ways:
            cells = read(block.data, len(lines))
            if cells is not None:
                return None if any(map(_inexact, cells.values())) else Batch(self._name, cells, lines)
        return None


def _ways(types: Mapping[str, pa.DataType], refused: Sequence[str]) -> tuple[_Way, ...]:
    """What is tried in turn."""
    try:
        return _Msgspec(types, refused), _Arrow(types, refused)
    except ValueError:
        # It takes no quote, backslash or control character in a name.
        return (_Arrow(types, refused),)


class _Msgspec:
    """Objects with the fields that are wanted; a NaN is an error, and so is a name that may not be there."""

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
    """The fields of lines with NaN and Infinity, as Python reads them, in about four times the time."""

    def __init__(self, types: Mapping[str, pa.DataType], refused: Sequence[str]) -> None:
        schema = pa.schema({**dict.fromkeys(refused, pa.string()), **types})
        self._options = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
        self._types, self._refused = types, refused

    def __call__(self, data: bytes, rows: int) -> dict[str, pa.Array] | None:
        # A name whose value is null looks like one that is not there.
        if any(name.encode() in data for name in self._refused) or _odd_number(data):
            return None
        try:
            table = pj.read_json(
                pa.BufferReader(data),
                read_options=pj.ReadOptions(block_size=_PARSED),
                parse_options=self._options,
            )
        except pa.ArrowException:
            return None
        if len(table) != rows or any(table[name].null_count < rows for name in self._refused):
            return None
        return {name: one_array(table[name]) for name in self._types}


def _type_of(cells: Sequence[Any]) -> pa.DataType | None:
    """What a field holds; None if it is nothing that can be read in this way."""
    kinds = {type(cell) for cell in cells} - {type(None)}
    if not kinds or kinds == {str}:
        # Where there is only null so far, a number that comes later sends its block to Python.
        return pa.string()
    if kinds == {int}:
        return pa.int64()
    return pa.float64() if kinds <= {int, float} else None


def numbers(block: Block) -> NDArray[np.int64] | None:
    """The number of each line that is not blank; None unless they are UTF-8 and begin and end with a brace.

    The last line of a file that has no end is left to Python. A brace that ends a line and one that begins the next cannot
    belong to one object, and no string holds a line end, so as many rows as lines mean one row in each.
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


def _odd_number(data: bytes) -> bool:
    text = np.frombuffer(data, np.uint8)
    # A line ends behind each, so there is a byte on either side.
    infinite, negative = np.flatnonzero(text == ord("I")), np.flatnonzero(text == ord("N"))
    some = (text[infinite + 1] == ord("n")).any() or (text[negative - 1] == ord("-")).any()
    return bool(some) and _NO_NUMBER.search(data) is not None


def _inexact(cells: pa.Array) -> bool:
    """Whether an integer may have lost digits because its column holds floats."""
    if not pa.types.is_float64(cells.type):
        return False
    return bool(pc.any(pc.greater_equal(pc.abs(cells), _EXACT)).as_py())
