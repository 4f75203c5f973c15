"""Collects the batches of the first pass into a RewardTable."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advcli.common.errors import DataError
from advcli.common.wording import counted, one_line
from advcli.io.collect import duplicates, text_codes
from advcli.io.collect.batch import BadRows, Batch
from advcli.io.collect.cells import Cells, lists, numbers, token_means
from advcli.io.collect.column_buffer import ColumnBuffer
from advcli.io.collect.keys import Coder, digests
from advcli.io.collect.numbering import line_numbers
from advcli.io.collect.row_rules import RuleBook, evaluated, matches
from advcli.io.collect.values import values as values_of
from advcli.records.layout import Condition
from advcli.records.roles import LABELS
from advcli.records.table import CAUSES, Choice, Prompt, RewardTable, Source
from advcli.tensors.codes import paired
from advcli.tensors.decimals import total

_NO_NUMBER = "--reward COL with another column, or --on-bad-row skip"
_NO_LIST = "another column with a list per row, or --on-bad-row skip"
_NO_KEY = "--prompt-col or --group-by with another column, or --on-bad-row skip"


class Collector:
    """Turns batches of cells into columns of numbers and codes."""

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
        self._coders = {name: Coder(empty=False) for name in choice.prompt}
        self._steps = Coder()
        self._rules = RuleBook(choice)
        self._rows = Coder()
        self._by = Coder()
        self._columns: defaultdict[str, ColumnBuffer] = defaultdict(ColumnBuffer)
        self._room = 0
        self._consecutive: list[range] = []

    def fresh(self) -> "Collector":
        """An empty collector with the same settings."""
        bad_rows = BadRows(skip=self.bad_rows.skip)
        return Collector(
            self.choice, bad_rows, refuse_missing=self._refuse_missing, asked_for=self._asked_for
        )

    def add(self, batch: Batch) -> int:
        """Add a batch; returns its number of rows."""
        rows = len(batch.lines)
        self._room = batch.remaining
        bad = np.zeros(rows, dtype=bool)
        rewards, cause, parts = self._rewards(batch, bad)
        for name in self.choice.prompt:
            nulls = self._coders[name].add(batch.columns[name])
            for row in np.flatnonzero(nulls).tolist():
                cell = _cell(batch.columns[name], row)
                what = "null" if cell is None or cell != cell else "empty"
                self._bad(bad, row, f"{batch.position(row)}: '{name}' is {what}, expected a prompt id")
        if self.choice.step:
            self._steps.add(batch.columns[self.choice.step])
        self._other_columns(batch, bad)
        self._tokens(batch, bad)
        self._lines(batch.lines)
        if self.choice.row:
            self._append("row", digests(batch.columns[self.choice.row]))
        self._turns(batch)
        self._rules.add(batch)
        if self.choice.dedup:
            self._rows.add(batch.columns[duplicates.ROW])
        if self._refuse_missing and cause.any():
            self._stop_at_missing(batch, cause)
        self._append("rewards", _without(rewards, bad, np.nan))
        if len(self.choice.rewards) > 1:
            self._append("parts", parts)
        self._append("cause", _without(cause, bad, 0))
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
        """The table of all batches; `numbered` if rows have a number of their own."""
        columns = {name: column.values() for name, column in self._columns.items()}
        step, names = None, tuple(self._steps.names())
        if self.choice.step:
            # Rows without a step form a step "null".
            step = self._steps.codes()
            if (step < 0).any():
                step, names = np.where(step < 0, len(names), step), (*names, "null")
        excluded, messages = self._rules.left_out(len(columns["bad"]))
        key = _without(self._key(len(columns["bad"])), columns["bad"] | excluded, -1)
        if self.choice.dedup:
            source = np.repeat(np.arange(len(rows)), rows)
            repeated = duplicates.repeats(self._rows.codes(), key, step, source, numbered=numbered)
            key, excluded = np.where(repeated, -1, key), excluded | repeated
            messages = (*messages, *([duplicates.remark(repeated)] if repeated.any() else []))
        messages = (*messages, *self._rules.differing(key, step if self.choice.step_in_key else None))
        messages = (*messages, *(_rounded(name) for name, coder in self._coders.items() if coder.rounded))
        by = self._by.codes() if self.choice.by else None
        by_names = tuple(self._by.names())
        if by is not None and (by < 0).any():
            by, by_names = np.where(by < 0, len(by_names), by), (*by_names, "null")
        table = RewardTable(
            rewards=_without(columns["rewards"], excluded, np.nan),
            cause=_without(columns["cause"], excluded, 0),
            key=key,
            step=step,
            step_names=names,
            parts=columns.get("parts"),
            length=columns.get("length"),
            extra={name: columns[f"extra {name}"] for name in self.choice.extra},
            tokens={role: columns[f"tokens {role}"] for role, _ in self.choice.tokens},
            token_counts=columns.get("token counts"),
            logged=columns.get("logged"),
            row=columns.get("row"),
            uneven=columns.get("uneven") if self.choice.logged and columns["uneven"].any() else None,
            rows=rows,
            choice=self.choice,
            dropped=dropped,
            lines=columns.get("lines"),
            names=tuple(source.name for source in sources),
            warnings=(*self.bad_rows.warnings(), *messages),
            causes={
                name.removeprefix("cause "): codes
                for name, codes in columns.items()
                if name.startswith("cause ")
            },
            outcomes={name: columns[f"outcome {name}"] for name in self.choice.outcomes},
            by=by,
            by_names=by_names,
            rollout=columns.get("rollout"),
            turn=columns.get("turn"),
            turn_counts=columns.get("turn counts"),
            turn_rewards=columns.get("turn rewards"),
            roles={role: columns[f"role {role}"] for role, _ in self.choice.roles},
        )
        return replace(table, prompts=self._prompts(table)) if self.choice.named else table

    def _prompts(self, table: RewardTable) -> tuple[Prompt, ...]:
        """The prompt of each code that some row has; empty without a key."""
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
        positions = [
            f"{table.names[source]}:{line}"
            for source, line in zip(sources.tolist(), line_numbers(table)[first].tolist(), strict=True)
        ]
        return tuple(
            Prompt(" · ".join(name for name, _ in part), tuple(identity for _, identity in part), position)
            for *part, position in zip(*parts, positions, strict=True)
        )

    def _key(self, rows: int) -> NDArray[np.int64]:
        """One code per combination of the prompt columns."""
        key = np.zeros(rows, dtype=np.int64)
        for position, name in enumerate(self.choice.prompt):
            part = self._coders[name].codes()
            key = paired(key + 1, part + 1) if position else part
        return key

    def digests(self, key: NDArray[np.int64]) -> NDArray[np.int64]:
        """[K, 2] a digest of each prompt's values, which is the same in every table, unlike its code."""
        row = np.full(int(key.max(initial=-1)) + 1, -1)
        row[key[key >= 0]] = np.flatnonzero(key >= 0)
        result = np.zeros((len(row), 2), dtype=np.uint64)
        for name in self.choice.prompt:
            coder = self._coders[name]
            # A code without rows (all left out) gets digest 0.
            values = coder.digests()[coder.codes()[row]]
            for stream in range(2):
                result[:, stream] = text_codes.mixed(result[:, stream], values[:, stream], stream)
        result[row < 0] = 0
        return result.view(np.int64)

    def _rewards(
        self, batch: Batch, bad: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.int8], NDArray[np.float64]]:
        """The weighted sum of the reward parts, the cause where it is missing, and the [n, K] parts."""
        parts, causes = [], []
        for name, _ in self.choice.rewards:
            values, cause, wrong = numbers(batch.columns[name])
            for row in wrong:
                shown = one_line(_cell(batch.columns[name], row))
                self._bad(
                    bad,
                    row,
                    f"{batch.position(row)}: '{name}' is {shown}, expected a number",
                    hint=_NO_NUMBER,
                )
            parts.append(values)
            causes.append(cause)
        if not parts:
            return np.zeros(len(bad)), np.zeros(len(bad), dtype=np.int8), np.zeros((len(bad), 0))
        for (name, _), cause in zip(self.choice.rewards if len(parts) > 1 else (), causes, strict=False):
            self._append(f"cause {name}", np.where(bad, 0, cause).astype(np.int8))
        if self.choice.rewards[0][1] == 1 and len(parts) == 1:
            # One part of weight 1 is its own weighted sum.
            return parts[0], causes[0], parts[0][:, np.newaxis]
        stacked = np.stack(parts, axis=1)
        weights = np.array([weight for _, weight in self.choice.rewards])
        result = _total(stacked.T, weights, np.stack(causes), skip_missing=self.choice.skip_missing_parts)
        return (*result, stacked)

    def _other_columns(self, batch: Batch, bad: NDArray[np.bool_]) -> None:
        """The columns other than prompt, step and reward."""
        if self.choice.length:
            self._append("length", self._numbers(batch, self.choice.length))
        for role, name in self.choice.roles:
            self._append(f"role {role}", self._role(batch, role, name))
        if self.choice.by:
            self._by.add(batch.columns[self.choice.by])
        tests = {test.expression: test for test in self.choice.tests}
        for name in self.choice.extra:
            self._append(f"extra {name}", self._extra(batch, name, tests.get(name)))
        if self.choice.logged:
            self._logged(batch, self.choice.logged)
        for name in self.choice.outcomes:
            self._append(f"outcome {name}", self._numbers(batch, name))
            self._append(f"cause {name}", np.where(bad, 0, numbers(batch.columns[name])[1]).astype(np.int8))

    def _extra(self, batch: Batch, name: str, test: Condition | None) -> NDArray[np.float64]:
        """A column that a filter or a shaping uses, or the value of an expression."""
        if test is None or (test.number and test.columns == (name,)):
            return self._numbers(batch, name)
        return evaluated(test, batch) if test.number else matches(test, batch).astype(np.float64)

    def _turns(self, batch: Batch) -> None:
        """The columns that identify the turns of a rollout."""
        if self.choice.rollout:
            self._append("rollout", _digests([batch.columns[name] for name in self.choice.rollout]))
        if self.choice.turn_list:
            values, counts, _ = lists(batch.columns[self.choice.turn_list])
            self._append("turn rewards", values)
            self._append("turn counts", counts)
        if self.choice.turn:
            self._append("turn", self._numbers(batch, self.choice.turn))

    def _role(self, batch: Batch, role: str, name: str) -> NDArray[np.float64] | NDArray[np.int64]:
        """A column with a number or a name per row; for a list of turns, their states concatenated."""
        cells = batch.columns[name]
        if role not in LABELS:
            return self._numbers(batch, name)
        if role == "anchor" and self.choice.turn_list:
            counts = lists(batch.columns[self.choice.turn_list])[1]
            states = [_states(cells[row]) for row in range(len(counts))]
            wrong = next((row for row, result in enumerate(states) if len(result) != counts[row]), None)
            if wrong is not None:
                raise DataError(
                    f"{batch.position(wrong)}: '{name}' has {len(states[wrong])} states, expected one for each of "
                    f"{counted(int(counts[wrong]), 'turn')}",
                    hint="--anchor-col COL with a list per row",
                )
            cells = [state for result in states for state in result]
        return digests(cells)

    def _numbers(self, batch: Batch, name: str) -> NDArray[np.float64]:
        """A column other than the reward; a cell that is not a number is missing, unless the user named the column."""
        values, _, wrong = numbers(batch.columns[name])
        if wrong and name in self._asked_for and not self.bad_rows.skip:
            shown = one_line(_cell(batch.columns[name], wrong[0]))
            raise DataError(
                f"{batch.position(wrong[0])}: '{name}' is {shown}, expected a number",
                hint="another column, or --on-bad-row skip",
            )
        return values

    def _tokens(self, batch: Batch, bad: NDArray[np.bool_]) -> None:
        """The columns with a list per row, each as long as in the first such column; a null list has no tokens."""
        read = [(role, name, *lists(batch.columns[name])) for role, name in self.choice.tokens]
        for role, name, _, counts, wrong in read:
            if role in self.choice.found:
                continue
            for row in wrong:
                shown = one_line(_cell(batch.columns[name], row))
                self._bad(
                    bad,
                    row,
                    f"{batch.position(row)}: '{name}' is {shown}, expected a list of numbers",
                    _NO_LIST,
                )
            _, first, _, expected, _ = read[0]
            for row in np.flatnonzero((counts != expected) & (counts > 0) & (expected > 0)).tolist():
                lengths = f"'{first}' has {counted(int(expected[row]), 'token')} and '{name}' {counts[row]:,}"
                self._bad(bad, row, f"{batch.position(row)}: {lengths}, expected equal lengths", _NO_LIST)
        if not read:
            return
        # A row that lacks a list, or whose lists differ in length, gets no tokens, so all columns stay aligned.
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
            f"{batch.position(row)}: '{names}' is {CAUSES[cause[row] - 1]}, expected a finite number",
            hint="--missing null or zero",
        )

    def _append(self, name: str, values: NDArray[Any]) -> None:
        self._columns[name].append(values, self._room)

    def _lines(self, lines: "NDArray[np.int64] | range") -> None:
        """Line numbers are stored only if some file has lines that are not rows, or several rows per line."""
        if isinstance(lines, range) and "lines" not in self._columns:
            self._consecutive.append(lines)
            return
        for earlier in self._consecutive:
            self._append("lines", np.asarray(earlier))
        self._consecutive = []
        self._append("lines", np.asarray(lines))


