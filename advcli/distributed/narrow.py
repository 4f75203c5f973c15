"""Pass (a): one task per file reads its narrow columns, and numbers its rows."""

import math
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from advcli.distributed import faults
from advcli.distributed.patience import patiently
from advcli.errors import DataError
from advcli.io.batch import BadRows
from advcli.io.read import read_one
from advcli.records.table import Choice, ColumnOptions, RewardTable, Source
from advcli.words import together

# Columns of one number per row, by the field of the table that they come from.
_NUMBERS = ("length", "baseline", "kl", "logged")
ABOUT = "about"


@dataclass(frozen=True)
class Job:
    """What every task has to know.

    Attributes:
        sources: the files.
        choice: the columns that are read.
        kinds: the columns that there are, and what they hold.
        options: what the user asked for.
        refused: names that no file may have.
        skip_bad_rows: count bad rows instead of stopping at the first.
        refuse_missing: stop at the first missing reward.
        refuse_singletons: stop at a group with one valid row.
    """

    sources: tuple[Source, ...]
    choice: Choice
    kinds: Mapping[str, str]
    options: ColumnOptions
    refused: tuple[str, ...] = ()
    skip_bad_rows: bool = False
    refuse_missing: bool = False
    refuse_singletons: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each file."""
        return tuple(source.name for source in self.sources)


@dataclass(frozen=True)
class Summary:
    """What the driver gets to know of a file.

    Attributes:
        file: its number.
        rows: its rows.
        usable: those that belong to a prompt.
        steps: the names of its steps.
        step_rows: the rows of each.
        low: the smallest usable reward; NaN without one.
        high: the largest.
        dropped: numbers of the lines that are no rows.
        bad: the bad rows.
        warnings: what else was skipped, in words.
    """

    file: int
    rows: int
    usable: int = 0
    steps: tuple[str, ...] = ()
    step_rows: tuple[int, ...] = ()
    low: float = math.nan
    high: float = math.nan
    dropped: frozenset[int] = frozenset()
    bad: BadRows = field(default_factory=BadRows)
    warnings: tuple[str, ...] = ()


def read(data: Any, job: Job) -> tuple[Any, list[Summary]]:  # noqa: ANN401  Ray's module and class
    """Read all files.

    Args:
        data: the module `ray.data`.
        job: what to read.

    Returns:
        The rows as a data set that lies in Ray's memory, and a summary of each file, in order.

    Raises:
        DataError: a file is broken, or no file has a row.
    """
    files = data.from_items(list(range(len(job.sources))), override_num_blocks=len(job.sources))
    # One file, one task: a worker that dies loses no more than that.
    scanned = files.map_batches(
        scan, batch_size=1, batch_format="pyarrow", fn_kwargs={"job": job}, num_cpus=1
    ).materialize()
    told = scanned.map_batches(_abouts, batch_size=None, batch_format="pyarrow").take_all()
    summaries = sorted((pickle.loads(row[ABOUT]) for row in told), key=lambda summary: summary.file)
    _refuse_nothing(job, summaries)
    return scanned, summaries


def scan(batch: pa.Table, job: Job) -> Iterator[pa.Table]:
    """Read the files of a batch; first comes a row that holds the summary."""
    for number in batch["item"].to_pylist():
        faults.strike("read", number)
        found = patiently(job.sources[number], lambda source: _read(source, job))
        if found is None:
            yield _with_about(_empty(job.choice), Summary(number, 0))
            continue
        table, digests, bad = found
        yield _with_about(_empty(job.choice), _summary(number, table, bad))
        yield _columns(number, table, digests).append_column(ABOUT, pa.nulls(len(table.key), pa.binary()))


def _read(source: Source, job: Job) -> tuple[RewardTable, NDArray[np.int64], BadRows] | None:
    return read_one(
        source,
        job.choice,
        job.options,
        refused=job.refused,
        skip_bad_rows=job.skip_bad_rows,
        refuse_missing=job.refuse_missing,
    )


def _columns(number: int, table: RewardTable, digests: NDArray[np.int64]) -> pa.Table:
    """The narrow columns of a file; a digest stands for the key, as codes differ from file to file."""
    rows = len(table.key)
    usable = table.key >= 0
    if table.choice.prompt:
        key = digests[np.where(usable, table.key, 0)] if len(digests) else np.zeros((rows, 2), dtype=np.int64)
    else:
        # Cut by position: the place among the usable rows is all that there is to a key.
        key = np.stack([np.cumsum(usable) - 1, np.zeros(rows, dtype=np.int64)], axis=1)
    columns: dict[str, Any] = {
        "file": pa.array(np.full(rows, number, dtype=np.int32)),
        "row": pa.array(np.arange(rows)),
        "line": pa.array(table.lines.astype(np.int64)),
        "key": pa.array(key[:, 0]),
        "key2": pa.array(key[:, 1]),
        "usable": pa.array(usable),
        "step": pa.array(np.zeros(rows, dtype=np.int64) if table.step is None else table.step),
        "reward": pa.array(table.rewards),
        "cause": pa.array(table.cause),
    }
    if table.parts is not None:
        columns |= {f"part {i}": pa.array(part) for i, part in enumerate(np.ascontiguousarray(table.parts.T))}
    columns |= {name: pa.array(getattr(table, name)) for name in _NUMBERS if getattr(table, name) is not None}
    columns |= {f"extra {name}": pa.array(values) for name, values in table.extra.items()}
    if table.token_counts is not None:
        ends = pa.array(np.concatenate([[0], np.cumsum(table.token_counts)]), pa.int64())
        for role, values in table.tokens.items():
            columns[f"tokens {role}"] = pa.LargeListArray.from_arrays(ends, pa.array(values))
    return pa.table(columns)


def blank(choice: Choice) -> RewardTable:
    """No row, with the columns of a choice."""
    nothing = np.zeros(0)
    single = {name: nothing for name in _NUMBERS if getattr(choice, name)}
    return RewardTable(
        rewards=nothing,
        cause=np.zeros(0, dtype=np.int8),
        key=np.zeros(0, dtype=np.int64),
        step=np.zeros(0, dtype=np.int64) if choice.step else None,
        step_names=(),
        length=single.get("length"),
        baseline=single.get("baseline"),
        kl=single.get("kl"),
        logged=single.get("logged"),
        parts=np.zeros((0, len(choice.rewards))) if len(choice.rewards) > 1 else None,
        extra=dict.fromkeys(choice.extra, nothing),
        tokens={role: nothing for role, _ in choice.tokens},
        token_counts=np.zeros(0, dtype=np.int64) if choice.tokens else None,
        rows=(),
        choice=choice,
        dropped=(),
        lines=np.zeros(0, dtype=np.int64),
        names=(),
    )


def _empty(choice: Choice) -> pa.Table:
    """The same as arrow columns."""
    return _columns(0, blank(choice), np.zeros((0, 2), dtype=np.int64))


def _with_about(empty: pa.Table, summary: Summary) -> pa.Table:
    """A row that is none: null but for the summary."""
    nulls = {
        name: pa.nulls(1, field.type) for name, field in zip(empty.column_names, empty.schema, strict=True)
    }
    return pa.table({**nulls, ABOUT: pa.array([pickle.dumps(summary)], pa.binary())})


def _abouts(block: pa.Table) -> pa.Table:
    return block.select([ABOUT]).filter(block[ABOUT].is_valid())


def _summary(number: int, table: RewardTable, bad: BadRows) -> Summary:
    usable = table.key >= 0
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
        dropped=table.dropped[0],
        bad=bad,
        warnings=table.warnings[len(bad.warnings()) :],
    )


def _refuse_nothing(job: Job, summaries: Sequence[Summary]) -> None:
    """The errors of a data set without rows, as one machine has them."""
    named = job.sources[0].name if len(job.sources) == 1 else f"{len(job.sources)} inputs"
    if not sum(summary.rows for summary in summaries):
        raise DataError(f"{named}: no rows, expected one per response")
    if not sum(summary.usable for summary in summaries):
        why = next((text for summary in summaries for text in summary.warnings), "no prompt id")
        raise DataError(f"{named}: every row is bad ({why})", hint="other columns")


def warnings(summaries: Sequence[Summary]) -> tuple[str, ...]:
    """What was skipped in all files together, in words."""
    first = next((summary.bad.first for summary in summaries if summary.bad.first), "")
    count, empty = (sum(getattr(summary.bad, name) for summary in summaries) for name in ("count", "empty"))
    bad = BadRows(skip=True, count=count, first=first, empty=empty)
    return (*bad.warnings(), *together(text for summary in summaries for text in summary.warnings))
