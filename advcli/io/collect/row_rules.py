"""Rows that are no rollouts, and what must be equal within a group."""

from collections.abc import Mapping
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
        coded = (*choice.rules.last_of[:1], *choice.rules.same)
        self._coders = {name: Coder() for name in coded}
        self._parts: dict[str, list[NDArray[Any]]] = {}

    def add(self, batch: Batch) -> None:
        """Take in a batch."""
        for name, coder in self._coders.items():
            coder.add(batch.columns[name])
        single = (self._rules.filler, self._rules.evaluation, *self._rules.last_of[1:])
        for name in filter(None, single):
            self._append(name, numbers(batch.columns[name])[0])

    def left_out(self, rows: int) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
        """Which rows are no rollouts.

        Args:
            rows: how many rows there are.

        Returns:
            [N] bool, and what to say about them.
        """
        columns = {name: np.concatenate(parts) for name, parts in self._parts.items()}
        columns |= {name: self._coders[name].codes() for name in self._rules.last_of[:1]}
        filler = columns[self._rules.filler] == 1 if self._rules.filler else np.zeros(rows, dtype=bool)
        evaluation = self._evaluation(columns, filler)
        earlier = self._earlier(columns, rows) & ~filler & ~evaluation
        said: list[str] = []
        if filler.any():
            said.append(_are(filler, f"no rollout ('{self._rules.filler}'): left out"))
        if evaluation.any():
            said.append(_belong(evaluation, "to an evaluation: left out"))
        if earlier.any():
            unit = self._rules.last_of[0]
            said.append(_are(earlier, f"not the last of its '{unit}': left out"))
        return filler | evaluation | earlier, tuple(said)

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

    def _evaluation(
        self, columns: Mapping[str, NDArray[Any]], filler: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Rows of an evaluation; none where all rows are."""
        name = self._rules.evaluation
        found = (columns[name] == 1) & ~filler if name else np.zeros_like(filler)
        return found if (~found & ~filler).any() else np.zeros_like(filler)

    def _earlier(self, columns: Mapping[str, NDArray[Any]], rows: int) -> NDArray[np.bool_]:
        """Rows that are not the last of their unit."""
        if not self._rules.last_of:
            return np.zeros(rows, dtype=bool)
        import pandas as pd

        unit, place = (columns[name] for name in self._rules.last_of)
        last = pd.Series(place).groupby(unit).transform("max").to_numpy()
        return np.asarray((place < last) & (unit >= 0))

    def _append(self, name: str, values: NDArray[Any]) -> None:
        self._parts.setdefault(name, []).append(values)


def _are(mask: NDArray[np.bool_], what: str) -> Remark:
    return Remark(int(mask.sum()), "row", f"{{}} is {what}", f"{{}} are {what}")


def _belong(mask: NDArray[np.bool_], what: str) -> Remark:
    return Remark(int(mask.sum()), "row", f"{{}} belongs {what}", f"{{}} belong {what}")
