"""Pass (a): one task per file reads its columns and numbers its rows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from advcli.common.wording import together
from advcli.distributed.files.remote import with_retries
from advcli.distributed.tasks import ObjectRef, Tasks
from advcli.io.collect.batch import BadRows
from advcli.io.collect.numbering import line_numbers
from advcli.io.lookup import row_digests
from advcli.io.read import read_one, refuse_nothing
from advcli.records.roles import LABELS
from advcli.records.table import Choice, ColumnOptions, RewardTable, Source

DIGEST, NTH = "digest", "nth"
"""Columns that only some commands need: a digest of each row, and its index within the record."""

# Fields of the table with one number per row.
_NUMBERS = ("length", "logged", "turn")
# Fields with one integer per row.
_INTEGERS = ("rollout", "turn_counts")


@dataclass(frozen=True)
class ScanJob:
    """What every scan task needs.

    Attributes:
        sources: the files.
        choice: the columns that are read.
        kinds: column → kind.
        options: what the user asked for.
        refused: column names that no file may have.
        skip_bad_rows: count bad rows instead of stopping at the first.
        refuse_missing: stop at the first missing reward.
        refuse_singletons: stop at a group with one valid row.
        inspected: also compute a digest of each row, including texts, and the extents of every reward column.
        messages: remarks about the choice of columns.
    """

    sources: tuple[Source, ...]
    choice: Choice
    kinds: Mapping[str, str]
    options: ColumnOptions
    refused: tuple[str, ...] = ()
    skip_bad_rows: bool = False
    refuse_missing: bool = False
    refuse_singletons: bool = False
    inspected: bool = False
    messages: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each file."""
        return tuple(source.name for source in self.sources)


@dataclass(frozen=True)
class Summary:
    """What the driver learns about a file.

    Attributes:
        file: its number.
        rows: number of rows.
        usable: number of rows that belong to a prompt.
        steps: the names of its steps.
        step_rows: number of rows of each step.
        low: the smallest usable reward; NaN without one.
        high: the largest usable reward; NaN without one.
        by: the values of the `--by` column.
        extents: for all rows (None) and for each of these values: the smallest and the largest usable value of
            each reward column, NaN without one.
        logged: number of rows with a logged advantage.
        peak: the largest absolute logged advantage; 0 without any.
        uneven: number of rows whose logged advantage differs between their tokens.
        dropped: numbers of the lines that are not rows.
        bad: the bad rows.
        warnings: messages about other skipped rows.
        prompts: digest of each prompt → its name; empty unless names were requested.
    """

    file: int
    rows: int
    usable: int = 0
    steps: tuple[str, ...] = ()
    step_rows: tuple[int, ...] = ()
    low: float = math.nan
    high: float = math.nan
    by: tuple[str, ...] = ()
    extents: Mapping[str | None, tuple[tuple[float, float], ...]] = field(default_factory=dict)
    logged: int = 0
    peak: float = 0.0
    uneven: int = 0
    dropped: frozenset[int] = frozenset()
    bad: BadRows = field(default_factory=BadRows)
    warnings: tuple[str, ...] = ()
    prompts: Mapping[tuple[int, int], str] = field(default_factory=dict)


def read(tasks: Tasks, job: ScanJob) -> tuple[list[ObjectRef], list[Summary]]:
    """Read all files, one task per file, so that a worker that dies loses only one file.

    Args:
        tasks: the cluster.
        job: the scan job.

    Returns:
        The rows of each file, which stay on the workers, and the summary of each file, in order.

    Raises:
        DataError: a file is broken, or no file has a row.
    """
    shared = tasks.share(job)
    result = [tasks.split(2, scan, number, shared) for number in range(len(job.sources))]
    summaries = tasks.get([summary for summary, _ in result])
    _refuse_nothing(job, summaries)
    return [rows for _, rows in result], summaries


