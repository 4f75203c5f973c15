"""Where rows go: a partition is some whole files, and only what belongs together across files moves.

Trainers write the rows of a group one after the other, so mostly no row moves. Where more than a few groups have rows
in several files, every row goes to the partition that its group's digest names.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from advcli.distributed import crossing
from advcli.distributed.crossing import Crossing, Digests, among, numbers, runs
from advcli.distributed.scan import ScanJob, Summary
from advcli.distributed.tasks import ObjectRef, Tasks
from advcli.records.table import Choice

_LARGE = 4
"""A file is a partition of its own if it has at least the room of a partition divided by this."""

_Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Place:
    """A partition.

    Attributes:
        rows: its rows, in the order of the files; they stay with the workers.
        files: the files that they are from.
    """

    rows: ObjectRef
    files: tuple[int, ...]


@dataclass(frozen=True)
class PartitionPlan:
    """What every partition has to know of the whole.

    Attributes:
        job: what was read.
        unit: what lies in one partition: "group", "key" (a prompt), "position", "step" or "all".
        places: how many partitions there are.
        steps: the names of all steps, in the order in which they are met.
        step_of: file → the number of each of its steps.
        by: the values of the column that splits the figures, in the order in which they are met.
        by_of: file → the number of each of its values.
        place_of_step: the partition of each step.
        before: usable rows before each file.
        starts: rows before each file.
        low: the smallest usable reward of all.
        high: the largest.
        home: [F] the first partition of the file's own.
        width: [F] how many of these there are.
        crossing: ascending digests of the groups with rows in several files; None if every row goes by its digest.
        again: prompts that are drawn at several steps, where partitions do not see them all.
    """

    job: ScanJob
    unit: str
    places: int
    steps: tuple[str, ...]
    step_of: tuple[_Ints, ...]
    by: tuple[str, ...]
    by_of: tuple[_Ints, ...]
    place_of_step: _Ints
    before: _Ints
    starts: _Ints
    low: float
    high: float
    home: _Ints
    width: _Ints
    crossing: Digests | None = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    again: int = 0

    @classmethod
    def of(
        cls, job: ScanJob, summaries: Sequence[Summary], unit: str, rows_per_place: int
    ) -> "PartitionPlan":
        """Plan the partitions, as if no group had rows in several files.

        Args:
            job: what was read.
            summaries: one per file, in order.
            unit: what has to lie in one partition.
            rows_per_place: about how many rows a partition shall have.
        """
        names, step_of = _numbered([summary.steps for summary in summaries])
        by, by_of = _numbered([summary.by for summary in summaries])
        rows = np.array([summary.rows for summary in summaries], dtype=np.int64)
        usable = np.array([summary.usable for summary in summaries], dtype=np.int64)
        home, width = _bundles(rows, rows_per_place)
        if unit == "all":
            home, width = np.zeros_like(home), np.ones_like(width)
        places = int((home + width).max(initial=1))
        rows_of = np.zeros((len(rows), max(1, len(names))), dtype=np.int64) if unit == "step" else None
        if rows_of is not None:
            for number, (summary, codes) in enumerate(zip(summaries, step_of, strict=True)):
                rows_of[number, codes[: len(summary.step_rows)]] += summary.step_rows
        return cls(
            job=job,
            unit=unit,
            places=places,
            steps=names,
            step_of=step_of,
            by=by,
            by_of=by_of,
            place_of_step=np.zeros(0, dtype=np.int64)
            if rows_of is None
            else _near(rows_of, home, places, rows_per_place),
            before=np.cumsum(usable) - usable,
            starts=np.cumsum(rows) - rows,
            low=float(np.nanmin([np.inf, *(summary.low for summary in summaries)])),
            high=float(np.nanmax([-np.inf, *(summary.high for summary in summaries)])),
            home=home,
            width=width,
        )

    @property
    def whole_prompts(self) -> bool:
        """Whether all rows of a prompt lie in one partition, at whatever step."""
        return self.places == 1 or self.unit in ("key", "all")

    @property
    def has_steps(self) -> bool:
        """Whether the dump has steps."""
        return self.job.choice.step is not None

    def steps_in_key(self, number: int) -> _Ints | None:
        """The number of each step of a file, if a prompt at another step is another group."""
        return self.step_of[number] if by_step(self.job.choice) and self.unit != "key" else None

    def find_crossing(self, tasks: Tasks, rows: Sequence[ObjectRef], workers: int) -> Crossing:
        """Find the groups with rows in several files; `rows` as in `spread`."""
        steps = [self.steps_in_key(number) for number in range(len(rows))]
        return crossing.find(tasks, rows, steps, self.places, workers)


def by_step(choice: Choice) -> bool:
    """Whether a prompt at another step is another group."""
    return bool(choice.step and choice.step_in_key and choice.prompt)


def largest_step(summaries: Sequence[Summary]) -> int:
    """Rows of the largest step; 0 without steps."""
    sizes: dict[str, int] = {}
    for summary in summaries:
        for name, rows in zip(summary.steps, summary.step_rows, strict=True):
            sizes[name] = sizes.get(name, 0) + rows
    return max(sizes.values(), default=0)


def move(
    tasks: Tasks,
    tables: Sequence[ObjectRef],
    targets: Sequence[Sequence[int]],
    cut: Callable[..., Sequence[pa.Table]],
    *given: object,
) -> dict[int, list[ObjectRef]]:
    """Cut tables into pieces for others: number of the other table → its pieces, in the order of the tables.

    Args:
        tasks: where it is done.
        tables: the tables.
        targets: for each, the numbers of the others to which its rows go; with a single one it stays as it is.
        cut: runs where a table lies: the table, its targets and what is given → a piece for each target.
        given: what else `cut` takes.
    """
    pieces: dict[int, list[ObjectRef]] = {}
    for table, numbers_ in zip(tables, targets, strict=True):
        to = tuple(numbers_)
        parts = [table] if len(to) == 1 else tasks.split(len(to), cut, table, to, *given)
        for number, part in zip(to, parts, strict=True):
            pieces.setdefault(number, []).append(part)
    return pieces


def spread(
    tasks: Tasks, rows: Sequence[ObjectRef], plan: PartitionPlan, workers: int
) -> tuple[PartitionPlan, list[Place]]:
    """Move the rows that have to move.

    Args:
        tasks: where it is done.
        rows: of each file, from `scan.read`.
        plan: from `PartitionPlan.of`.
        workers: how many tasks run at a time.

    Returns:
        The plan, with what is known of groups that have rows in several files; the partitions that have rows.
    """
    shared = tasks.share(plan)
    targets = [_own(plan, number) for number in range(len(rows))]
    if plan.unit in ("group", "key") and plan.places > 1:
        result = plan.find_crossing(tasks, rows, workers)
        plan = replace(plan, crossing=result.digests, again=result.again)
        shared = tasks.share(plan)
        if plan.crossing is None:
            targets = [range(plan.places)] * len(rows)
        for number, to in result.targets.items():
            targets[number] = sorted({*targets[number], *to})
    places = []
    pieces = move(tasks, rows, targets, cut, shared)
    for number in sorted(pieces):
        (first, *others) = pieces[number]
        files = tuple(at for at, to in enumerate(targets) if number in to)
        places.append(Place(tasks.run(joined, number, first, *others) if others else first, files))
    return plan, places


def _own(plan: PartitionPlan, number: int) -> Sequence[int]:
    """The partitions of a file whose groups have no rows in other files."""
    own = range(int(plan.home[number]), int(plan.home[number] + plan.width[number]))
    if plan.unit == "step":
        steps = plan.step_of[number]
        return sorted(set(plan.place_of_step[steps].tolist())) or own
    if plan.unit == "position":
        before, n = int(plan.before[number]), plan.job.options.n or 1
        first = _holder(plan, np.array([before // n * n]))
        return sorted({*own, *_of_position(plan, first, np.array([before // n])).tolist()})
    return own


def cut(rows: pa.Table, targets: Sequence[int], plan: PartitionPlan) -> list[pa.Table]:
    """The rows of a file that go to each of its partitions, in their order."""
    position = place_of(rows, plan)
    usable = numbers(rows, "usable")
    position = np.where(usable, position, targets[0])
    # Short integers are sorted in two passes.
    kind = np.uint16 if plan.places < 1 << 16 else np.int64
    order = np.argsort(position.astype(kind), kind="stable")
    edges = (
        np.searchsorted(position[order], targets, side="left"),
        np.searchsorted(position[order], targets, side="right"),
    )
    return [rows.take(pa.array(order[low:high])) for low, high in zip(*edges, strict=True)]


def joined(number: int, *pieces: pa.Table) -> pa.Table:
    """The rows of one partition, which come in the order of the files."""
    del number
    return pa.concat_tables(pieces).combine_chunks()


def place_of(rows: pa.Table, plan: PartitionPlan) -> _Ints:
    """[n] the partition of each usable row of a file."""
    number = int(rows["file"][0].as_py()) if rows.num_rows else 0
    if plan.unit == "all":
        return np.zeros(rows.num_rows, dtype=np.int64)
    if plan.unit == "step":
        result: _Ints = plan.place_of_step[plan.step_of[number][numbers(rows, "step")]]
        return result
    if plan.unit == "position":
        position = numbers(rows, "key") + plan.before[number]
        n = plan.job.options.n or 1
        return _of_position(plan, _holder(plan, position // n * n), position // n)
    _, digests, lengths = runs(rows, plan.steps_in_key(number))
    everywhere = digests % np.uint64(plan.places)
    if plan.crossing is None:
        return np.repeat(everywhere.astype(np.int64), lengths)
    own = plan.home[number] + (digests % np.uint64(plan.width[number])).astype(np.int64)
    return np.repeat(np.where(among(digests, plan.crossing), everywhere.astype(np.int64), own), lengths)


def _holder(plan: PartitionPlan, position: _Ints) -> _Ints:
    """[n] the file of a usable row, given how many stand before it."""
    return np.searchsorted(plan.before, position, side="right") - 1


def _of_position(plan: PartitionPlan, file: _Ints, group: _Ints) -> _Ints:
    """[n] the partition of the groups that begin in some files."""
    result: _Ints = plan.home[file] + group % plan.width[file]
    return result


def with_codes_of_all(rows: pa.Table, plan: PartitionPlan) -> pa.Table:
    """Rows with the numbers that their steps, and the values that split the figures, have among those of all files."""
    file = numbers(rows, "file")
    for name, wanted, of in (("step", True, plan.step_of), ("by", bool(plan.by), plan.by_of)):
        if not wanted:
            continue
        codes = numbers(rows, name)
        result = np.empty(len(codes), dtype=np.int64)
        edges = [*np.flatnonzero(np.diff(file, prepend=-1)).tolist(), len(file)]
        for low, high in pairwise(edges):
            result[low:high] = of[file[low]][codes[low:high]]
        rows = rows.set_column(rows.column_names.index(name), name, pa.array(result))
    return rows


def _numbered(names: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], tuple[_Ints, ...]]:
    """The names of all files in the order in which they are met, and the number of each name of each file."""
    met: dict[str, int] = {}
    for of_file in names:
        for name in of_file:
            met.setdefault(name, len(met))
    return tuple(met), tuple(np.array([met[n] for n in of_file] or [0], dtype=np.int64) for of_file in names)


def _bundles(rows: _Ints, room: int) -> tuple[_Ints, _Ints]:
    """The first partition of each file, and how many it has: several, or one with its neighbours where files are small."""
    home, width = np.zeros(len(rows), dtype=np.int64), np.ones(len(rows), dtype=np.int64)
    position, load = 0, 0
    for number, count in enumerate(rows.tolist()):
        # Files that are no small ones stay as they are, or their rows would be copied.
        if load and (load + count > room or _LARGE * count > room):
            position, load = position + int(width[number - 1]), 0
        home[number], width[number] = position, max(1, -(-count // max(1, room))) if not load else 1
        load += count
    return home, width


def _near(rows: _Ints, home: _Ints, places: int, room: int) -> _Ints:
    """[S] a partition for each step: where the file with most of its rows lies, or else that with fewest rows.

    Args:
        rows: [F, S] the rows of each step in each file.
        home: [F] the partition of each file.
        places: how many partitions there are.
        room: rows that a partition shall have.
    """
    load, result = np.zeros(places, dtype=np.int64), np.zeros(rows.shape[1], dtype=np.int64)
    sizes, wanted = rows.sum(axis=0), home[rows.argmax(axis=0)]
    for step in np.argsort(-sizes, kind="stable").tolist():
        near = int(wanted[step])
        fits = not load[near] or load[near] + sizes[step] <= room
        result[step] = near if fits else int(load.argmin())
        load[result[step]] += sizes[step]
    return result
