"""JSON Lines: parse what is needed, and put keys into a line without touching its bytes."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advcli.common.errors import DataError
from advcli.common.wording import one_line, reason, verb
from advcli.io.collect.batch import BadRows, Batch
from advcli.io.collect.duplicates import ROW, digests
from advcli.io.jsonl import document, fields
from advcli.io.jsonl.append import inserted
from advcli.io.jsonl.blocks import Block, blocks, is_long
from advcli.io.jsonl.suffixes import Suffixes
from advcli.io.layouts import kinds
from advcli.io.layouts import objects as layouts
from advcli.io.layouts.paths import get
from advcli.io.readahead import beside
from advcli.io.sources.find import stream
from advcli.records.layout import PLAIN, Layout
from advcli.records.table import Source

_BOM = b"\xef\xbb\xbf"
_BLANKS = b" \t\r\n"
# Records that are looked at before anything is decided, and the bytes of them that are held.
_HEAD = 100
_HEAD_BYTES = 16 << 20
# Bytes that are read of it at first.
_HEAD_FIRST = 1 << 15
# Bytes of lines in one batch.
_BATCH_BYTES = 4 << 20
# Bytes of lines that are copied at once: memory of such pieces is used again, that of larger ones is given back and cleared.
_COPIED = 1 << 20


def _integer(digits: str) -> int | str:
    """An integer; as text when it has more digits than Python converts without being asked."""
    try:
        return int(digits)
    except ValueError:
        return digits


def head(
    source: Source, *, limit: int = _HEAD, whole: bool = False
) -> tuple[dict[str, str], list[Mapping[str, Any]], bool]:
    """The first records and the types of their keys; lines that can't be parsed are skipped.

    Args:
        source: a source of JSON.
        limit: how many records to look at.
        whole: go through all lines, and keep those that tell something new.

    Returns:
        key → shape; the records; whether these are all lines that there are.
    """
    result: dict[str, str] = {}
    kept: list[Mapping[str, Any]] = []
    size = 0
    few = None if whole else _HEAD_FIRST
    for _, row, length in _rows(source, lines(source, few), BadRows(skip=True), set()):
        full = len(kept) >= limit or (kept and size > _HEAD_BYTES)
        if full and not whole:
            return result, kept, False
        if kinds.add(result, row) or not full:
            kept.append(row)
            size += length
    return result, kept, True


def scan(  # noqa: PLR0913  what a scan needs, and what is known from others
    source: Source,
    columns: Collection[str],
    *,
    refused: Collection[str],
    bad_rows: BadRows,
    dropped: set[int],
    layout: Layout = PLAIN,
    learnt: fields.FieldTypes | None = None,
) -> Iterator[Batch]:
    """Read some fields of every record.

    Args:
        source: a source of JSON.
        columns: the fields or dotted paths; what a record lacks is null.
        refused: names that no line may have, because they would be written.
        bad_rows: what to do with a line that is no JSON object.
        dropped: gets the numbers of the lines that were skipped.
        layout: how rows lie in a record.
        learnt: what is known of the fields from other files.

    Yields:
        Batches of Python values or of arrow arrays.

    Raises:
        DataError: a line is broken or has a refused name.
    """
    if (
        source.container != "jsonl"
        or source.join
        or layout.name != "rows"
        or any(name == ROW or "." in name for name in columns)
    ):
        yield from _scanned(source, lines(source), columns, frozenset(refused), bad_rows, dropped, layout)
        return
    reader = fields.Reader(source.name, columns, refused, learnt)
    with closing(beside(_with_numbers(source), apart=is_long(source))) as read:
        for block, numbers in read:
            batch = reader.batch(block, numbers)
            if batch is not None:
                # Lines that do not begin at 1 are put down.
                yield replace(batch, lines=np.asarray(batch.lines)) if source.part else batch
                continue
            for batch in _scanned(
                source, block.lines(), columns, frozenset(refused), bad_rows, dropped, layout
            ):
                reader.learn(batch.columns)
                yield batch


def _with_numbers(source: Source) -> Iterator[tuple[Block, NDArray[np.int64] | None]]:
    """The lines in blocks, each looked through in the thread that reads: that needs no lock of Python's."""
    with closing(blocks(source, apart=False)) as read:
        for block in read:
            yield block, fields.numbers(block)


def _scanned(  # noqa: PLR0913  what a scan needs, and the lines
    source: Source,
    numbered: Iterable[tuple[int, bytes]],
    columns: Collection[str],
    names: frozenset[str],
    bad_rows: BadRows,
    dropped: set[int],
    layout: Layout,
) -> Iterator[Batch]:
    """The same for some lines, one by one: what Python reads, and the errors."""
    cells: dict[str, list[Any]] = {name: [] for name in columns}
    plain = [name for name in cells if name != ROW]
    places: list[int] = []
    size = 0
    for number, row, length in _rows(source, numbered, bad_rows, dropped):
        twice = _already_there(row, layout, names)
        if twice:
            raise already_there(f"{source.name}:{number}", twice)
        try:
            count = _take(row, layout, cells, plain)
        except layouts.LayoutMismatch as error:
            bad_rows.add(
                f"{source.name}:{number}: {error}", hint="--layout or --explode, or --on-bad-row skip"
            )
            dropped.add(number)
            continue
        bad_rows.empty += not count
        places += [number] * count
        size += length
        if size > _BATCH_BYTES:
            yield Batch(source.name, cells, np.array(places))
            cells, places, size = {name: [] for name in columns}, [], 0
    if places:
        yield Batch(source.name, cells, np.array(places))


