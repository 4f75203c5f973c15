"""JSON Lines: parse what is needed, and put keys into a line without touching its bytes."""

import json
from collections.abc import Callable, Collection, Iterator
from itertools import islice
from typing import Any

import numpy as np

from advcli.errors import DataError
from advcli.io.batch import BadRows, Batch
from advcli.io.sources import stream
from advcli.io.values import kinds_of_objects
from advcli.records import Source
from advcli.words import one_line, verb

_BOM = b"\xef\xbb\xbf"
_HEAD = 100
# Bytes of lines in one batch.
_BATCH_BYTES = 4 << 20


def _integer(digits: str) -> int | str:
    """An integer; as text when it has more digits than Python converts without being asked."""
    try:
        return int(digits)
    except ValueError:
        return digits


def kinds(source: Source) -> dict[str, str]:
    """The fields of the first lines and what they hold; lines that cannot be parsed are passed over."""
    skip = BadRows(skip=True)
    return kinds_of_objects(row for _, row, _ in islice(_rows(source, skip, set()), _HEAD))


def scan(
    source: Source,
    columns: Collection[str],
    *,
    refused: Collection[str],
    bad_rows: BadRows,
    dropped: set[int],
) -> Iterator[Batch]:
    """Read some fields of every line.

    Args:
        source: a JSON Lines source.
        columns: the fields; a field that a line lacks is null.
        refused: names that no line may have, because they would be written.
        bad_rows: what to do with a line that is no JSON object.
        dropped: gets the numbers of the lines that were skipped.

    Yields:
        Batches of Python values.

    Raises:
        DataError: a line is broken or has a refused name.
    """
    cells: dict[str, list[Any]] = {name: [] for name in columns}
    places: list[int] = []
    size = 0
    for number, row, length in _rows(source, bad_rows, dropped):
        if not row.keys().isdisjoint(refused):
            raise already_there(f"{source.name}:{number}", sorted(row.keys() & set(refused)))
        # Only what is wanted is kept of a row, so that its texts are gone with the next line.
        for name, values in cells.items():
            values.append(row.get(name))
        places.append(number)
        size += length
        if size > _BATCH_BYTES:
            yield Batch(source.name, cells, np.array(places))
            cells, places, size = {name: [] for name in columns}, [], 0
    if places:
        yield Batch(source.name, cells, np.array(places))


def annotate(
    source: Source,
    dropped: Collection[int],
    suffixes: Iterator[bytes],
    write: Callable[[bytes], Any],
    *,
    end_line: bool = False,
) -> None:
    """Copy every line with more keys in it.

    Args:
        source: a JSON Lines source.
        dropped: numbers of the lines to leave out.
        suffixes: for each row, the new keys as `"key": value, ...`.
        write: takes the bytes.
        end_line: end the last line if it has no end, because more rows follow.

    Raises:
        DataError: the source has more or fewer rows than when it was read.
    """
    ended = True
    for number, raw in lines(source):
        if number in dropped:
            continue
        body = raw.rstrip()
        ended = raw.endswith(b"\n")
        if not body.removeprefix(_BOM).strip():
            write(raw)
        else:
            suffix = next(suffixes, None)
            if suffix is None:
                raise changed(source)
            write(_inserted(raw, body, suffix))
    if next(suffixes, None) is not None:
        raise changed(source)
    if end_line and not ended:
        write(b"\n")


def objects(source: Source, dropped: Collection[int]) -> Iterator[dict[str, Any]]:
    """Every row as a parsed object, for writing another format."""
    return (row for _, row, _ in _rows(source, BadRows(skip=bool(dropped)), set()))


def already_there(place: str, names: Collection[str]) -> DataError:
    """The error for a column that the output would have twice."""
    return DataError(
        f"{place}: the {verb(len(names), 'column', 'columns')} {', '.join(names)} {verb(len(names), 'is', 'are')} "
        "there already (was this file written by advcli?)",
        hint="--prefix new_",
    )


def _inserted(raw: bytes, body: bytes, suffix: bytes) -> bytes:
    """Put `suffix` before the closing brace of a line."""
    open_part = body[:-1].rstrip()
    separator = b"" if open_part.endswith(b"{") else b", "
    return open_part + separator + suffix + body[len(open_part) : -1] + b"}" + raw[len(body) :]


def _rows(source: Source, bad_rows: BadRows, dropped: set[int]) -> Iterator[tuple[int, dict[str, Any], int]]:
    """Number, object and length in bytes of every line that holds a row."""
    for number, raw in lines(source):
        try:
            row = parsed(raw)
        except (ValueError, RecursionError) as error:
            hint = "writing one object per line: jq -c '.[]'" if raw.lstrip().startswith(b"[") else None
            bad_rows.add(f"{source.name}:{number}: {_why(error, raw)}", hint=hint)
            dropped.add(number)
            continue
        if row is not None:
            yield number, row, len(raw)


def lines(source: Source) -> Iterator[tuple[int, bytes]]:
    r"""Lines with their numbers, split at \\n only: U+2028 and the like are legal in a JSON string."""
    number = 0
    with stream(source) as file:
        try:
            for number, raw in enumerate(file, start=1):
                yield number, raw
        except OSError as error:
            raise DataError(
                f"{source.name}:{number + 1}: {error}", hint="writing or copying the file again"
            ) from error


def parsed(raw: bytes) -> dict[str, Any] | None:
    """A line as an object; None for a blank line."""
    text = raw.removeprefix(_BOM).decode("utf-8", "surrogatepass").strip(" \t\r\n")
    if not text:
        return None
    try:
        row = json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        # More digits than int() takes; the digits themselves are what an id needs.
        row = json.loads(text, parse_int=_integer)
    if not isinstance(row, dict):
        what = "a JSON array" if isinstance(row, list) else one_line(row)
        raise _NotAnObject(f"the line is {what}, expected one JSON object per line")
    return row


class _NotAnObject(ValueError):  # noqa: N818  never leaves this module
    """A line is JSON, but no object."""


def _why(error: Exception, raw: bytes) -> str:
    if isinstance(error, _NotAnObject):
        return str(error)
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 at byte {error.start + 1}"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        cut = "" if raw.endswith(b"\n") else "; the last line is incomplete"
        return f"not valid JSON at column {error.colno} ({error.msg.lower()}){cut}"
    return str(error)


def changed(source: Source) -> DataError:
    """The error for a source that is not what the first pass saw."""
    return DataError(
        f"{source.name}: the file changed while it was read", hint="again when its writer is done"
    )
