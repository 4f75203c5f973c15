"""The lines of a file in blocks, so that C++ can process thousands of them at once."""

import io
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from advcli.common.errors import DataError
from advcli.common.wording import megabytes
from advcli.io.readahead import readahead
from advcli.io.sources.find import stream
from advcli.records.table import Source

# Bytes of a block. The first one is smaller, because often no more is read.
_FIRST = 1 << 20
_SIZE = 2 << 20
_PIECE = 1 << 16
_NEWLINE = 10
# Bytes from which on a line counts as long.
_LONG = 512


@dataclass(frozen=True)
class Block:
    r"""Some consecutive lines.

    Attributes:
        first: the number of the first line, counted from 1.
        data: the lines with their line ends; a last line of a file without one is a block of its own.
    """

    first: int
    data: bytes

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """The positions of the line ends."""
        if self.data.find(b"\n", 0, _LONG) >= 0:
            return np.flatnonzero(np.frombuffer(self.data, np.uint8) == _NEWLINE)
        # For long lines, one find() per line is faster than comparing every byte.
        result, find, end = [], self.data.find, -1
        while (end := find(b"\n", end + 1)) >= 0:
            result.append(end)
        return np.array(result, dtype=np.int64)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        r"""Each line with its number, split at \\n only, because U+2028 and the like are legal in a JSON string."""
        return enumerate(io.BytesIO(self.data), start=self.first)


def blocks(
    source: Source, first: int | None = None, *, size: int | None = None, threaded: bool = True
) -> Generator[Block]:
    """The lines of a source, decompressed, with readahead.

    Args:
        source: a source of lines.
        first: approximate bytes of the first block; None for the default.
        size: bytes of the others; None for the best size for parsing.
        threaded: False to read in the caller's thread, unless the source is compressed.

    Raises:
        DataError: the file is truncated; raised after the lines before.
    """
    threaded = is_long(source) and (threaded or source.codec is not None)
    return readahead(_blocks(source, first or size or _FIRST, size or _SIZE), threaded=threaded)


def is_long(source: Source) -> bool:
    """Whether a source has more than one block, so that a thread pays off."""
    try:
        return source.path.stat().st_size > _FIRST
    except OSError:
        # Opening the file reports the error.
        return False


def _blocks(source: Source, first: int, more: int) -> Generator[Block]:
    number, size, rest = source.part.line if source.part else 1, first, b""
    with stream(source) as file:
        while True:
            try:
                pieces = _read(file, size, rest, source, number)
                error = None
            except _TruncatedError as broken_off:
                pieces, error = broken_off.pieces, broken_off.reason
            last = pieces.pop()
            cut = last.rfind(b"\n") + 1
            if cut:
                block = Block(number, b"".join([*pieces, memoryview(last)[:cut]]))
                lengths = np.diff(block.ends, prepend=-1)
                if lengths.max() > source.max_line:
                    raise _too_long(source, number + int((lengths > source.max_line).argmax()))
                # Computes `block.ends` in the reading thread, for whoever uses the block.
                number += len(block.ends)
                yield block
                rest = last[cut:]
            else:
                rest = b"".join([*pieces, last])
            if error:
                raise DataError(
                    f"{source.name}:{number}: {error}", hint="writing or copying the file again"
                ) from error
            if not cut:
                break
            size = more
    if rest:
        yield Block(number, rest)


def _too_long(source: Source, number: int) -> DataError:
    """The error for a line that is longer than the limit."""
    return DataError(
        f"{source.name}:{number}: the line is longer than {megabytes(source.max_line)}",
        hint=f"--max-line {megabytes(2 * source.max_line).replace(' ', '')}, if that is no mistake",
    )


def _read(file: BinaryIO, size: int, rest: bytes, source: Source, number: int) -> list[bytes]:
    """`rest`, and about `size` bytes more; the last piece contains a line end, except at the end of the file."""
    pieces, held, line = [rest], 0, len(rest)
    limit = _PIECE if source.codec else size
    while held < size or b"\n" not in pieces[-1]:
        try:
            # A single short read of the decompressor, so that little data is lost if it fails.
            piece = file.read1(limit)  # type: ignore[attr-defined]
        except OSError as error:
            raise _TruncatedError(_joined(pieces), error) from error
        if not piece:
            return _joined(pieces)
        pieces.append(piece)
        held += len(piece)
        end = piece.rfind(b"\n")
        line = line + len(piece) if end < 0 else len(piece) - end - 1
        if line > source.max_line:
            before = sum(data.count(b"\n") for data in pieces)
            raise _too_long(source, number + before)
    return pieces


def _joined(pieces: list[bytes]) -> list[bytes]:
    """The same bytes as one piece, which then contains the last line end."""
    return [b"".join(pieces)]


class _TruncatedError(Exception):
    """A file is truncated; holds the data before."""

    def __init__(self, pieces: list[bytes], reason: OSError) -> None:
        super().__init__(reason)
        self.pieces, self.reason = pieces, reason