def scan(number: int, job: ScanJob) -> tuple[Summary, pa.Table]:
    """Read a file; returns its summary and its rows."""
    result = with_retries(job.sources[number], lambda source: _read(source, job))
    if result is None:
        empty = _columns(number, blank(job.choice), np.zeros((0, 2), dtype=np.int64), job)
        if job.inspected:
            empty = empty.append_column(DIGEST, pa.array(np.zeros(0, dtype=np.uint64)))
        return Summary(number, 0), empty
    table, digests, bad = result
    columns = _columns(number, table, digests, job)
    if job.inspected:
        texts = with_retries(
            job.sources[number], lambda source: row_digests(source, table.dropped[0], job.choice.layout)
        )
        columns = columns.append_column(DIGEST, pa.array(texts))
    digest = map(tuple, digests.tolist() if table.prompts else ())
    names = {key: prompt.name for key, prompt in zip(digest, table.prompts, strict=True)}
    return replace(_summary(number, table, bad, job), prompts=names), columns


def _read(source: Source, job: ScanJob) -> tuple[RewardTable, NDArray[np.int64], BadRows] | None:
    return read_one(
        source,
        job.choice,
        job.options,
        refused=job.refused,
        skip_bad_rows=job.skip_bad_rows,
        refuse_missing=job.refuse_missing,
    )


def _columns(number: int, table: RewardTable, digests: NDArray[np.int64], job: ScanJob) -> pa.Table:
    """The columns of a file; the key is a digest, because codes differ from file to file."""
    rows = len(table.key)
    usable = table.key >= 0
    if table.choice.prompt:
        key = digests[np.where(usable, table.key, 0)] if len(digests) else np.zeros((rows, 2), dtype=np.int64)
    else:
        # Groups are cut by position, so the key is the position among the usable rows.
        key = np.stack([np.cumsum(usable) - 1, np.zeros(rows, dtype=np.int64)], axis=1)
    lines = line_numbers(table)
    # int32 where possible, because all rows of all files are held in memory.
    columns: dict[str, Any] = {
        "file": pa.array(np.full(rows, number, dtype=np.int32)),
        "row": pa.array(np.arange(rows, dtype=np.int32)),
        "line": pa.array(lines.astype(np.int32)),
        "key": pa.array(key[:, 0]),
        "key2": pa.array(key[:, 1]),
        "usable": pa.array(usable),
        "step": pa.array(np.zeros(rows, np.int32) if table.step is None else table.step.astype(np.int32)),
        "reward": pa.array(table.rewards),
        "cause": pa.array(table.cause),
    }
    if table.parts is not None:
        columns |= {f"part {i}": pa.array(part) for i, part in enumerate(np.ascontiguousarray(table.parts.T))}
    fields = ((name, getattr(table, name)) for name in (*_NUMBERS, *_INTEGERS))
    columns |= {name: pa.array(values) for name, values in fields if values is not None}
    columns |= {
        f"role {name}": pa.array(values) for name, values in table.roles.items() if len(values) == rows
    }
    columns |= {f"extra {name}": pa.array(values) for name, values in table.extra.items()}
    columns |= {f"outcome {name}": pa.array(values) for name, values in table.outcomes.items()}
    columns |= {f"cause {name}": pa.array(codes) for name, codes in table.causes.items()}
    if table.choice.logged:
        uneven = np.zeros(rows, dtype=bool) if table.uneven is None else table.uneven
        columns["uneven"] = pa.array(uneven)
    if table.by is not None:
        columns["by"] = pa.array(table.by)
    if job.inspected and job.choice.layout.exploded:
        # The index of each row within its record.
        columns[NTH] = pa.array(np.arange(rows) - np.searchsorted(lines, lines))
    if table.token_counts is not None:
        ends = pa.array(np.concatenate([[0], np.cumsum(table.token_counts)]), pa.int64())
        for role, values in table.tokens.items():
            columns[f"tokens {role}"] = pa.LargeListArray.from_arrays(ends, pa.array(values))
    return pa.table(columns)


