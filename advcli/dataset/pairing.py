"""Matches the prompts, steps and rows of two data sets."""

import os
from collections.abc import Hashable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from advcli.dataset.load import DataSet, grouped
from advcli.io.collect.numbering import line_numbers
from advcli.records.table import Prompt, RewardTable
from advcli.stats.inference.paired_rows import join
from advcli.tensors.codes import paired


@dataclass(frozen=True)
class Pairing:
    """Two data sets with a common numbering of prompts and steps.

    Attributes:
        prompts: for each data set [N] int64, the prompt of each row in [0, U); -1 for rows that are left out or have
            no prompt.
        named: for each data set the U prompts; None for prompts that it lacks.
        steps: for each data set [N] int64, the step of each row in [0, S); None if one has no steps.
        step_names: the S steps.
    """

    prompts: tuple[Tensor, Tensor]
    named: tuple[list[Prompt | None], list[Prompt | None]]
    steps: tuple[Tensor, Tensor] | None
    step_names: tuple[str, ...]

    @classmethod
    def of(cls, a: DataSet, b: DataSet) -> "Pairing":
        """Number the prompts and steps of both; prompts with the same key text are the same."""
        tables = (a.table, b.table)
        present = [np.unique(table.key[table.key >= 0]).tolist() if table.prompts else [] for table in tables]
        numbers: dict[Hashable, int] = {}
        for table, codes in zip(tables, present, strict=True):
            for code in codes:
                numbers.setdefault(table.prompts[code].identity, len(numbers))
        prompts, named = [], []
        for table, codes in zip(tables, present, strict=True):
            names: list[Prompt | None] = [None] * len(numbers)
            to = np.full(int(table.key.max(initial=-1)) + 2, -1, dtype=np.int64)
            for code in codes:
                to[code] = number = numbers[table.prompts[code].identity]
                names[number] = table.prompts[code]
            prompts.append(torch.from_numpy(to[table.key]))
            named.append(names)
        steps = _steps(*tables)
        return cls(
            (prompts[0], prompts[1]), (named[0], named[1]), steps and steps[0], steps[1] if steps else ()
        )

    @property
    def shared(self) -> bool:
        """Whether any prompt is in both."""
        return any(a is not None and b is not None for a, b in zip(*self.named, strict=True))

    def shared_steps(self) -> tuple[int, int, int] | None:
        """The numbers of steps in both, only in A, and only in B; None if one has no steps."""
        if self.steps is None:
            return None
        a, b = ({*torch.unique(steps).tolist()} for steps in self.steps)
        return len(a & b), len(a - b), len(b - a)

    def other_steps(self) -> int | None:
        """The number of shared prompts that occur at different steps; None if one has no steps."""
        if self.steps is None:
            return None
        count = len(self.step_names)
        a, b = (
            torch.unique((prompts * count + steps)[prompts >= 0]).numpy()
            for prompts, steps in zip(self.prompts, self.steps, strict=True)
        )
        differing = np.setxor1d(a, b, assume_unique=True) // count
        return int(np.isin(np.intersect1d(a // count, b // count), differing).sum())


def _steps(a: RewardTable, b: RewardTable) -> tuple[tuple[Tensor, Tensor], tuple[str, ...]] | None:
    if a.step is None or b.step is None:
        return None
    names = tuple(dict.fromkeys((*a.step_names, *b.step_names)))
    number = {name: code for code, name in enumerate(names)}
    first, second = (
        torch.tensor([number[name] for name in table.step_names], dtype=torch.int64)[torch.from_numpy(step)]
        for table, step in ((a, a.step), (b, b.step))
    )
    return (first, second), names


@dataclass(frozen=True)
class Runs:
    """The runs (seeds) in a data set.

    Attributes:
        codes: [N] int64 the run of each row in [0, R).
        names: the R runs.
    """

    codes: Tensor
    names: tuple[str, ...]

    @classmethod
    def of(cls, data: DataSet, pattern: str | None) -> "Runs":
        """Number the runs by the column `columns.by` or by the paths of the files.

        Args:
            data: the data set.
            pattern: the input as typed, to separate runs by path; None to use the column.
        """
        table = data.table
        if pattern is not None:
            of_file = [_run_of(name, pattern) for name in table.names]
            names = tuple(dict.fromkeys(of_file))
            codes = np.repeat([names.index(name) for name in of_file], table.rows)
            return cls(torch.from_numpy(codes.astype(np.int64)), names)
        if table.by is not None:
            present, codes = np.unique(table.by, return_inverse=True)
            return cls(
                torch.from_numpy(codes.astype(np.int64)), tuple(table.by_names[code] for code in present)
            )
        return cls(torch.zeros(len(table.key), dtype=torch.int64), ("",))

    def apart(self, data: DataSet) -> DataSet:
        """The data set with groups split by run."""
        if len(self.names) == 1:
            return data
        group = data.grouping.group
        grouped_rows = group >= 0
        split = np.full_like(group, -1)
        split[grouped_rows] = paired(group[grouped_rows], self.codes.numpy()[grouped_rows])
        grouping = replace(data.grouping, group=split, count=int(split.max(initial=-1)) + 1)
        return grouped(data.table, grouping)


def _run_of(name: str, pattern: str) -> str:
    """The run of a file: the path part that matches the first wildcard, or the first folder below the input.

    Example:
        >>> _run_of("out/seed_1/step_2.jsonl", "out/seed_*/*.jsonl"), _run_of("out/s1/2.jsonl", "out")
        ('seed_1', 's1')
        >>> _run_of("out/2.jsonl", "out")
        'out'
    """
    path, typed = (Path(os.path.normpath(text)).parts for text in (name, pattern))
    wild = next((depth for depth, part in enumerate(typed) if set(part) & set("*?[")), len(typed))
    below = wild < len(typed) or len(path) > wild + 1
    return path[wild] if below and wild < len(path) else path[-1 if wild >= len(path) else wild - 1]


@dataclass(frozen=True)
class Joined:
    """Rows of A and their partners in B.

    Attributes:
        a: [J] int64 rows of A.
        b: [J] int64 rows of B.
        by: how they were matched, as shown to the user.
    """

    a: Tensor
    b: Tensor
    by: str


def joined(a: DataSet, b: DataSet, pairing: Pairing) -> Joined | None:
    """The same rows of both, matched by a column or by their order.

    They are matched by a column that the user names (`--join`), at the same prompt and step; by their position, if both are
    the same files; or by their order within a prompt and step, if all row counts and the lengths of the rows agree.

    Returns:
        The matched rows; None if they can't be matched.
    """
    prompts = pairing.prompts if pairing.shared else None
    keys = [
        ({} if prompts is None else {"prompt": prompts[side]})
        | ({} if pairing.steps is None else {"step": pairing.steps[side]})
        for side in (0, 1)
    ]
    if a.table.row is not None and b.table.row is not None:
        rows = [key | {"row": _row(data)} for key, data in zip(keys, (a, b), strict=True)]
        name, other = a.table.choice.row, b.table.choice.row
        return Joined(*join(*rows), f"'{name}'" if name == other else f"'{name}' and '{other}'")
    if _same_files(a.table, b.table):
        return Joined(*join({"place": _place(a)}, {"place": _place(b)}), "their place in the same files")
    if prompts is None:
        return None
    result = join(keys[0], keys[1])
    length = _same_lengths(a, b, *result)
    return Joined(*result, f"their place and {length}") if length else None


def _row(data: DataSet) -> Tensor:
    """The key that identifies each row; -1 for rows that are left out."""
    assert data.table.row is not None
    return torch.where(data.rows.group >= 0, torch.from_numpy(data.table.row), -1)


def _place(data: DataSet) -> Tensor:
    return torch.where(data.rows.group >= 0, torch.arange(len(data.rows.group)), -1)


def _same_files(a: RewardTable, b: RewardTable) -> bool:
    return (a.names, a.rows) == (b.names, b.rows) and np.array_equal(line_numbers(a), line_numbers(b))


def _same_lengths(a: DataSet, b: DataSet, rows_a: Tensor, rows_b: Tensor) -> str | None:
    """The length column, if every row has a partner of the same length; None if all lengths are equal, which proves nothing."""
    lengths = (a.rows.lengths, b.rows.lengths)
    complete = all(len(rows_a) == int((data.rows.group >= 0).sum()) for data in (a, b))
    if lengths[0] is None or lengths[1] is None or not complete:
        return None
    first, second = lengths[0][rows_a], lengths[1][rows_b]
    if not torch.equal(first, second) or len(torch.unique(first)) < 2:
        return None
    return f"'{a.table.choice.length}'"
