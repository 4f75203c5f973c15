"""A few fields of many lines at once, read by arrow.

What the fields hold is learnt from the first rows, which were read line by line. Wherever a block holds anything else (another
type, a broken line, a name that may not be there, a repeated key), it is left to `jsonl`, which reads what Python reads and
says what is wrong; so the only difference is time.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
from numpy.typing import NDArray

from advcli.io.batch import Batch
from advcli.io.lines import Block
from advcli.io.values import one_array

_RETURN, _OPEN, _CLOSE = b"\r{}"
# A line longer than that is left to Python.
_PARSED = 1 << 20
# Arrow reads these as numbers, Python does not.
_NO_NUMBER = re.compile(rb"[:,\[]\s*(?:-NaN|-?Inf)(?![A-Za-z])")
# Above, a float does not tell integers apart.
_EXACT = float(2**53)


class Reader:
    """Reads blocks of lines whose fields hold what they held at the beginning.

    Args:
        name: the source.
        columns: the fields.
        refused: names that no line may have.
    """

    def __init__(self, name: str, columns: Collection[str], refused: Collection[str]) -> None:
        self._name = name
        self._columns = tuple(columns)
        self._refused = tuple(refused)
        self._marks = tuple(name.encode() for name in refused)
        self._types: dict[str, pa.DataType] | None = None

    def learn(self, cells: Mapping[str, Sequence[Any]]) -> None:
        """Take the types of the fields from rows that were read in Python."""
        found = {name: _type_of(cells[name]) for name in self._columns}
        if None not in found.values():
            self._types = found

    def batch(self, block: Block) -> Batch | None:
        """The fields of a block; None if it has to be read line by line."""
        if self._types is None or not self._types or any(mark in block.data for mark in self._marks):
            return None
        lines = _lines(block)
        if lines is None or _odd_number(block.data):
            return None
        table = self._parsed(block.data)
        if table is None or len(table) != len(lines):
            return None
        cells = {name: one_array(table[name]) for name in self._columns}
        if any(table[name].null_count < len(table) for name in self._refused) or any(
            map(_inexact, cells.values())
        ):
            return None
        return Batch(self._name, cells, lines)

    def _parsed(self, data: bytes) -> pa.Table | None:
        assert self._types is not None
        schema = pa.schema({**dict.fromkeys(self._refused, pa.string()), **self._types})
        try:
            return pj.read_json(
                pa.BufferReader(data),
                read_options=pj.ReadOptions(block_size=_PARSED),
                parse_options=pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
            )
        except pa.ArrowException:
            return None


def _type_of(cells: Sequence[Any]) -> pa.DataType | None:
    """What a field holds; None if it is nothing that can be read in this way."""
    kinds = {type(cell) for cell in cells} - {type(None)}
    if not kinds or kinds == {str}:
        # Where there is only null so far, a number that comes later sends its block to Python.
        return pa.string()
    if kinds == {int}:
        return pa.int64()
    return pa.float64() if kinds <= {int, float} else None


def _lines(block: Block) -> NDArray[np.int64] | None:
    """The number of each line that is not blank; None unless they are UTF-8 and begin and end with a brace.

    The last line of a file that has no end is left to Python. A brace that ends a line and one that begins the next cannot belong to one object, so as many rows as lines mean
    one row in each.
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
    numbers: NDArray[np.int64] = block.first + np.flatnonzero(some)
    return numbers


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
