"""The first pass: only keys, rewards, steps and lengths leave the files."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from advcli.errors import DataError, UsageError
from advcli.io import dedup, derive, jsonl, parquet, traps
from advcli.io.batch import BadRows, Batch
from advcli.io.choose import choose
from advcli.io.keys import Coder, digests
from advcli.io.rules import RuleBook
from advcli.io.survey import Survey, survey
from advcli.io.values import Cells, lists, numbers, token_means
from advcli.records import CAUSES, Choice, ColumnOptions, Prompt, RewardTable, Source
from advcli.runs import paired
from advcli.words import counted, one_line

# Columns of numbers beside the reward, by the part that they play.
_ROLES = ("length", "baseline", "kl")
_NO_NUMBER = "--reward COL with another column, or --on-bad-row skip"
_NO_LIST = "another column with a list per row, or --on-bad-row skip"
_NO_KEY = "--prompt-col or --group-by with another column, or --on-bad-row skip"
Advance: TypeAlias = Callable[[int], None]
"""Hears how many rows more are done."""

SCAN: Mapping[str, Callable[..., Any]] = {
    "jsonl": jsonl.scan,
    "json": jsonl.scan,
    "parquet": parquet.scan,
}


def read(
    sources: Sequence[Source],
    options: ColumnOptions,
    *,
    refused: Collection[str] = (),
    skip_bad_rows: bool = False,
    refuse_missing: bool = False,
    advance: Advance = lambda rows: None,
) -> RewardTable:
    """Read the narrow columns of all sources as one data set.

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
        DataError: a file is broken, has no rows, or lacks what is needed.
        UsageError: a column that the user named is not there.
    """
    seen, choice = look(sources, options, skip_bad_rows=skip_bad_rows)
    collector = _Collector(
        choice,
        BadRows(skip=skip_bad_rows),
        refuse_missing=refuse_missing,
        asked_for=(options.length, options.baseline, options.kl, *options.extra),
    )
    rows, dropped = _scan_all(sources, collector, refused, advance)
    if not sum(rows):
        raise _no_rows(sources, collector.bad_rows)
    table = collector.table(sources, rows, dropped, numbered=dedup.has_numbers(seen.kinds))
    if not (table.key >= 0).any():
        why = collector.bad_rows.first or "; ".join(table.warnings)
        raise DataError(f"{_named(sources)}: every row is bad ({why})", hint="other columns")
    remarks = (text for source in sources for text in source.remarks)
    return replace(table, warnings=(*remarks, *table.warnings, *traps.found(table, seen.kinds)))


def look(
    sources: Sequence[Source], options: ColumnOptions, *, skip_bad_rows: bool = False
) -> tuple[Survey, Choice]:
    """Look at the first records of all sources, and decide which columns to read.

    Raises:
        DataError: there is no record, or nothing fits.
        UsageError: a column that the user named is not there.
    """
    seen = survey(sources, options)
    if seen is None:
        # Nothing but broken or empty lines: let the scan say which.
        bad_rows = BadRows(skip=skip_bad_rows)
        _scan_all(sources, _Collector(Choice("generic", (), None, ()), bad_rows), ())
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
    """Read the narrow columns of one source of a data set that is read in several places.

    Args:
        source: the input.
        choice: the columns, from `look` at all sources.
        options: what the user asked for.
        refused: as in `read`.
        skip_bad_rows: as in `read`.
        refuse_missing: as in `read`.

    Returns:
        The rows; [K, 2] a digest for each of its codes of prompts, the same in every place; and the bad rows. None
        if there is no row.

    Raises:
        DataError: the file is broken.
    """
    collector = _Collector(
        choice,
        BadRows(skip=skip_bad_rows),
        refuse_missing=refuse_missing,
        asked_for=(options.length, options.baseline, options.kl, *options.extra),
    )
    rows, dropped = _scan_all([source], collector, refused)
    if not sum(rows):
        return None
    table = collector.table([source], rows, dropped)
    return table, collector.digests(table.key), collector.bad_rows


def _chosen(sources: Sequence[Source], options: ColumnOptions, seen: Survey) -> tuple[Survey, Choice]:
    """The columns to read; if the first records do not tell, all of them are looked at."""
    try:
        return seen, choose(seen.kinds, options, seen.form, seen.layout)
    except (DataError, UsageError):
        again = None if seen.whole else survey(sources, options, whole=True)
        if again is None:
            raise
        return again, choose(again.kinds, options, again.form, again.layout)


def _scan_all(
    sources: Sequence[Source],
    collector: "_Collector",
    refused: Collection[str],
    advance: Advance = lambda rows: None,
) -> tuple[tuple[int, ...], tuple[frozenset[int], ...]]:
    rows, dropped = [], []
    for source in sources:
        gone: set[int] = set()
        batches = SCAN[source.layout](
            source,
            derive.inputs(collector.choice),
            refused=refused,
            bad_rows=collector.bad_rows,
            dropped=gone,
            layout=collector.choice.layout,
        )
        try:
            rows.append(0)
            for batch in batches:
                taken = collector.add(derive.completed(batch, collector.choice))
                rows[-1] += taken
                advance(taken)
        except (UnicodeDecodeError, OverflowError) as error:
            raise DataError(
                f"{source.name}: a value cannot be read ({error})", hint="other columns"
            ) from error
        dropped.append(frozenset(gone))
    return tuple(rows), tuple(dropped)


def _no_rows(sources: Sequence[Source], bad_rows: BadRows) -> DataError:
    skipped = "".join(f" ({text})" for text in bad_rows.warnings())
    return DataError(f"{_named(sources)}: no rows, expected one per response{skipped}")


def _named(sources: Sequence[Source]) -> str:
    return sources[0].name if len(sources) == 1 else f"{len(sources)} inputs"


class _Collector:
    """Turns batches of cells into numbers and codes."""

    def __init__(
        self,
        choice: Choice,
        bad_rows: BadRows,
        *,
        refuse_missing: bool = False,
        asked_for: Sequence[str | None] = (),
    ) -> None:
        self.choice = choice
        self.bad_rows = bad_rows
        self._asked_for = asked_for
        self._refuse_missing = refuse_missing
        self._coders = {name: Coder() for name in choice.prompt}
        self._steps = Coder()
        self._rules = RuleBook(choice)
        self._rows = Coder()
        self._by = Coder()
        self._parts: dict[str, list[NDArray[Any]]] = {}

    def add(self, batch: Batch) -> int:
        """Take in a batch; the number of its rows."""
        rows = len(batch.lines)
        bad = np.zeros(rows, dtype=bool)
        rewards, cause, parts = self._rewards(batch, bad)
        for name in self.choice.prompt:
            nulls = self._coders[name].add(batch.columns[name])
            for row in np.flatnonzero(nulls).tolist():
                self._bad(bad, row, f"{batch.place(row)}: '{name}' is null, expected a prompt id")
        if self.choice.step:
            self._steps.add(batch.columns[self.choice.step])
        self._beside(batch, bad)
        self._tokens(batch, bad)
        self._append("lines", batch.lines)
        if self.choice.row:
            self._append("row", digests(batch.columns[self.choice.row]))
        self._rules.add(batch)
        if self.choice.dedup:
            self._rows.add(batch.columns[dedup.ROW])
        if self._refuse_missing and cause.any():
            self._stop_at_missing(batch, cause)
        self._append("rewards", np.where(bad, np.nan, rewards))
        if len(self.choice.rewards) > 1:
            self._append("parts", parts)
        self._append("cause", np.where(bad, 0, cause).astype(np.int8))
        self._append("bad", bad)
        return rows

    def table(
        self,
        sources: Sequence[Source],
        rows: tuple[int, ...],
        dropped: tuple[frozenset[int], ...],
        *,
        numbered: bool = False,
    ) -> RewardTable:
        """Everything that was taken in; `numbered` if rows carry a number of their own."""
        columns = {name: np.concatenate(parts) for name, parts in self._parts.items()}
        step, names = None, tuple(self._steps.names())
        if self.choice.step:
            # A row without a step is of a step of its own.
            step = self._steps.codes()
            if (step < 0).any():
                step, names = np.where(step < 0, len(names), step), (*names, "null")
        out, said = self._rules.left_out(len(columns["bad"]))
        key = np.where(columns["bad"] | out, -1, self._key(len(columns["bad"])))
        if self.choice.dedup:
            source = np.repeat(np.arange(len(rows)), rows)
            again = dedup.repeats(self._rows.codes(), key, step, source, numbered=numbered)
            key, out = np.where(again, -1, key), out | again
            said = (*said, *([dedup.remark(again)] if again.any() else []))
        said = (*said, *self._rules.differing(key, step if self.choice.step_in_key else None))
        by = self._by.codes() if self.choice.by else None
        apart = tuple(self._by.names())
        if by is not None and (by < 0).any():
            by, apart = np.where(by < 0, len(apart), by), (*apart, "null")
        table = RewardTable(
            rewards=np.where(out, np.nan, columns["rewards"]),
            cause=np.where(out, 0, columns["cause"]).astype(np.int8),
            key=key,
            step=step,
            step_names=names,
            parts=columns.get("parts"),
            length=columns.get("length"),
            baseline=columns.get("baseline"),
            kl=columns.get("kl"),
            extra={name: columns[f"extra {name}"] for name in self.choice.extra},
            tokens={role: columns[f"tokens {role}"] for role, _ in self.choice.tokens},
            token_counts=columns.get("token counts"),
            logged=columns.get("logged"),
            row=columns.get("row"),
            uneven=columns.get("uneven") if self.choice.logged and columns["uneven"].any() else None,
            rows=rows,
            choice=self.choice,
            dropped=dropped,
            lines=columns["lines"],
            names=tuple(source.name for source in sources),
            warnings=(*self.bad_rows.warnings(), *said),
            causes={
                name.removeprefix("cause "): codes
                for name, codes in columns.items()
                if name.startswith("cause ")
            },
            outcomes={name: columns[f"outcome {name}"] for name in self.choice.outcomes},
            by=by,
            by_names=apart,
        )
        return replace(table, prompts=self._prompts(table)) if self.choice.named else table

    def _prompts(self, table: RewardTable) -> tuple[Prompt, ...]:
        """The prompt of each code that a row has; nothing without a key."""
        if not self.choice.prompt:
            return ()
        first = np.full(int(table.key.max(initial=-1)) + 1, -1)
        rows = np.flatnonzero(table.key >= 0)[::-1]
        first[table.key[rows]] = rows
        parts = []
        for name in self.choice.prompt:
            coder = self._coders[name]
            known = list(zip(coder.names(), coder.identities(), strict=True))
            parts.append([known[code] for code in coder.codes()[first].tolist()])
        sources = np.searchsorted(np.cumsum(table.rows), first, side="right").clip(max=len(table.names) - 1)
        places = [
            f"{table.names[at]}:{line}"
            for at, line in zip(sources.tolist(), table.lines[first].tolist(), strict=True)
        ]
        return tuple(
            Prompt(" · ".join(name for name, _ in part), tuple(one for _, one in part), place)
            for *part, place in zip(*parts, places, strict=True)
        )

    def _key(self, rows: int) -> NDArray[np.int64]:
        """One code per combination of the prompt columns."""
        key = np.zeros(rows, dtype=np.int64)
        for place, name in enumerate(self.choice.prompt):
            part = self._coders[name].codes()
            key = paired(key + 1, part + 1) if place else part
        return key

    def digests(self, key: NDArray[np.int64]) -> NDArray[np.int64]:
        """[K, 2] what stands for each prompt everywhere: a digest of its values, not the code that they have here."""
        distinct, first = np.unique(key, return_index=True)
        first = first[distinct >= 0]
        columns = [self._coders[name].codes()[first].tolist() for name in self.choice.prompt]
        known = [self._coders[name].digests() for name in self.choice.prompt]
        found = np.zeros((int(key.max(initial=-1)) + 1, 2), dtype=np.int64)
        for place, code in enumerate(key[first].tolist()):
            values = b"".join(part[column[place]] for part, column in zip(known, columns, strict=True))
            found[code] = np.frombuffer(blake2b(values, digest_size=16).digest(), dtype=np.int64)
        return found

    def _rewards(
        self, batch: Batch, bad: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.int8], NDArray[np.float64]]:
        """The weighted sum of the reward parts, why it is missing where it is, and the [n, K] parts."""
        parts, causes = [], []
        for name, _ in self.choice.rewards:
            values, cause, wrong = numbers(batch.columns[name])
            for row in wrong:
                shown = one_line(_cell(batch.columns[name], row))
                self._bad(
                    bad, row, f"{batch.place(row)}: '{name}' is {shown}, expected a number", hint=_NO_NUMBER
                )
            parts.append(values)
            causes.append(cause)
        if not parts:
            return np.zeros(len(bad)), np.zeros(len(bad), dtype=np.int8), np.zeros((len(bad), 0))
        for (name, _), cause in zip(self.choice.rewards if len(parts) > 1 else (), causes, strict=False):
            self._append(f"cause {name}", np.where(bad, 0, cause).astype(np.int8))
        stacked = np.stack(parts, axis=1)
        weights = np.array([weight for _, weight in self.choice.rewards])
        total = _total((stacked * weights).T, np.stack(causes), skip_missing=self.choice.skip_missing_parts)
        return (*total, stacked)

    def _beside(self, batch: Batch, bad: NDArray[np.bool_]) -> None:
        """The columns beside prompt, step and reward."""
        for role in _ROLES:
            name = getattr(self.choice, role)
            if name:
                self._append(role, self._numbers(batch, name))
        if self.choice.by:
            self._by.add(batch.columns[self.choice.by])
        for name in self.choice.extra:
            self._append(f"extra {name}", self._numbers(batch, name))
        if self.choice.logged:
            self._logged(batch, self.choice.logged)
        for name in self.choice.outcomes:
            self._append(f"outcome {name}", self._numbers(batch, name))
            self._append(f"cause {name}", np.where(bad, 0, numbers(batch.columns[name])[1]).astype(np.int8))

    def _numbers(self, batch: Batch, name: str) -> NDArray[np.float64]:
        """A column beside the reward; a cell that is no number is as good as none, unless it was asked for."""
        values, _, wrong = numbers(batch.columns[name])
        if wrong and name in self._asked_for and not self.bad_rows.skip:
            shown = one_line(_cell(batch.columns[name], wrong[0]))
            raise DataError(
                f"{batch.place(wrong[0])}: '{name}' is {shown}, expected a number",
                hint="another column, or --on-bad-row skip",
            )
        return values

    def _tokens(self, batch: Batch, bad: NDArray[np.bool_]) -> None:
        """The columns with a list per row: as many numbers in each as in the first; a null is no number at all."""
        read = [(role, name, *lists(batch.columns[name])) for role, name in self.choice.tokens]
        for _, name, _, counts, wrong in read:
            for row in wrong:
                shown = one_line(_cell(batch.columns[name], row))
                self._bad(
                    bad, row, f"{batch.place(row)}: '{name}' is {shown}, expected a list of numbers", _NO_LIST
                )
            _, first, _, expected, _ = read[0]
            for row in np.flatnonzero((counts != expected) & (counts > 0) & (expected > 0)).tolist():
                told = f"'{first}' has {counted(int(expected[row]), 'token')} and '{name}' {counts[row]:,}"
                self._bad(bad, row, f"{batch.place(row)}: {told}, expected as many", _NO_LIST)
        if not read:
            return
        # A row that lacks a list, or whose lists differ, has no tokens; so all columns stay aligned.
        same = np.logical_and.reduce([counts == read[0][3] for _, _, _, counts, _ in read]) & ~bad
        self._append("token counts", np.where(same, read[0][3], 0))
        for role, _, values, counts, _ in read:
            self._append(f"tokens {role}", values[np.repeat(same, counts)])

    def _logged(self, batch: Batch, name: str) -> None:
        """The logged advantage: a number, or a list with one per token."""
        cells = batch.columns[name]
        values, _, wrong = numbers(cells)
        uneven = np.zeros(len(values), dtype=bool)
        if wrong:
            means, differ = token_means(cells, batch.columns[self.choice.mask] if self.choice.mask else None)
            values[wrong], uneven[wrong] = means[wrong], differ[wrong]
        self._append("logged", values)
        self._append("uneven", uneven)

    def _bad(self, bad: NDArray[np.bool_], row: int, message: str, hint: str = _NO_KEY) -> None:
        if not bad[row]:
            self.bad_rows.add(message, hint=hint)
        bad[row] = True

    def _stop_at_missing(self, batch: Batch, cause: NDArray[np.int8]) -> None:
        row = int(np.argmax(cause > 0))
        names = " + ".join(name for name, _ in self.choice.rewards)
        raise DataError(
            f"{batch.place(row)}: '{names}' is {CAUSES[cause[row] - 1]}, expected a finite number",
            hint="--missing null or zero",
        )

    def _append(self, name: str, values: NDArray[Any]) -> None:
        self._parts.setdefault(name, []).append(values)


def _total(
    parts: NDArray[np.float64], causes: NDArray[np.int8], *, skip_missing: bool
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """[K, n] weighted parts → [n] totals and causes. An infinite part is never skipped."""
    absent = causes > 0
    infinite = CAUSES.index("inf") + 1
    gone = absent.all(axis=0) | (causes == infinite).any(axis=0) if skip_missing else absent.any(axis=0)
    cause = np.where(gone, causes.max(axis=0), 0)
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.where(absent, 0.0, parts).sum(axis=0)
    cause = np.where(np.isfinite(total) | gone, cause, infinite).astype(np.int8)
    return np.where(cause > 0, np.nan, total), cause


def _cell(cells: Cells, row: int) -> object:
    cell = cells[row]
    return cell.as_py() if hasattr(cell, "as_py") else cell
