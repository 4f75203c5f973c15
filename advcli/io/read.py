"""The first pass: reads only keys, rewards, steps, lengths and other small columns."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from advcli.common.errors import DataError, UsageError
from advcli.io.collect import duplicates
from advcli.io.collect.batch import BadRows
from advcli.io.collect.batching import BatchQueue
from advcli.io.collect.collector import Collector
from advcli.io.columns.choose import choose
from advcli.io.formats import derived, traps
from advcli.io.jsonl import fields
from advcli.io.jsonl import read as jsonl
from advcli.io.parquet import read as parquet
from advcli.io.survey import Survey, survey
from advcli.records.table import Choice, ColumnOptions, RewardTable, Source

Advance: TypeAlias = Callable[[int], None]
"""Called with the number of additional rows that are done."""


def scans() -> Mapping[str, Callable[..., Any]]:
    """Container → its scan function; field types learnt from one file are reused for the next."""
    lines = partial(jsonl.scan, learnt=fields.FieldTypes())
    return {"jsonl": lines, "json": lines, "parquet": parquet.scan}


def read(
    sources: Sequence[Source],
    options: ColumnOptions,
    *,
    refused: Collection[str] = (),
    skip_bad_rows: bool = False,
    refuse_missing: bool = False,
    advance: Advance = lambda rows: None,
) -> RewardTable:
    """Read the columns of the first pass from all sources as one data set.

    Args:
        sources: the inputs, in order.
        options: which columns the user asked for.
        refused: column names that the inputs may not have, because they would be written.
        skip_bad_rows: count bad rows instead of stopping at the first.
        refuse_missing: stop at the first missing reward.
        advance: called after each batch with the number of its rows.

    Returns:
        The rewards, prompt codes, steps and lengths of every row.

    Raises:
        DataError: a file is broken, has no rows, or lacks a needed column.
        UsageError: a column that the user named doesn't exist.
    """
    seen, choice = look(sources, options, skip_bad_rows=skip_bad_rows)
    collector = Collector(
        choice,
        BadRows(skip=skip_bad_rows, broken=choice.rules.appended),
        refuse_missing=refuse_missing,
        asked_for=(options.length, *(name for _, name in options.roles), *options.extra),
    )
    rows, dropped = _scan_all(sources, collector, refused, advance)
    if not sum(rows):
        raise _no_rows(sources, collector.bad_rows)
    table = collector.table(sources, rows, dropped, numbered=duplicates.has_numbers(seen.kinds))
    usable = bool((table.key >= 0).any())
    refuse_nothing(sources, sum(rows), usable, collector.bad_rows, table.warnings)
    remarks = (text for source in sources for text in source.remarks)
    doubts = table.choice.doubts
    return replace(table, warnings=(*remarks, *doubts, *table.warnings, *traps.found(table, seen.kinds)))


def refuse_nothing(
    sources: Sequence[Source], rows: int, usable: int, bad_rows: BadRows, messages: Sequence[str]
) -> None:
    """Raise an error for a data set without usable rows.

    Args:
        sources: the inputs.
        rows: the number of rows.
        usable: the number of rows that belong to a prompt.
        bad_rows: the skipped rows.
        messages: other messages about skipped rows.

    Raises:
        DataError: there is no row, or none that can be used.
    """
    if not rows:
        raise _no_rows(sources, bad_rows)
    if not usable:
        if bad_rows.first:
            raise DataError(f"{_named(sources)}: every row is bad ({bad_rows.first})", hint="other columns")
        raise DataError(f"{_named(sources)}: no row is left ({'; '.join(messages) or 'none has a prompt'})")


def look(
    sources: Sequence[Source], options: ColumnOptions, *, skip_bad_rows: bool = False
) -> tuple[Survey, Choice]:
    """Sample the first records of all sources and choose the columns to read.

    Raises:
        DataError: there is no record, or no column fits.
        UsageError: a column that the user named doesn't exist.
    """
    seen = survey(sources, options)
    if seen is None:
        # Only broken or empty lines: the scan reports which.
        bad_rows = BadRows(skip=skip_bad_rows)
        _scan_all(sources, Collector(Choice("generic", (), None, ()), bad_rows), ())
        raise _no_rows(sources, bad_rows)
    return _chosen(sources, options, seen)


def read_one(
    source: Source,
    choice: Choice,
    options: ColumnOptions,
    *,
    refused: Collection[str] = (),
    skip_bad_rows: bool = False,
    refuse_missing: bool = False,
) -> tuple[RewardTable, NDArray[np.int64], BadRows] | None:
    """Read the columns of the first pass from one source of a distributed data set.

    Args:
        source: the input.
        choice: the columns, chosen by `look` from all sources.
        options: what the user asked for.
        refused: as in `read`.
        skip_bad_rows: as in `read`.
        refuse_missing: as in `read`.

    Returns:
        The rows; [K, 2] a digest for each prompt code, the same in every process; and the bad rows. None
        if there is no row.

    Raises:
        DataError: the file is broken.
    """
    collector = Collector(
        choice,
        BadRows(skip=skip_bad_rows, broken=choice.rules.appended),
        refuse_missing=refuse_missing,
        asked_for=(options.length, *(name for _, name in options.roles), *options.extra),
    )
    rows, dropped = _scan_all([source], collector, refused)
    if not sum(rows):
        return None
    table = collector.table([source], rows, dropped)
    return table, collector.digests(table.key), collector.bad_rows


def _chosen(sources: Sequence[Source], options: ColumnOptions, seen: Survey) -> tuple[Survey, Choice]:
    """The columns to read; if the first records don't suffice, all records are sampled."""
    try:
        return seen, replace(
            choose(seen.kinds, options, seen.form, seen.layout, seen.evidence), format=seen.name
        )
    except (DataError, UsageError):
        complete = None if seen.whole else survey(sources, options, whole=True)
        if complete is None:
            raise
        result = choose(complete.kinds, options, complete.form, complete.layout, complete.evidence)
        return complete, replace(result, format=complete.name)