def annotate(
    source: Source,
    dropped: Collection[int],
    suffixes: Suffixes,
    write: Callable[[bytes | memoryview], Any],
    *,
    end_line: bool = False,
) -> None:
    """Copy every line with more keys in it.

    Args:
        source: a JSON Lines source.
        dropped: numbers of the lines to leave out.
        suffixes: the new keys of each row.
        write: takes the bytes.
        end_line: end the last line if it has no end, because more rows follow.

    Raises:
        DataError: the source has more or fewer rows than when it was read.
    """
    ended = True
    with closing(beside(_blocks_with(source, dropped, suffixes), apart=is_long(source))) as made:
        for pieces in made:
            for piece in pieces:
                write(piece)
                ended = piece[-1:] == b"\n"
    if suffixes.left:
        raise changed(source)
    if end_line and not ended:
        write(b"\n")


def _blocks_with(
    source: Source, dropped: Collection[int], suffixes: Suffixes
) -> Iterator[Sequence[bytes | memoryview]]:
    """The lines with more keys, a block in some pieces."""
    # Read in this thread, which is one already.
    with closing(blocks(source, size=_COPIED, apart=False)) as read:
        for block in read:
            done = inserted(block, dropped, suffixes)
            yield done if done is not None else _one_by_one(source, block, dropped, suffixes)


def _one_by_one(source: Source, block: Block, dropped: Collection[int], suffixes: Suffixes) -> list[bytes]:
    """The same for the lines of a block that is not simple."""
    lines = (_with_suffix(source, raw, suffixes) for number, raw in block.lines() if number not in dropped)
    whole = b"".join(lines)
    return [whole] if whole else []


def objects(source: Source, dropped: Collection[int], layout: Layout = PLAIN) -> Iterator[dict[str, Any]]:
    """Every row as a parsed object, for writing another format."""
    for number, record, _ in _rows(source, lines(source), BadRows(skip=bool(dropped)), set()):
        if number not in dropped:
            yield from layouts.rows(record, layout)


def texts(source: Source, dropped: Collection[int]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every record as it was written, without the blanks around, and parsed."""
    for number, raw in lines(source):
        record = None if number in dropped else parsed(raw)
        if record is not None:
            yield body(raw).decode("utf-8", "surrogatepass"), record


def already_there(place: str, names: Collection[str]) -> DataError:
    """The error for a column that the output would have twice."""
    return DataError(
        f"{place}: the {verb(len(names), 'column', 'columns')} {', '.join(names)} {verb(len(names), 'is', 'are')} "
        "there already (was this file written by advcli?)",
        hint="--prefix new_",
    )


def body(raw: bytes) -> bytes:
    """A line without the blanks and the mark of UTF-8 around it; b"" where it holds nothing."""
    return raw.removeprefix(_BOM).strip(_BLANKS)


def _with_suffix(source: Source, raw: bytes, suffixes: Suffixes) -> bytes:
    """A line with the next suffix before its closing brace; a blank line as it is."""
    whole = raw.rstrip(_BLANKS)
    if not body(raw):
        return raw
    suffix = next(suffixes, None)
    if suffix is None:
        raise changed(source)
    open_part = whole[:-1].rstrip(_BLANKS)
    separator = b"" if open_part.endswith(b"{") else b", "
    return open_part + separator + suffix + whole[len(open_part) : -1] + b"}" + raw[len(whole) :]


def _rows(
    source: Source, numbered: Iterable[tuple[int, bytes]], bad_rows: BadRows, dropped: set[int]
) -> Iterator[tuple[int, dict[str, Any], int]]:
    """Number, object and length in bytes of every line that holds a record."""
    for number, raw in numbered:
        try:
            row = parsed(raw)
        except (ValueError, RecursionError) as error:
            hint = "writing one object per line: jq -c '.[]'" if raw.lstrip().startswith(b"[") else None
            torn = isinstance(error, json.JSONDecodeError)
            bad_rows.add(f"{source.name}:{number}: {_why(error, raw)}", hint=hint, torn=torn)
            dropped.add(number)
            continue
        if row is not None:
            yield number, source.join(row) if source.join else row, len(raw)


def lines(source: Source, first: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Lines, or the elements of a JSON document, with their numbers; `first`: as `blocks` takes it."""
    if source.container == "jsonl":
        for block in blocks(source, first):
            yield from block.lines()
        return
    with stream(source) as file:
        try:
            text = file.read()
        except OSError as error:
            raise DataError(f"{source.name}: {reason(error)}") from error
    yield from enumerate((one.encode("utf-8", "surrogatepass") for one in document.texts(text)), start=1)


def _take(record: dict[str, Any], layout: Layout, cells: dict[str, list[Any]], plain: Sequence[str]) -> int:
    """Append the needed fields of a record; its texts are freed with the next line.

    Args:
        record: the record.
        layout: how rows lie in it.
        cells: column → values so far.
        plain: the columns that are keys or paths.

    Returns:
        The number of its rows.

    Raises:
        layouts.LayoutMismatch: the record is laid out in another way.
    """
    count = 1
    if layout.name == "rows":
        for name in plain:
            cells[name].append(record[name] if name in record else get(record, name) if "." in name else None)
    else:
        count, result = layouts.cells(record, layout, plain)
        for name in plain:
            cells[name] += result[name]
    if ROW in cells:
        cells[ROW] += digests(record, layout)
    return count


def _already_there(record: dict[str, Any], layout: Layout, refused: frozenset[str]) -> list[str]:
    """The names that would be there twice."""
    if layout.name == "rows" and refused.isdisjoint(record):
        return []
    return sorted(refused & layouts.keys(record, layout))


def parsed(raw: bytes) -> dict[str, Any] | None:
    """A line as an object; None for a blank line."""
    text = body(raw).decode("utf-8", "surrogatepass")
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
        what = "a JSON array" if isinstance(row, list) else "null" if row is None else one_line(row)
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
