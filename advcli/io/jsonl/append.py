r"""Fast path: inserts new keys into many lines at once.

If every line of a block is one object whose closing brace directly follows its last value, as all writers produce it, the
block is cut at those braces and arrow joins the pieces with the new keys, without a Python object per line.
Any other block (blank lines, blanks before the brace, skipped lines, a missing line end) is left to `read`, line by line.
"""

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from advcli.io.jsonl.blocks import Block
from advcli.io.jsonl.suffixes import Suffixes

_RETURN, _OPEN, _CLOSE, _BLANK = b"\r{} "
# Arrow's binary arrays have 32-bit offsets.
_MAX_BYTES = 1 << 30


def inserted(block: Block, dropped: Collection[int], suffixes: Suffixes) -> list[memoryview] | None:
    """A block with the new keys inserted into each line.

    Args:
        block: some lines.
        dropped: numbers of lines to leave out.
        suffixes: the new keys of the next rows.

    Returns:
        Its bytes in pieces; None if the block is not that simple.
    """
    braces = _braces(block)
    if braces is None or (dropped and any(block.first + row in dropped for row in range(len(braces)))):
        return None
    new = suffixes.take(len(braces))
    if len(new) < len(braces):
        # The caller reports the missing rows.
        return None
    offsets = np.concatenate([[0], braces]).astype(np.int32)
    pieces = pa.BinaryArray.from_buffers(
        pa.binary(), len(braces), [None, pa.py_buffer(offsets), pa.py_buffer(block.data)]
    )
    joined = pc.binary_join_element_wise(pieces, new, b", ")
    return [_bytes_of(joined), memoryview(block.data)[braces[-1] :]]


def _braces(block: Block) -> NDArray[np.int64] | None:
    """The position of each line's closing brace; None unless all lines are simple."""
    data, ends = block.data, block.ends
    if not data.endswith(b"\n") or len(data) > _MAX_BYTES:
        return None
    text = np.frombuffer(data, np.uint8)
    starts = np.concatenate([[0], ends[:-1] + 1])
    if (ends - starts < len("{x}")).any():
        return None
    braces = ends - 1 - (text[ends - 1] == _RETURN)
    before = text[braces - 1]
    simple = (text[starts] == _OPEN) & (text[braces] == _CLOSE) & (before > _BLANK) & (before != _OPEN)
    return braces if simple.all() else None


def _bytes_of(array: pa.Array) -> memoryview:
    """All values, concatenated."""
    _, offsets, data = array.buffers()
    ends = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1]
    return memoryview(data)[int(ends[0]) : int(ends[-1])]
