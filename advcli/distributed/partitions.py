"""The rows, partitioned so that no unit is split: a table per partition."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from advcli.dataset import grouping
from advcli.dataset import load as data_set
from advcli.dataset.load import DataSet
from advcli.distributed.scan import DIGEST, ScanJob, Summary
from advcli.distributed.tasks import ObjectRef, Tasks
from advcli.io.collect.cells import one_array
from advcli.records.table import RewardTable
from advcli.tensors import codes as group_codes

_STEP = "step"


@dataclass(frozen=True)
class PartitionPlan:
    """What every place has to know of the whole.

    Attributes:
        job: what was read.
        unit: what lies in one place: "key", "position", "step" or "all".
        places: how many places there are.
        steps: the names of all steps, in the order in which they are met.
        step_of: file → the number of each of its steps.
        by: the values of the column that splits the figures, in the order in which they are met.
        by_of: file → the number of each of its values.
        place_of_step: the place of each step.
        before: usable rows before each file.
        starts: rows before each file.
        low: the smallest usable reward of all.
        high: the largest.
    """

    job: ScanJob
    unit: str
    places: int
    steps: tuple[str, ...]
    step_of: tuple[NDArray[np.int64], ...]
    by: tuple[str, ...]
    by_of: tuple[NDArray[np.int64], ...]
    place_of_step: NDArray[np.int64]
    before: NDArray[np.int64]
    starts: NDArray[np.int64]
    low: float
    high: float

    @classmethod
    def of(
        cls, job: ScanJob, summaries: Sequence[Summary], unit: str, rows_per_place: int
    ) -> "PartitionPlan":
        """Plan the places.

        Args:
            job: what was read.
            summaries: one per file, in order.
            unit: what has to lie in one place.
            rows_per_place: about how many rows a place shall have.
        """
        names, step_of = _numbered([summary.steps for summary in summaries])
        by, by_of = _numbered([summary.by for summary in summaries])
        rows = np.array([summary.rows for summary in summaries], dtype=np.int64)
        usable = np.array([summary.usable for summary in summaries], dtype=np.int64)
        places = 1 if unit == "all" else max(1, -(-int(rows.sum()) // rows_per_place))
        sizes = np.zeros(max(1, len(names)), dtype=np.int64)
        for summary, codes in zip(summaries, step_of, strict=True):
            np.add.at(sizes, codes[: len(summary.step_rows)], summary.step_rows)
        if unit == _STEP:
            places = min(places, len(sizes))
        return cls(
            job=job,
            unit=unit,
            places=places,
            steps=names,
            step_of=step_of,
            by=by,
            by_of=by_of,
            place_of_step=_evenly(sizes, places),
            before=np.cumsum(usable) - usable,
            starts=np.cumsum(rows) - rows,
            low=float(np.nanmin([np.inf, *(summary.low for summary in summaries)])),
            high=float(np.nanmax([-np.inf, *(summary.high for summary in summaries)])),
        )

    @property
    def has_steps(self) -> bool:
        """Whether the dump has steps."""
        return self.job.choice.step is not None


def _numbered(names: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], tuple[NDArray[np.int64], ...]]:
    """The names of all files in the order in which they are met, and the number of each name of each file."""
    met: dict[str, int] = {}
    for of_file in names:
        for name in of_file:
            met.setdefault(name, len(met))
    return tuple(met), tuple(np.array([met[n] for n in of_file] or [0], dtype=np.int64) for of_file in names)


def largest_step(summaries: Sequence[Summary]) -> int:
    """Rows of the largest step; 0 without steps."""
    sizes: dict[str, int] = {}
    for summary in summaries:
        for name, rows in zip(summary.steps, summary.step_rows, strict=True):
            sizes[name] = sizes.get(name, 0) + rows
    return max(sizes.values(), default=0)


def spread(tasks: Tasks, rows: Sequence[ObjectRef], view: PartitionPlan) -> list[ObjectRef]:
    """Move the rows to their places.

    Args:
        tasks: where it is done.
        rows: of each file, from `narrow.read`.
        view: where they go.

    Returns:
        A table per place, in the order of the files; they stay with the workers.
    """
    return tasks.shuffle(rows, view.places, assign, pack, tasks.share(view))


def assign(rows: pa.Table, view: PartitionPlan) -> tuple[pa.Table, NDArray[np.int64]]:
    """Rows with the number of their step among all steps, and the place of each."""
    file, row = numbers(rows, "file"), numbers(rows, "row")
    key, usable = numbers(rows, "key"), numbers(rows, "usable")
    step = numbers(rows, _STEP).copy()
    by = numbers(rows, "by").copy() if view.by else None
    for number in np.unique(file).tolist():
        here = file == number
        step[here] = view.step_of[number][step[here]]
        if by is not None:
            by[here] = view.by_of[number][by[here]]
        if view.unit == "position" or not view.job.choice.prompt:
            key = np.where(here, key + view.before[number], key)
    place = _PLACES[view.unit](view, key, step) % view.places
    rows = rows.set_column(rows.column_names.index(_STEP), _STEP, pa.array(step))
    if by is not None:
        rows = rows.set_column(rows.column_names.index("by"), "by", pa.array(by))
    if DIGEST in rows.column_names:
        rows = rows.drop_columns([DIGEST])
    return rows, np.where(usable, place, row % view.places)


_PLACES: Mapping[str, Any] = {
    "all": lambda view, key, step: np.zeros_like(key),
    "step": lambda view, key, step: view.place_of_step[step],
    "key": lambda view, key, step: key,
    "position": lambda view, key, step: key // (view.job.options.n or 1),
}


def pack(number: int, rows: pa.Table) -> pa.Table:
    """The rows of one place, in the order of the files."""
    order = np.lexsort((numbers(rows, "row"), numbers(rows, "file")))
    return rows.take(pa.array(order)).combine_chunks()


def unpack(table: pa.Table) -> dict[str, pa.Array]:
    """The columns of one place."""
    return {name: one_array(table[name]) for name in table.column_names}


def numbers(block: pa.Table, name: str) -> NDArray[Any]:
    """A column as numbers."""
    found: NDArray[Any] = one_array(block[name]).to_numpy(zero_copy_only=False)
    return found


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
        step=values[_STEP].copy() if view.has_steps else None,
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
        lines=values["line"],
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


def first_rows(
    columns: Mapping[str, pa.Array], group: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """File and row of the first row of each group: rows lie in order, so it is the first that is met."""
    place = np.flatnonzero(group >= 0)[group_codes.first_rows(group[group >= 0])]
    file, row = (columns[name].to_numpy(zero_copy_only=False) for name in ("file", "row"))
    return file[place], row[place]


def _key(values: Mapping[str, NDArray[Any]], job: ScanJob) -> NDArray[np.int64]:
    if not job.choice.prompt:
        return np.where(values["usable"], 0, -1)
    codes = group_codes.paired(*(group_codes.numbered(values[name]) for name in ("key", "key2")))
    return np.where(values["usable"], codes, -1)


def _named(values: Mapping[str, NDArray[Any]], part: str) -> dict[str, NDArray[Any]]:
    """The columns that play a part, by their own names."""
    return {
        name.removeprefix(f"{part} "): found.copy()
        for name, found in values.items()
        if name.startswith(f"{part} ")
    }


def _copied(values: Mapping[str, NDArray[Any]], name: str) -> NDArray[np.float64] | None:
    return values[name].copy() if name in values else None


def _evenly(sizes: NDArray[np.int64], places: int) -> NDArray[np.int64]:
    """A place for each step: the largest first, each to the place that has fewest rows."""
    load = np.zeros(places, dtype=np.int64)
    chosen = np.zeros(len(sizes), dtype=np.int64)
    for step in np.argsort(-sizes, kind="stable").tolist():
        chosen[step] = int(load.argmin())
        load[chosen[step]] += sizes[step]
    return chosen