def blank(choice: Choice) -> RewardTable:
    """A table without rows, with the columns of a choice."""
    floats, integers = np.zeros(0), np.zeros(0, dtype=np.int64)
    single = {name: floats for name in _NUMBERS if getattr(choice, name)}
    return RewardTable(
        rewards=floats,
        cause=np.zeros(0, dtype=np.int8),
        key=np.zeros(0, dtype=np.int64),
        step=np.zeros(0, dtype=np.int64) if choice.step else None,
        step_names=(),
        length=single.get("length"),
        logged=single.get("logged"),
        turn=single.get("turn"),
        rollout=integers if choice.rollout else None,
        turn_counts=integers if choice.turn_list else None,
        parts=np.zeros((0, len(choice.rewards))) if len(choice.rewards) > 1 else None,
        turn_rewards=floats if choice.turn_list else None,
        roles={role: integers if role in LABELS else floats for role, _ in choice.roles},
        extra=dict.fromkeys(choice.extra, floats),
        outcomes=dict.fromkeys(choice.outcomes, floats),
        causes=dict.fromkeys(_with_causes(choice), np.zeros(0, dtype=np.int8)),
        by=np.zeros(0, dtype=np.int64) if choice.by else None,
        tokens={role: floats for role, _ in choice.tokens},
        token_counts=np.zeros(0, dtype=np.int64) if choice.tokens else None,
        rows=(),
        choice=choice,
        dropped=(),
        lines=np.zeros(0, dtype=np.int64),
        names=(),
    )


def _with_causes(choice: Choice) -> list[str]:
    """The reward columns whose missing values are counted by cause."""
    parts = [name for name, _ in choice.rewards] if len(choice.rewards) > 1 else []
    return [*parts, *choice.outcomes]


def _summary(number: int, table: RewardTable, bad: BadRows, job: ScanJob) -> Summary:
    usable = table.key >= 0
    logged = np.zeros(0) if table.logged is None else table.logged[np.isfinite(table.logged)]
    finite = table.rewards[usable & np.isfinite(table.rewards)]
    counts = (
        () if table.step is None else tuple(np.bincount(table.step, minlength=len(table.step_names)).tolist())
    )
    return Summary(
        file=number,
        rows=len(table.key),
        usable=int(usable.sum()),
        steps=table.step_names,
        step_rows=counts,
        low=float(finite.min()) if len(finite) else math.nan,
        high=float(finite.max()) if len(finite) else math.nan,
        by=table.by_names,
        extents=_extents(table) if job.inspected else {},
        logged=len(logged),
        peak=float(np.abs(logged).max(initial=0.0)),
        uneven=0 if table.uneven is None else int(table.uneven.sum()),
        dropped=table.dropped[0],
        bad=bad,
        warnings=table.warnings[len(bad.warnings()) :],
    )


def _extents(table: RewardTable) -> dict[str | None, tuple[tuple[float, float], ...]]:
    parts = () if table.parts is None else table.parts.T
    columns = [table.rewards, *parts, *table.outcomes.values()]
    usable = table.key >= 0
    result: dict[str | None, tuple[tuple[float, float], ...]] = {
        None: tuple(_extent(values[usable]) for values in columns)
    }
    for code, name in enumerate(table.by_names):
        mask = usable & (table.by == code)
        result[name] = tuple(_extent(values[mask]) for values in columns)
    return result


def _extent(values: NDArray[np.float64]) -> tuple[float, float]:
    values = values[np.isfinite(values)]
    return (float(values.min()), float(values.max())) if len(values) else (math.nan, math.nan)


def _refuse_nothing(job: ScanJob, summaries: Sequence[Summary]) -> None:
    """Raise the same error as on one machine for a data set without usable rows."""
    rows, usable = (sum(getattr(summary, name) for summary in summaries) for name in ("rows", "usable"))
    refuse_nothing(job.sources, rows, usable, _bad(summaries), _messages(summaries))


def _bad(summaries: Sequence[Summary]) -> BadRows:
    """The bad rows of all files."""
    first = next((summary.bad.first for summary in summaries if summary.bad.first), "")
    count, empty = (sum(getattr(summary.bad, name) for summary in summaries) for name in ("count", "empty"))
    encrypted = {name for summary in summaries for name in summary.bad.encrypted}
    return BadRows(skip=True, count=count, first=first, empty=empty, encrypted=encrypted)


def _messages(summaries: Sequence[Summary]) -> tuple[str, ...]:
    return together(text for summary in summaries for text in summary.warnings)


def warnings(summaries: Sequence[Summary]) -> tuple[str, ...]:
    """The messages about skipped rows of all files."""
    return (*_bad(summaries).warnings(), *_messages(summaries))
