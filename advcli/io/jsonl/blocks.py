"""The lines of a file in blocks, so that C++ can look at thousands of them at once."""

import io
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from advcli.common.errors import DataError
from advcli.common.wording import megabytes
from advcli.io.readahead import beside
from advcli.io.sources.find import stream
from advcli.records.table import Source

# Bytes of a block. The first one is small: it is often all that is looked at.
_FIRST = 1 << 20
_SIZE = 2 << 20
_PIECE = 1 << 16
_NEWLINE = 10
# A line with so many bytes is a long one.
_LONG = 512


@dataclass(frozen=True)
class Block:
    r"""Some consecutive lines.

    Attributes:
        first: the number of the first line, from 1.
        data: the lines, each with its end; only the last of a file may have none, and then it is a block of its own.
    """

    first: int
    data: bytes

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """Where the line ends are."""
        if self.data.find(b"\n", 0, _LONG) >= 0:
            return np.flatnonzero(np.frombuffer(self.data, np.uint8) == _NEWLINE)
        # One look-up per line takes less than one per byte, if all lines are as long as the first.
        result, find, end = [], self.data.find, -1
        while (end := find(b"\n", end + 1)) >= 0:
            result.append(end)
        return np.array(result, dtype=np.int64)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        r"""Each line with its number, split at \\n only: U+2028 and the like are legal in a JSON string."""
        return enumerate(io.BytesIO(self.data), start=self.first)


def blocks(
    source: Source, first: int | None = None, *, size: int | None = None, apart: bool = True
) -> Generator[Block]:
    """The lines of a source, decompressed; the next are read while these are used.

    Args:
        source: a source of lines.
        first: about how many bytes the first block has; None for the usual number.
        size: bytes of the others; None for as many as are best to be parsed.
        apart: False to read in the thread that asks, unless they have to be decompressed.

    Raises:
        DataError: the file breaks off; the lines before come first.
    """
    apart = is_long(source) and (apart or source.codec is not None)
    return beside(_blocks(source, first or size or _FIRST, size or _SIZE), apart=apart)


def is_long(source: Source) -> bool:
    """Whether a source has more than a block, so that a thread pays."""
    try:
        return source.path.stat().st_size > _FIRST
    except OSError:
        # Opening it says why.
        return False


def _blocks(source: Source, first: int, more: int) -> Generator[Block]:
    number, size, rest = source.part.line if source.part else 1, first, b""
    with stream(source) as file:
        while True:
            try:
                pieces = _read(file, size, rest, source, number)
                error = None
            except _BrokenOffError as found:
                pieces, error = found.pieces, found.reason
            last = pieces.pop()
            cut = last.rfind(b"\n") + 1
            if cut:
                block = Block(number, b"".join([*pieces, memoryview(last)[:cut]]))
                lengths = np.diff(block.ends, prepend=-1)
                if lengths.max() > source.max_line:
                    raise _too_long(source, number + int((lengths > source.max_line).argmax()))
                # Here, in the thread that reads: whoever uses a block asks for them.
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
    """The error for a line that is longer than a line may be."""
    return DataError(
        f"{source.name}:{number}: the line is longer than {megabytes(source.max_line)}",
        hint=f"--max-line {megabytes(2 * source.max_line).replace(' ', '')}, if that is no mistake",
    )


def _read(file: BinaryIO, size: int, rest: bytes, source: Source, number: int) -> list[bytes]:
    """What is left of the last line and about `size` bytes more; a line end is in the last piece unless it is the end."""
    pieces, held, line = [rest], 0, len(rest)
    most = _PIECE if source.codec else size
    while held < size or b"\n" not in pieces[-1]:
        try:
            # One read of the decompressor, and a short one, so that little is lost with an error.
            piece = file.read1(most)  # type: ignore[attr-defined]
        except OSError as error:
            raise _BrokenOffError(_ending(pieces), error) from error
        if not piece:
            return _ending(pieces)
        pieces.append(piece)
        held += len(piece)
        end = piece.rfind(b"\n")
        line = line + len(piece) if end < 0 else len(piece) - end - 1
        if line > source.max_line:
            before = sum(one.count(b"\n") for one in pieces)
            raise _too_long(source, number + before)
    return pieces


def _ending(pieces: list[bytes]) -> list[bytes]:
    """The same bytes, the last line end in the last piece."""
    return [b"".join(pieces)]


class _BrokenOffError(Exception):
    """A file breaks off, and what came before."""

    def __init__(self, pieces: list[bytes], reason: OSError) -> None:
        super().__init__(reason)
        self.pieces, self.reason = pieces, reason
