"""Files that are one JSON value: an array of records, or one pretty-printed object.

oat writes arrays, rllm a file per episode, NeMo-RL's evaluation an object around a list.
"""

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from advcli.io.jsonl import spans

# A document may be this many times the maximum line length.
_MAX_LINES = 16
_BOM = "\ufeff"
# Endings of a first line that continues on the next one.
_CONTINUED = (b"{", b"[", b",", b":")


class Broken(Exception):  # noqa: N818  never leaves the readers, which know the file
    """A JSON document that is truncated, or several of them.

    Args:
        line: the line of the error, counted from 1.
        what: what is wrong.
    """

    def __init__(self, line: int, what: str) -> None:
        super().__init__(line, what)
        self.line = line
        self.what = what


class TooLarge(Exception):  # noqa: N818  never leaves the readers, which know the file
    """A JSON document that is too large to be read into memory.

    Args:
        limit: the maximum size in bytes.
    """

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit


def is_document(file: BinaryIO, max_line: int) -> bool:
    """Whether a file is one JSON value, other than an object on one line.

    Args:
        file: the bytes, decompressed, from the start.
        max_line: the maximum line length in bytes.

    Raises:
        Broken: the first line opens a value, but the file is not one JSON value.
        TooLarge: it is many times longer than a line may be.
    """
    head = b""
    try:
        first = _first_line(file, max_line)
        if len(first) >= max_line and not first.endswith(b"\n"):
            # Too long: the line reader reports it.
            return False
        head = first.removeprefix(b"\xef\xbb\xbf").strip()
        if not head.startswith((b"[", b"{")) or (head.startswith(b"{") and not head.endswith(_CONTINUED)):
            return False
        largest = _MAX_LINES * max_line
        rest = file.read(largest)
        if len(rest) == largest and head in (b"{", b"["):
            raise TooLarge(largest)
        return len(rest) < largest and bool(_records(json.loads((first + rest).decode("utf-8-sig"))))
    except json.JSONDecodeError as error:
        if head in (b"{", b"["):
            raise Broken(error.lineno, error.msg.lower()) from error
        return False
    except (ValueError, RecursionError, OSError, MemoryError):
        # Not one value, or truncated: the line reader reports where.
        return False


def texts(data: bytes) -> Iterator[str]:
    """The text of each record of a document, on one line."""
    text = data.decode("utf-8", "surrogatepass").removeprefix(_BOM)
    start = len(text) - len(text.lstrip())
    if text[start] == "{":
        yield spans.on_one_line(text.strip())
        return
    for begin, end in spans.elements(text, start):
        yield spans.on_one_line(text[begin:end])


def _first_line(file: BinaryIO, limit: int) -> bytes:
    """The first non-blank line and the blank ones before it, at most `limit` bytes."""
    lines, remaining = [], limit
    while remaining > 0 and (line := file.readline(remaining)):
        lines.append(line)
        remaining -= len(line)
        if line.strip():
            break
    return b"".join(lines)


def _records(value: Any) -> list[Any]:  # noqa: ANN401  any JSON value
    """The records of a document; empty if it holds anything else."""
    items = value if isinstance(value, list) else [value]
    return items if all(isinstance(item, dict) for item in items) else []
