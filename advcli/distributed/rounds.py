"""Pass (b): the engine runs on every place, as often as it takes until the sums over all places are known."""

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa

from advcli.advantages import Plan, run
from advcli.collective import Asked, Wanted, merged, run_part
from advcli.dataset import DataSet
from advcli.distributed import faults
from advcli.distributed.account import Account, Shown, account
from advcli.distributed.places import View, data_of, first_rows, unpack
from advcli.io.write import lists
from advcli.records.settings import AdvantageTable


@dataclass(frozen=True)
class Work:
    """What is done in every place.

    Attributes:
        view: what is known of the whole.
        plans: what is computed.
        shown: the columns that are counted.
        known: for each plan, the sums over all places that are known.
        open: the plans that may want more of them.
        per_step: whether the metrics of each step are wanted.
    """

    view: View
    plans: tuple[Plan, ...]
    shown: tuple[Shown, ...]
    known: tuple[tuple[Asked, ...], ...]
    open: tuple[int, ...]
    per_step: bool = False

    def results(self, data: DataSet, of: Sequence[int] | None = None) -> list[AdvantageTable]:
        """The advantages of the rows of a place.

        Raises:
            Wanted: sums over all places are not known.
        """
        columns, chosen = data.columns(), range(len(self.plans)) if of is None else of
        return [self._one(plan, columns) for plan in chosen]

    def _one(self, number: int, columns: Any) -> AdvantageTable:  # noqa: ANN401  tensors by name
        plan = self.plans[number]
        if self.view.unit in ("step", "all"):
            return run(plan, columns)
        steps = max(1, len(self.view.steps))
        found: AdvantageTable = run_part(lambda: run(plan, columns), self.known[number], steps)  # type: ignore[assignment]
        return found


def counted(places: Any, work: Work) -> tuple[Work, Account]:  # noqa: ANN401  Ray's class
    """Run until everything is known, and count.

    Args:
        places: from `places.spread`.
        work: what to do, with nothing known.

    Returns:
        The work with all that is known, and what was counted of all places.
    """
    while True:
        rows = places.map_batches(
            step, batch_size=1, batch_format="pyarrow", fn_kwargs={"work": work}, num_cpus=1
        ).take_all()
        answers = [pickle.loads(row["answer"]) for row in rows]
        if not work.open:
            return work, reduce(lambda one, two: one + two, answers)
        work = _wiser(work, answers)


def _wiser(work: Work, answers: Sequence[dict[int, tuple[Asked, ...]]]) -> Work:
    """The same work, with what the places asked for."""
    asked = {number: [one[number] for one in answers if number in one] for number in work.open}
    known = list(work.known)
    for number, parts in asked.items():
        if parts:
            known[number] = (*known[number], *merged(parts))
    return replace(work, known=tuple(known), open=tuple(number for number in work.open if asked[number]))


def step(batch: pa.Table, work: Work) -> pa.Table:
    """One round in one place: what the open plans want to know, or at last what is counted."""
    faults.strike("step", batch["place"][0].as_py())
    columns = unpack(batch)
    data = data_of(columns, work.view)
    if not work.open:
        results = work.results(data)
        starts = np.repeat(work.view.starts, data.table.rows)
        answer: Any = account(data, starts + columns["row"].to_numpy(), work, results)
    else:
        answer = {}
        for number in work.open:
            try:
                work.results(data, [number])
            except Wanted as wanted:
                answer[number] = wanted.asked
    return pa.table({"answer": pa.array([pickle.dumps(answer)], pa.binary())})


def advantages(batch: pa.Table, work: Work) -> Iterator[pa.Table]:
    """The advantages of the rows of a place, with the first row of their group: its number is not known here."""
    columns = unpack(batch)
    data = data_of(columns, work.view)
    result = work.results(data, [0])[0]
    group = data.grouping.group
    file, row = first_rows(columns, group)
    grouped = group >= 0
    original, processed = (values.double().numpy() for values in (result.original, result.processed))
    found = {
        "file": columns["file"],
        "row": columns["row"],
        "original": pa.array(original, pa.float64(), mask=np.isnan(original)),
        "processed": pa.array(processed, pa.float64(), mask=np.isnan(processed)),
        "kept": pa.array(result.kept.numpy()),
        "first file": pa.array(np.where(grouped, file[group] if len(file) else -1, -1), pa.int32()),
        "first row": pa.array(np.where(grouped, row[group] if len(row) else -1, -1), pa.int64()),
        "line": columns["line"],
    }
    if result.tokens is not None:
        found["tokens"] = lists(result.tokens, result.token_counts)
    yield pa.table(found)
