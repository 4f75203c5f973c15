"""JSON Lines: parse the needed fields, and insert keys into a line without changing its bytes."""

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
from advcli.io.readahead import readahead
from advcli.io.sources.find import stream
from advcli.records.layout import PLAIN, Layout
from advcli.records.table import Source

_BOM = b"\xef\xbb\xbf"
_BLANKS = b" \t\r\n"
# Records sampled to detect formats and columns, and the bytes of them that are kept.
_HEAD = 100
_HEAD_BYTES = 16 << 20
# Bytes of the first read.
_HEAD_FIRST = 1 << 15
# Bytes of lines in one batch.
_BATCH_BYTES = 4 << 20
# Bytes of lines copied at once: the allocator reuses memory of this size, while larger blocks are returned and zeroed.
_COPY_BYTES = 1 << 20


def _integer(digits: str) -> int | str:
    """An integer, or its text if it has more digits than int() converts by default."""
    try:
        return int(digits)
    except ValueError:
        return digits


def head(
    source: Source, *, limit: int = _HEAD, whole: bool = False
) -> tuple[dict[str, str], list[Mapping[str, Any]], bool]:
    """The first records and the kinds of their fields; lines that can't be parsed are skipped.

    Args:
        source: a source of JSON.
        limit: how many records to read.
        whole: read all lines, and keep those with a new field or kind.

    Returns:
        field → kind; the records; whether these are all records of the source.
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


def scan(  # noqa: PLR0913  what a scan needs, and the types known from other files
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
        columns: the fields or dotted paths; null where a record lacks one.
        refused: names that no line may have, because they would be written.
        bad_rows: how to handle a line that is not a JSON object.
        dropped: receives the numbers of the skipped lines.
        layout: how rows are nested in a record.
        learnt: the field types known from other files.

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
    with closing(readahead(_with_numbers(source), threaded=is_long(source))) as read:
        for block, numbers in read:
            batch = reader.batch(block, numbers)
            if batch is not None:
                # A range of lines means that they start at 1, which a part of a file doesn't.
                yield replace(batch, lines=np.asarray(batch.lines)) if source.part else batch
                continue
            for batch in _scanned(
                source, block.lines(), columns, frozenset(refused), bad_rows, dropped, layout
            ):
                reader.learn(batch.columns)
                yield batch


def _with_numbers(source: Source) -> Iterator[tuple[Block, NDArray[np.int64] | None]]:
    """The lines in blocks with their numbers, found in the reading thread, because numpy releases the GIL."""
    with closing(blocks(source, threaded=False)) as read:
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
    """`scan` for lines parsed one by one with Python's json, which reports the errors."""
    cells: dict[str, list[Any]] = {name: [] for name in columns}
    plain = [name for name in cells if name != ROW]
    line_numbers: list[int] = []
    size = 0
    for number, row, length in _rows(source, numbered, bad_rows, dropped):
        twice = _already_there(row, layout, names)
        if twice:
            raise already_there(f"{source.name}:{number}", twice)
        try:
            count = _append_cells(row, layout, cells, plain)
        except layouts.LayoutMismatch as error:
            bad_rows.add(
                f"{source.name}:{number}: {error}", hint="--layout or --explode, or --on-bad-row skip"
            )
            dropped.add(number)
            continue
        bad_rows.empty += not count
        line_numbers += [number] * count
        size += length
        if size > _BATCH_BYTES:
            yield Batch(source.name, cells, np.array(line_numbers))
            cells, line_numbers, size = {name: [] for name in columns}, [], 0
    if line_numbers:
        yield Batch(source.name, cells, np.array(line_numbers))


def annotate(
    source: Source,
    dropped: Collection[int],
    suffixes: Suffixes,
    write: Callable[[bytes | memoryview], Any],
    *,
    end_line: bool = False,
) -> None:
    """Copy every line with keys added.

    Args:
        source: a JSON Lines source.
        dropped: numbers of the lines to leave out.
        suffixes: the new keys of each row.
        write: takes the bytes.
        end_line: add a missing line end after the last line, because more rows follow.

    Raises:
        DataError: the source has more or fewer rows than when it was read.
    """
    line_ended = True
    with closing(readahead(_blocks_with(source, dropped, suffixes), threaded=is_long(source))) as read:
        for pieces in read:
            for piece in pieces:
                write(piece)
                line_ended = piece[-1:] == b"\n"
    if suffixes.left:
        raise changed(source)
    if end_line and not line_ended:
        write(b"\n")


