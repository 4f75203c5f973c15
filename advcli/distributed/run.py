"""Pass (b): the engine runs on every place, as often as it takes until the sums over all places are known."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from advcli.dataset import grouping
from advcli.dataset import load as data_set
from advcli.dataset.load import DataSet
from advcli.distributed.placement import PartitionPlan, Place, with_codes_of_all
from advcli.distributed.scan import ScanJob
from advcli.distributed.tasks import Tasks
from advcli.engine.plan import Plan
from advcli.engine.run import run
from advcli.io.collect.cells import one_array
from advcli.records.settings import AdvantageTable
from advcli.records.table import RewardTable
from advcli.tensors import codes as group_codes
from advcli.tensors.partial import NeedsReduction, Reduction, merged, run_part


@dataclass(frozen=True)
class Shown:
    """A column that a command shows.

    Attributes:
        label: its heading.
        run: which of the runs it is.
        bare: whether it is the original advantage of that run, before any keep ratio.
    """

    label: str
    run: int
    bare: bool = False

    def of(self, results: Sequence[AdvantageTable]) -> AdvantageTable:
        """The advantages of the column."""
        result = results[self.run]
        return result.unprocessed() if self.bare else result


@dataclass(frozen=True)
class PartitionJob:
    """What is done in every place.

    Attributes:
        view: what is known of the whole.
        plans: what is computed.
        shown: the columns that are counted.
        known: for each plan, the sums over all places that are known.
        open: the plans that may want more of them.
        per_step: whether the metrics of each step are wanted.
    """

    view: PartitionPlan
    plans: tuple[Plan, ...]
    shown: tuple[Shown, ...]
    known: tuple[tuple[Reduction, ...], ...]
    open: tuple[int, ...]
    per_step: bool = False

    def results(self, data: DataSet, of: Sequence[int] | None = None) -> list[AdvantageTable]:
        """The advantages of the rows of a place.

        Raises:
            NeedsReduction: sums over all places are not known.
        """
        columns, chosen = data.columns(), range(len(self.plans)) if of is None else of
        return [self._one(plan, columns) for plan in chosen]

    def _one(self, number: int, columns: Any) -> AdvantageTable:  # noqa: ANN401  tensors by name
        plan = self.plans[number]
        if self.view.unit in ("step", "all"):
            return run(plan, columns)
        steps = max(1, len(self.view.steps))
        result: AdvantageTable = run_part(lambda: run(plan, columns), self.known[number], steps)  # type: ignore[assignment]
        return result


@dataclass(frozen=True)
class PartitionRows:
    """A place, as a task sees it.

    Attributes:
        columns: what lies there.
        data: the same as a data set.
        work: what is done in every place.
    """

    columns: Mapping[str, pa.Array]
    data: DataSet
    work: PartitionJob

    @classmethod
    def of(cls, rows: pa.Table, work: PartitionJob) -> "PartitionRows":
        """The rows as they lie with a worker."""
        columns = unpack(rows, work.view)
        return cls(columns, data_of(columns, work.view), work)

    @cached_property
    def results(self) -> list[AdvantageTable]:
        """The advantages of the rows, by each plan."""
        return self.work.results(self.data)

    def positions(self) -> NDArray[np.int64]:
        """[n] where each row stands among all rows."""
        starts = np.repeat(self.work.view.starts, self.data.table.rows)
        result: NDArray[np.int64] = starts + self.columns["row"].to_numpy()
        return result

    def begins(self) -> NDArray[np.int64]:
        """[G] where each group begins among all rows: in ascending order, as groups are numbered."""
        group = self.data.grouping.group
        result: NDArray[np.int64] = self.positions()[group >= 0][group_codes.first_rows(group[group >= 0])]
        return result


def over(
    tasks: Tasks, places: Sequence[Place], work: PartitionJob, what: Callable[..., Any], *given: object
) -> Any:  # noqa: ANN401  what `what` gives
    """Ask something of every place, and add the answers up.

    Args:
        tasks: where it is done.
        places: from `placement.spread`.
        work: what is done in every place.
        what: takes a `Here` and what is given; a function of a module.
        given: what else it takes.
    """
    shared = tasks.share((work, what, given))
    return reduce(
        add,
        tasks.get(
            [tasks.run(answer, number, position.rows, shared) for number, position in enumerate(places)]
        ),
    )


def answer(
    number: int, place: pa.Table, asked: tuple[PartitionJob, Callable[..., Any], tuple[object, ...]]
) -> Any:  # noqa: ANN401
    """What one place has to say."""
    work, what, given = asked
    return what(PartitionRows.of(place, work), *given)


def known(tasks: Tasks, places: Sequence[Place], work: PartitionJob) -> PartitionJob:
    """The work, with everything that its plans have to know of all places.

    Args:
        tasks: where it is done.
        places: from `placement.spread`.
        work: what to do, with nothing known.
    """
    while work.open:
        work = _wiser(work, over(tasks, places, work, wanted))
    return work


def wanted(here: PartitionRows) -> list[dict[int, tuple[Reduction, ...]]]:
    """What the open plans want to know of all places: the part of this one."""
    result = {}
    for number in here.work.open:
        try:
            here.work.results(here.data, [number])
        except NeedsReduction as wanted:
            result[number] = wanted.asked
    return [result]


def _wiser(work: PartitionJob, answers: Sequence[dict[int, tuple[Reduction, ...]]]) -> PartitionJob:
    """The job, with the reductions that partitions asked for."""
    asked = {number: [one[number] for one in answers if number in one] for number in work.open}
    known = list(work.known)
    for number, parts in asked.items():
        if parts:
            known[number] = (*known[number], *merged(parts))
    return replace(work, known=tuple(known), open=tuple(number for number in work.open if asked[number]))


def unpack(table: pa.Table, plan: PartitionPlan) -> dict[str, pa.Array]:
    """The columns of one partition, with steps and values that split the figures numbered as in all files."""
    table = with_codes_of_all(table, plan)
    return {name: one_array(table[name]) for name in table.column_names}


def table(columns: Mapping[str, pa.Array], view: PartitionPlan) -> RewardTable:
    """The rows of a partition as a table, with fresh prompt codes."""
    values = {
        name: column.to_numpy(zero_copy_only=False)
        for name, column in columns.items()
        if not name.startswith("tokens ")
    }
    job, file = view.job, values["file"]
    parts = [values[name] for name in values if name.startswith("part ")]
    tokens = {
        name.removeprefix("tokens "): column for name, column in columns.items() if name.startswith("tokens ")
    }
    counts = next((column.value_lengths().to_numpy() for column in tokens.values()), None)
    return RewardTable(
        rewards=values["reward"].copy(),
        cause=values["cause"].copy(),
        key=_key(values, job),
        step=values["step"].copy() if view.has_steps else None,
        step_names=view.steps,
        parts=np.stack(parts, axis=1) if parts else None,
        length=_copied(values, "length"),
        logged=_copied(values, "logged"),
        turn=_copied(values, "turn"),
        rollout=values["rollout"].copy() if "rollout" in values else None,
        turn_counts=values["turn_counts"].copy() if "turn_counts" in values else None,
        uneven=values["uneven"].copy() if "uneven" in values and values["uneven"].any() else None,
        roles=_named(values, "role"),
        extra=_named(values, "extra"),
        outcomes=_named(values, "outcome"),
        causes=_named(values, "cause"),
        by=values["by"].copy() if "by" in values else None,
        by_names=view.by,
        tokens={
            role: column.flatten().to_numpy(zero_copy_only=False).copy() for role, column in tokens.items()
        },
        token_counts=None if counts is None else counts.astype(np.int64),
        rows=tuple(np.bincount(file, minlength=len(job.sources)).tolist()),
        choice=job.choice,
        dropped=(),
        lines=values["line"].astype(np.int64),
        names=job.names,
    )


def data_of(columns: Mapping[str, pa.Array], view: PartitionPlan) -> DataSet:
    """The rows of a place as a data set, grouped as on one machine."""
    rows = table(columns, view)
    groups = grouping.group(rows, view.job.options.n, part=True)
    data = data_set.grouped(rows, groups)
    if view.job.refuse_singletons:
        data_set.refuse_singletons(data)
    return data


def _key(values: Mapping[str, NDArray[Any]], job: ScanJob) -> NDArray[np.int64]:
    if not job.choice.prompt:
        return np.where(values["usable"], 0, -1)
    codes, rest = group_codes.numbered(values["key"]), values["key2"]
    if (rest[group_codes.first_rows(codes)][codes] != rest).any():
        # Of many billion prompts two may share half of a digest.
        codes = group_codes.paired(codes, group_codes.numbered(rest))
    return np.where(values["usable"], codes, -1)


def _named(values: Mapping[str, NDArray[Any]], part: str) -> dict[str, NDArray[Any]]:
    """The columns that play a part, by their own names."""
    return {
        name.removeprefix(f"{part} "): result.copy()
        for name, result in values.items()
        if name.startswith(f"{part} ")
    }


def _copied(values: Mapping[str, NDArray[Any]], name: str) -> NDArray[np.float64] | None:
    return values[name].copy() if name in values else None
