"""A whole file as one JSON value: an array of records, or one pretty-printed object.

oat writes arrays, rllm a file per episode, NeMo-RL's evaluation an object around a list.
"""

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from advcli.io.jsonl import spans

# A document may be so many times as long as a line.
_LINES = 16
_BOM = "\ufeff"
# Ends of a first line that goes on in the next one.
_OPEN = (b"{", b"[", b",", b":")


class Broken(Exception):  # noqa: N818  never leaves the readers, which know the file
    """A JSON document that is cut off, or several of them.

    Args:
        line: where, counted from 1.
        what: what is wrong.
    """

    def __init__(self, line: int, what: str) -> None:
        super().__init__(line, what)
        self.line = line
        self.what = what


class TooLarge(Exception):  # noqa: N818  never leaves the readers, which know the file
    """A JSON document that takes more memory than anybody meant it to.

    Args:
        limit: the bytes that it may have.
    """

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit


def is_document(file: BinaryIO, max_line: int) -> bool:
    """Whether a file is one JSON value that is not one object on one line.

    Args:
        file: the bytes, decompressed, from the start.
        max_line: bytes that a line may have.

    Raises:
        Broken: its first line opens a value, and the file is not that value.
        TooLarge: it is many times as long as a line may be.
    """
    head = b""
    try:
        first = _first_line(file, max_line)
        if len(first) >= max_line and not first.endswith(b"\n"):
            # Too long: the reader of lines says so.
            return False
        head = first.removeprefix(b"\xef\xbb\xbf").strip()
        if not head.startswith((b"[", b"{")) or (head.startswith(b"{") and not head.endswith(_OPEN)):
            return False
        largest = _LINES * max_line
        rest = file.read(largest)
        if len(rest) == largest and head in (b"{", b"["):
            raise TooLarge(largest)
        return len(rest) < largest and bool(_records(json.loads((first + rest).decode("utf-8-sig"))))
    except json.JSONDecodeError as error:
        if head in (b"{", b"["):
            raise Broken(error.lineno, error.msg.lower()) from error
        return False
    except (ValueError, RecursionError, OSError, MemoryError):
        # Not one value, or cut off: the reader of lines says where.
        return False


def texts(data: bytes) -> Iterator[str]:
    """The text of each record of a document, each on one line."""
    text = data.decode("utf-8", "surrogatepass").removeprefix(_BOM)
    start = len(text) - len(text.lstrip())
    if text[start] == "{":
        yield spans.on_one_line(text.strip())
        return
    for begin, end in spans.elements(text, start):
        yield spans.on_one_line(text[begin:end])


def _first_line(file: BinaryIO, most: int) -> bytes:
    """The first line that is not blank, with the blank ones before it, as far as they are no longer than a line may be."""
    lines, left = [], most
    while left > 0 and (line := file.readline(left)):
        lines.append(line)
        left -= len(line)
        if line.strip():
            break
    return b"".join(lines)


def _records(value: Any) -> list[Any]:  # noqa: ANN401  any JSON value
    """The records of a document; none if it holds something else."""
    items = value if isinstance(value, list) else [value]
    return items if all(isinstance(item, dict) for item in items) else []