def _blocks_with(
    source: Source, dropped: Collection[int], suffixes: Suffixes
) -> Iterator[Sequence[bytes | memoryview]]:
    """The lines with keys added, each block as a few pieces."""
    # No second thread: this already runs in one.
    with closing(blocks(source, size=_COPY_BYTES, threaded=False)) as read:
        for block in read:
            pieces = inserted(block, dropped, suffixes)
            yield pieces if pieces is not None else _one_by_one(source, block, dropped, suffixes)


def _one_by_one(source: Source, block: Block, dropped: Collection[int], suffixes: Suffixes) -> list[bytes]:
    """The lines of a block that `inserted` does not support, with keys added one by one."""
    lines = (_with_suffix(source, raw, suffixes) for number, raw in block.lines() if number not in dropped)
    whole = b"".join(lines)
    return [whole] if whole else []


def objects(source: Source, dropped: Collection[int], layout: Layout = PLAIN) -> Iterator[dict[str, Any]]:
    """Every row as a parsed object, for writing another format."""
    for number, record, _ in _rows(source, lines(source), BadRows(skip=bool(dropped)), set()):
        if number not in dropped:
            yield from layouts.rows(record, layout)


def texts(source: Source, dropped: Collection[int]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every record as its original text, stripped, and parsed."""
    for number, raw in lines(source):
        record = None if number in dropped else parsed(raw)
        if record is not None:
            yield body(raw).decode("utf-8", "surrogatepass"), record


def already_there(place: str, names: Collection[str]) -> DataError:
    """The error for a column that would be in the output twice."""
    return DataError(
        f"{place}: the {verb(len(names), 'column', 'columns')} {', '.join(names)} {verb(len(names), 'is', 'are')} "
        "there already (was this file written by advcli?)",
        hint="--prefix new_",
    )


def body(raw: bytes) -> bytes:
    """A line without surrounding blanks and the UTF-8 BOM; b"" if it is empty."""
    return raw.removeprefix(_BOM).strip(_BLANKS)


def _with_suffix(source: Source, raw: bytes, suffixes: Suffixes) -> bytes:
    """A line with the next suffix before its closing brace; a blank line unchanged."""
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
    """Number, object and byte length of every line that holds a record."""
    for number, raw in numbered:
        try:
            row = parsed(raw)
        except (ValueError, RecursionError) as error:
            hint = "writing one object per line: jq -c '.[]'" if raw.lstrip().startswith(b"[") else None
            torn = isinstance(error, json.JSONDecodeError)
            bad_rows.add(f"{source.name}:{number}: {_parse_error(error, raw)}", hint=hint, torn=torn)
            dropped.add(number)
            continue
        if row is not None:
            yield number, source.join(row) if source.join else row, len(raw)


def lines(source: Source, first: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Lines, or the elements of a JSON document, with their numbers; `first` as in `blocks`."""
    if source.container == "jsonl":
        for block in blocks(source, first):
            yield from block.lines()
        return
    with stream(source) as file:
        try:
            text = file.read()
        except OSError as error:
            raise DataError(f"{source.name}: {reason(error)}") from error
    yield from enumerate(
        (record.encode("utf-8", "surrogatepass") for record in document.texts(text)), start=1
    )


def _append_cells(
    record: dict[str, Any], layout: Layout, cells: dict[str, list[Any]], plain: Sequence[str]
) -> int:
    """Append the needed fields of a record, so that the rest of it can be freed.

    Args:
        record: the record.
        layout: how rows are nested in it.
        cells: column → its values so far.
        plain: the columns that are keys or paths.

    Returns:
        The number of its rows.

    Raises:
        layouts.LayoutMismatch: the record has a different layout.
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
    """The refused names that a record has."""
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
        # More digits than int() converts; as an id, the digits are enough.
        row = json.loads(text, parse_int=_integer)
    if not isinstance(row, dict):
        what = "a JSON array" if isinstance(row, list) else "null" if row is None else one_line(row)
        raise _NotAnObject(f"the line is {what}, expected one JSON object per line")
    return row


class _NotAnObject(ValueError):  # noqa: N818  never leaves this module
    """A line is JSON but not an object."""


def _parse_error(error: Exception, raw: bytes) -> str:
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
    """The error for a source that changed after the first pass."""
    return DataError(
        f"{source.name}: the file changed while it was read", hint="again when its writer is done"
    )
