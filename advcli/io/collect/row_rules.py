"""Finds rows that are not rollouts, and groups whose rows should agree in a column but don't."""

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
    """Collects the columns that the rules of a format need, and applies the rules once all rows are read."""

    def __init__(self, choice: Choice) -> None:
        self._rules = choice.rules
        with_step = [choice.step] if choice.step and choice.step_in_key else []
        self._key = (*choice.prompt, *with_step)
        self._coders = {name: Coder() for name in (*choice.rules.same, *choice.rules.apart)}
        self._evaluation: list[NDArray[np.float64]] = []
        self._matches: list[list[NDArray[np.bool_]]] = [[] for _ in choice.rules.conditions]

    def add(self, batch: Batch) -> None:
        """Add a batch."""
        for name, coder in self._coders.items():
            coder.add(batch.columns[name])
        if self._rules.evaluation:
            self._evaluation.append(numbers(batch.columns[self._rules.evaluation])[0])
        for condition, parts in zip(self._rules.conditions, self._matches, strict=True):
            parts.append(matches(condition, batch))

    def left_out(self, rows: int) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
        """Which rows to leave out: those that are not rollouts.

        Args:
            rows: how many rows there are.

        Returns:
            [N] bool, and the messages about them.
        """
        excluded = np.zeros(rows, dtype=bool)
        messages: list[str] = []
        for condition, parts in zip(self._rules.conditions, self._matches, strict=True):
            unmet = ~np.concatenate(parts) & ~excluded
            excluded |= unmet
            if unmet.any():
                messages.append(_are(unmet, condition.said))
        evaluation = (
            (np.concatenate(self._evaluation) == 1) & ~excluded
            if self._evaluation
            else np.zeros_like(excluded)
        )
        # If all rows are evaluation rows, they are what the user wants to analyze.
        if evaluation.any() and (~evaluation & ~excluded).any():
            messages.append(_belong(evaluation, "to an evaluation: left out"))
            excluded |= evaluation
        return excluded, tuple(messages)

    def differing(self, key: NDArray[np.int64], step: NDArray[np.int64] | None) -> tuple[str, ...]:
        """Messages about groups whose rows should agree in a column but don't.

        Args:
            key: [N] code of the prompt, -1 for rows that are left out.
            step: [N] code of the step where it is part of the group, or None.
        """
        messages: list[str] = []
        for name in self._rules.apart:
            count = self._several(name, key, step)
            if count:
                columns = shlex.quote(",".join((*self._key, name)))
                text = f"have rows of several '{name}'; to separate them, try --group-by {columns}"
                messages.append(
                    Remark(count, "group", f"{{}} {text.replace('have', 'has', 1)}", f"{{}} {text}")
                )
        for name in self._rules.same:
            count = self._several(name, key, step)
            if count:
                text = "rows are of several prompts; try --group-by with that column too, or --n"
                singular, plural = (
                    f"{{}} holds rows that differ in '{name}', so its",
                    f"{{}} hold rows that differ in '{name}', so their",
                )
                messages.append(Remark(count, "group", f"{singular} {text}", f"{plural} {text}"))
        return tuple(messages)

    def _several(self, name: str, key: NDArray[np.int64], step: NDArray[np.int64] | None) -> int:
        """How many groups have several values of a column."""
        values = self._coders[name].codes()
        valid = (key >= 0) & (values >= 0)
        group = numbered(key[valid])
        if step is not None:
            group = paired(group, step[valid])
        return met_with_several(group, values[valid])


def matches(condition: Condition, batch: Batch) -> NDArray[np.bool_]:
    """[n] bool, which rows of a batch match a condition.

    Raises:
        DataError: a value cannot be compared as the condition asks; for a rule of the format, every row matches instead.
    """
    expression = expressions.parse(condition.expression)
    try:
        return expression.holds({name: batch.columns[name] for name in condition.columns})
    except TypeError as error:
        if not condition.asked:
            return np.ones(len(batch.lines), dtype=bool)
        raise _not_comparable(condition, batch, error) from error


def evaluated(condition: Condition, batch: Batch) -> NDArray[np.float64]:
    """[n] the value of an expression in each row of a batch; NaN where it is null.

    Raises:
        DataError: a value cannot be computed with.
    """
    expression = expressions.parse(condition.expression)
    try:
        return expression.numbers({name: batch.columns[name] for name in condition.columns})
    except TypeError as error:
        raise _not_comparable(condition, batch, error) from error


def _not_comparable(condition: Condition, batch: Batch, error: TypeError) -> DataError:
    return DataError(f"{batch.name}: {condition.expression}: {error}", hint="another column or value")


def _are(mask: NDArray[np.bool_], what: str) -> Remark:
    return Remark(int(mask.sum()), "row", f"{{}} is {what}", f"{{}} are {what}")


def _belong(mask: NDArray[np.bool_], what: str) -> Remark:
    return Remark(int(mask.sum()), "row", f"{{}} belongs {what}", f"{{}} belong {what}")