def _total(
    parts: NDArray[np.float64], weights: NDArray[np.float64], causes: NDArray[np.int8], *, skip_missing: bool
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """[K, n] parts and [K] weights → [n] totals and causes. An infinite part is never skipped."""
    absent = causes > 0
    infinite = CAUSES.index("inf") + 1
    missing = absent.all(axis=0) | (causes == infinite).any(axis=0) if skip_missing else absent.any(axis=0)
    cause = np.where(missing, causes.max(axis=0), 0)
    summed = total(np.where(absent, 0.0, parts), weights)
    cause = np.where(np.isfinite(summed) | missing, cause, infinite).astype(np.int8)
    return np.where(cause > 0, np.nan, summed), cause


def _states(cell: object) -> list[object]:
    """The states of the turns of a rollout."""
    value = cell.as_py() if hasattr(cell, "as_py") else cell
    return list(value) if isinstance(value, list | tuple) else []


def _digests(columns: Sequence[Cells]) -> NDArray[np.int64]:
    """[n] one digest for the cells of several columns; -1 where one of them is null."""
    result = digests(columns[0])
    for cells in columns[1:]:
        other = digests(cells)
        # Combine the hashes modulo 2^64.
        mixed = (result.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) ^ other.astype(np.uint64)
        result = np.where((result < 0) | (other < 0), -1, (mixed >> np.uint64(1)).astype(np.int64))
    return result


def _without(values: NDArray[Any], rows: NDArray[np.bool_], fill: float) -> NDArray[Any]:
    """[n] the values with `fill` on some rows; not copied if there are none."""
    return np.where(rows, fill, values).astype(values.dtype) if rows.any() else values


def _rounded(name: str) -> str:
    return (
        f"'{name}' has numbers of 2^53 or more as floats, which are rounded: different prompts may look equal"
    )


def _cell(cells: Cells, row: int) -> object:
    return cells[row] if isinstance(cells, list) else values_of(cells.slice(row, 1))[0]