def _scan_all(
    sources: Sequence[Source],
    collector: "Collector",
    refused: Collection[str],
    advance: Advance = lambda rows: None,
) -> tuple[tuple[int, ...], tuple[frozenset[int], ...]]:
    queue, scan = BatchQueue(collector), scans()
    try:
        result = [_scanned(source, scan, collector, queue, refused, advance) for source in sources]
    except Exception:
        queue.flush()
        raise
    queue.flush()
    return tuple(rows for rows, _ in result), tuple(dropped for _, dropped in result)


def _scanned(
    source: Source,
    scan: Mapping[str, Callable[..., Any]],
    collector: Collector,
    queue: BatchQueue,
    refused: Collection[str],
    advance: Advance,
) -> tuple[int, frozenset[int]]:
    """The number of rows of a source, and the numbers of the dropped lines."""
    rows = 0
    dropped: set[int] = set()
    batches = scan[source.container](
        source,
        derived.inputs(collector.choice),
        refused=refused,
        bad_rows=collector.bad_rows,
        dropped=dropped,
        layout=collector.choice.layout,
    )
    try:
        for batch in batches:
            queue.add(derived.completed(batch, collector.choice))
            rows += len(batch.lines)
            advance(len(batch.lines))
    except (UnicodeDecodeError, OverflowError) as error:
        raise DataError(f"{source.name}: a value cannot be read ({error})", hint="other columns") from error
    return rows, frozenset(dropped)


def _no_rows(sources: Sequence[Source], bad_rows: BadRows) -> DataError:
    skipped = "".join(f" ({text})" for text in bad_rows.warnings())
    return DataError(f"{_named(sources)}: no rows, expected one per response{skipped}")


def _named(sources: Sequence[Source]) -> str:
    return sources[0].name if len(sources) == 1 else f"{len(sources)} inputs"
