"""Rows that are no rollouts, and what must be equal within a group."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from advcli.io.collect.batch import Batch
from advcli.io.collect.cells import numbers
from advcli.io.collect.keys import Coder
from advcli.records.table import Choice
from advcli.wording import Remark


class RuleBook:
    """Collects the columns that the rules of a format need, and applies the rules once all rows are there."""

    def __init__(self, choice: Choice) -> None:
        self._rules = choice.rules
        self._coders = {name: Coder() for name in choice.rules.same}
        self._marks: dict[str, list[NDArray[Any]]] = {}

    def add(self, batch: Batch) -> None:
        """Take in a batch."""
        for name, coder in self._coders.items():
            coder.add(batch.columns[name])
        for name in filter(None, (self._rules.filler, self._rules.evaluation)):
            self._marks.setdefault(name, []).append(numbers(batch.columns[name])[0])

    def left_out(self, rows: int) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
        """Which rows are no rollouts.

        Args:
            rows: how many rows there are.

        Returns:
            [N] bool, and what to say about them.
        """
        marks = {name: np.concatenate(parts) == 1 for name, parts in self._marks.items()}
        nothing = np.zeros(rows, dtype=bool)
        filler = marks.get(self._rules.filler or "", nothing)
        evaluation = marks.get(self._rules.evaluation or "", nothing) & ~filler
        if not (~evaluation & ~filler).any():
            # All rows are of an evaluation: that is what is looked at.
            evaluation = nothing
        said: list[str] = []
        if filler.any():
            said.append(_are(filler, f"no rollout ('{self._rules.filler}'): left out"))
        if evaluation.any():
            said.append(_belong(evaluation, "to an evaluation: left out"))
        return filler | evaluation, tuple(said)

    def differing(self, key: NDArray[np.int64], step: NDArray[np.int64] | None) -> tuple[str, ...]:
        """What to say about groups whose rows should agree in a column and do not.

        Args:
            key: [N] code of the prompt, -1 for rows that are left out.
            step: [N] code of the step where it is part of the group, or None.
        """
        if not self._rules.same:
            return ()
        import pandas as pd

        said: list[str] = []
        for name in self._rules.same:
            frame = pd.DataFrame({"key": key, "step": 0 if step is None else step})
            frame["value"] = self._coders[name].codes()
            kinds = frame[frame["key"] >= 0].groupby(["key", "step"])["value"].nunique()
            many = int((kinds > 1).sum())
            if many:
                rest = "rows are of several prompts; try --group-by with that column too, or --n"
                one, more = (
                    f"{{}} holds rows that differ in '{name}', so its",
                    f"{{}} hold rows that differ in '{name}', so their",
                )
                said.append(Remark(many, "group", f"{one} {rest}", f"{more} {rest}"))
        return tuple(said)


def _are(mask: NDArray[np.bool_], what: str) -> Remark:
    return Remark(int(mask.sum()), "row", f"{{}} is {what}", f"{{}} are {what}")


def _belong(mask: NDArray[np.bool_], what: str) -> Remark:
    return Remark(int(mask.sum()), "row", f"{{}} belongs {what}", f"{{}} belong {what}")
