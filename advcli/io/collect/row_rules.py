"""Rows that are no rollouts, and what must be equal within a group."""

import shlex

import numpy as np
from numpy.typing import NDArray

from advcli.common.errors import DataError
from advcli.common.wording import Remark
from advcli.io.collect.batch import Batch
from advcli.io.collect.cells import numbers
from advcli.io.collect.keys import Coder
from advcli.records.layout import Condition
from advcli.records.table import Choice
from advcli.tensors import expressions
from advcli.tensors.codes import met_with_several, numbered, paired


class RuleBook:
    """Collects the columns that the rules of a format need, and applies the rules once all rows are there."""

    def __init__(self, choice: Choice) -> None:
        self._rules = choice.rules
        with_step = [choice.step] if choice.step and choice.step_in_key else []
        self._key = (*choice.prompt, *with_step)
        self._coders = {name: Coder() for name in (*choice.rules.same, *choice.rules.apart)}
        self._evaluation: list[NDArray[np.float64]] = []
        self._met: list[list[NDArray[np.bool_]]] = [[] for _ in choice.rules.conditions]

    def add(self, batch: Batch) -> None:
        """Take in a batch."""
        for name, coder in self._coders.items():
            coder.add(batch.columns[name])
        if self._rules.evaluation:
            self._evaluation.append(numbers(batch.columns[self._rules.evaluation])[0])
        for condition, parts in zip(self._rules.conditions, self._met, strict=True):
            parts.append(met(condition, batch))

    def left_out(self, rows: int) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
        """Which rows are no rollouts.

        Args:
            rows: how many rows there are.

        Returns:
            [N] bool, and what to say about them.
        """
        out = np.zeros(rows, dtype=bool)
        said: list[str] = []
        for condition, parts in zip(self._rules.conditions, self._met, strict=True):
            unmet = ~np.concatenate(parts) & ~out
            out |= unmet
            if unmet.any():
                said.append(_are(unmet, condition.said))
        evaluation = (
            (np.concatenate(self._evaluation) == 1) & ~out if self._evaluation else np.zeros_like(out)
        )
        # Where all rows are of an evaluation, it is what is looked at.
        if evaluation.any() and (~evaluation & ~out).any():
            said.append(_belong(evaluation, "to an evaluation: left out"))
            out |= evaluation
        return out, tuple(said)

    def differing(self, key: NDArray[np.int64], step: NDArray[np.int64] | None) -> tuple[str, ...]:
        """What to say about groups whose rows should agree in a column and do not.

        Args:
            key: [N] code of the prompt, -1 for rows that are left out.
            step: [N] code of the step where it is part of the group, or None.
        """
        said: list[str] = []
        for name in self._rules.apart:
            count = self._several(name, key, step)
            if count:
                cure = shlex.quote(",".join((*self._key, name)))
                rest = f"have rows of several '{name}'; to separate them, try --group-by {cure}"
                said.append(Remark(count, "group", f"{{}} {rest.replace('have', 'has', 1)}", f"{{}} {rest}"))
        for name in self._rules.same:
            count = self._several(name, key, step)
            if count:
                rest = "rows are of several prompts; try --group-by with that column too, or --n"
                one, more = (
                    f"{{}} holds rows that differ in '{name}', so its",
                    f"{{}} hold rows that differ in '{name}', so their",
                )
                said.append(Remark(count, "group", f"{one} {rest}", f"{more} {rest}"))
        return tuple(said)

    def _several(self, name: str, key: NDArray[np.int64], step: NDArray[np.int64] | None) -> int:
        """How many groups hold several values of a column."""
        values = self._coders[name].codes()
        there = (key >= 0) & (values >= 0)
        group = numbered(key[there])
        if step is not None:
            group = paired(group, step[there])
        return met_with_several(group, values[there])


def met(condition: Condition, batch: Batch) -> NDArray[np.bool_]:
    """[n] bool, which rows of a batch meet a condition.

    Raises:
        DataError: a value cannot be compared as the condition asks; of a rule of the format such a row counts.
    """
    expression = expressions.parse(condition.expression)
    try:
        return expression.holds({name: batch.columns[name] for name in condition.columns})
    except TypeError as error:
        if not condition.asked:
            return np.ones(len(batch.lines), dtype=bool)
        raise _no_answer(condition, batch, error) from error


def measured(condition: Condition, batch: Batch) -> NDArray[np.float64]:
    """[n] the number that an expression gives for each row of a batch; NaN where it is null.

    Raises:
        DataError: a value cannot be computed with.
    """
    expression = expressions.parse(condition.expression)
    try:
        return expression.numbers({name: batch.columns[name] for name in condition.columns})
    except TypeError as error:
        raise _no_answer(condition, batch, error) from error


def _no_answer(condition: Condition, batch: Batch, error: TypeError) -> DataError:
    return DataError(f"{batch.name}: {condition.expression}: {error}", hint="another column or value")


def _are(mask: NDArray[np.bool_], what: str) -> Remark:
    return Remark(int(mask.sum()), "row", f"{{}} is {what}", f"{{}} are {what}")


def _belong(mask: NDArray[np.bool_], what: str) -> Remark:
    return Remark(int(mask.sum()), "row", f"{{}} belongs {what}", f"{{}} belong {what}")
