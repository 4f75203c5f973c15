"""`inspect` of a partitioned dump."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, TypeAlias

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from advcli.dataset import remarks
from advcli.dataset.grouping import Mixed, Sizes, mixed
from advcli.dataset.load import DataSet, by_unit
from advcli.distributed import cluster, run, sketches
from advcli.distributed.counts import scattered
from advcli.distributed.crossing import numbers
from advcli.distributed.inspection.details import details
from advcli.distributed.load import Loaded, columns, described, load, scan_job, too_large
from advcli.distributed.placement import largest_step, move
from advcli.distributed.run import PartitionJob, PartitionRows
from advcli.distributed.scan import DIGEST
from advcli.distributed.traps import Seen, seen
from advcli.engine.plan import Plan
from advcli.inspection.details import Wanted
from advcli.inspection.facts import SUM, FactsCount, Frame, reward_columns
from advcli.inspection.phantoms import Part
from advcli.inspection.turns import TurnsCount
from advcli.inspection.turns import together as together_turns
from advcli.io.lookup import repeated
from advcli.pipeline.describe import settings_of
from advcli.pipeline.request import Request
from advcli.records.mergeable import Merge, Mergeable
from advcli.records.results.inspection import NEAR_DEAD, Facts, Files, Inspection
from advcli.records.settings import AdvantageTable
from advcli.records.table import Choice
from advcli.tensors.masks import rewarded
from advcli.tensors.segments import Segments

_MAX_SINGLE = 262_144
"""Up to so many rows, a dump without steps is one partition, so that batch-level rules can be tried."""

Extents: TypeAlias = Mapping[int | None, tuple[tuple[float, float], ...]]
"""Code of the `--by` value (None for all rows) → the extent (lowest and highest value) of each reward column."""


@dataclass(frozen=True)
class Kinds(Mergeable):
    """The number of groups by number of rows, and by number of valid rows."""

    rows: Counter[int]
    valid: Counter[int]


_Sketches: TypeAlias = Mapping[int | None, tuple[tuple[bytes, ...], ...]]


def _joined(one: _Sketches, two: _Sketches) -> _Sketches:
    """The sketches of both, for each value and reward column."""
    result = dict(one)
    for value, added in two.items():
        known = result.get(value, ((),) * len(added))
        result[value] = tuple(first + second for first, second in zip(known, added, strict=True))
    return result


@dataclass(frozen=True)
class Inspected(Mergeable):
    """The counts of one or several partitions.

    Attributes:
        facts: the counts of all rows.
        split: code of the `--by` value → the counts of its rows.
        distinct: code of the `--by` value, or None for all rows → sketches of the values of each reward column.
        mixed: groups that mix rows that may not belong together.
        mixed_by: number of groups whose rows differ in the `--by` column.
        reused: number of prompts drawn at several steps.
        scattered: number of groups whose rows are not contiguous.
        compared: number of partitions in which a group has two rewards.
        defined: number of rows with an advantage.
        largest: number of rows of the largest partition.
        seen: the step digests for the checks of traps.
        turns: the counts of rollouts; None if each is one row.
    """

    facts: FactsCount
    split: Mapping[int, FactsCount]
    distinct: Annotated[_Sketches, Merge(_joined)]
    mixed: Mixed
    mixed_by: int
    reused: int
    scattered: int
    compared: int
    defined: int
    largest: Annotated[int, Merge(max)]
    seen: Seen
    turns: Annotated[TurnsCount | None, Merge(together_turns)] = None


def inspect(request: Request, wanted: Wanted, *, near_dead: float = NEAR_DEAD) -> Inspection:
    """Describe a dump; arguments and result as in `pipeline.inspect`."""
    request = replace(request, settings=request.settings.unprocessed())
    plan = request.plan()
    with scan_job(request, inspected=True) as job, cluster.running(request.ray_address) as tasks:
        plan = plan.at(columns(job.choice))
        loaded = load(tasks, job)
        view, partitions = loaded.spread(_unit(loaded, plan))
        has_whole_steps = view.unit in ("step", "all")
        open_ = (0,) if plan.scope() == "step" and not has_whole_steps else ()
        partition_job = run.with_reductions(tasks, partitions, PartitionJob(view, (plan,), (), ((),), open_))
        kinds: Kinds = run.map_reduce(tasks, partitions, partition_job, sized)
        part = Part(
            (_once(kinds.rows), _once(kinds.valid)),
            frozenset(kinds.rows),
            has_whole_steps,
            len(kinds.rows) > 1,
        )
        extents = _extents(loaded, view.by)
        if job.choice.rollout:
            # The reward of a rollout may lie outside the range of its rows' rewards.
            extents = run.map_reduce(tasks, partitions, partition_job, ends).of
        result: Inspected = run.map_reduce(
            tasks, partitions, partition_job, inspected, near_dead, extents, part
        )
        result = replace(result, reused=result.reused + loaded.count_reused(view))
        facts, split, estimated = _facts(job.choice, partition_job, result)
        seen_ = Sizes(facts.rows, facts.groups, facts.sizes, result.mixed)
        data = described(request, loaded, view, seen_, result.seen, several=result.turns is not None)
        shown = details(wanted, loaded, partitions, partition_job, facts.groups, data.grouping.columns)
        targets = [range(cluster.workers())] * len(loaded.rows)
        scattered = move(tasks, loaded.rows, targets, digests)
        duplicates = tasks.get([tasks.run(repeats, *pieces) for pieces in scattered.values()])
    blocks = not result.scattered and len(facts.sizes) == 1
    weights, alone = request.columns.weights, facts.sizes.get(1, 0)
    warnings = [
        *remarks.warnings_of(
            data,
            plan.rule,
            weights=weights,
            undefined=not result.defined,
            blocks=blocks,
            no_comparison=not result.compared,
        )
    ]
    turns = None if result.turns is None else result.turns.figures()
    if turns is not None and plan.unit.counts != "turns":
        reward, by_row = plan.unit.reward, plan.unit.counts == "rows"
        differ = 0 if reward == "sum" else turns.differ
        warnings += remarks.unit_of(["original"] * by_row, turns.turns_max, differ, reward, all_=by_row)
    inspection_remarks = remarks.inspected_of(job.choice, alone, result.reused, result.mixed_by)
    return Inspection(
        files=Files(
            names=job.names,
            format=job.choice.format,
            columns=remarks.columns(data),
            group_rule=data.grouping.rule,
            duplicates=sum(duplicates),
            lint=(*request.warnings, *warnings, *inspection_remarks),
        ),
        facts=facts,
        settings=settings_of(plan, request, data),
        turns=turns,
        by=job.choice.by,
        split=split,
        details=shown,
        notes=(*estimated, *too_large(view, result.largest, loaded.memory)),
    )


def _unit(loaded: Loaded, plan: Plan) -> str:
    """What must be in one partition: whole steps if possible, because some trainers' rules need them."""
    unit, choice = loaded.unit((plan,)), loaded.job.choice
    largest = largest_step(loaded.summaries)
    if unit in ("step", "all"):
        return unit
    if largest and choice.step_in_key and largest <= loaded.max_rows:
        return "step"
    return "all" if loaded.count <= min(_MAX_SINGLE, loaded.max_rows) else unit


def _once(kinds: Mapping[int, int]) -> frozenset[int]:
    return frozenset(size for size, count in kinds.items() if count == 1)


def _extents(loaded: Loaded, by: Sequence[str]) -> Extents:
    """The extent of each reward column in all files."""
    codes: dict[str | None, int | None] = {name: code for code, name in enumerate(by)}
    codes[None] = None
    result: dict[int | None, NDArray[np.float64]] = {}
    for summary in loaded.summaries:
        for name, extents in summary.extents.items():
            low, high = np.array(extents).T
            known = result.get(codes[name], np.array([low, high]))
            result[codes[name]] = np.array([np.fmin(known[0], low), np.fmax(known[1], high)])
    return {code: tuple((low, high) for low, high in extents.T.tolist()) for code, extents in result.items()}


@dataclass(frozen=True)
class Ends:
    """The extents of one or several partitions; `of` as in `Extents`."""

    of: Extents

    def __add__(self, other: "Ends") -> "Ends":
        merged = dict(self.of)
        for code, extents in other.of.items():
            known = merged.get(code, extents)
            merged[code] = tuple(
                (float(np.fmin(one[0], two[0])), float(np.fmax(one[1], two[1])))
                for one, two in zip(known, extents, strict=True)
            )
        return Ends(merged)


def ends(partition: PartitionRows) -> Ends:
    """The extents of the reward columns in a partition, over rollouts if these are counted."""
    frames = _frames(partition)
    nan = np.array([np.nan])
    columns = {code: [np.append(values, nan) for values in _values(frame)] for code, frame in frames.items()}
    return Ends(
        {
            code: tuple((float(np.fmin.reduce(values)), float(np.fmax.reduce(values))) for values in of)
            for code, of in columns.items()
        }
    )


def sized(partition: PartitionRows) -> Kinds:
    """The group sizes of a partition."""
    rows = _unit_of(partition)[0].rows
    masks = (rows.group >= 0, rewarded(rows.rewards, rows.group))
    sizes = [Segments.of(rows.group[mask], rows.count).size().tolist() for mask in masks]
    return Kinds(Counter(sizes[0]), Counter(sizes[1]))


def inspected(partition: PartitionRows, near_dead: float, extents: Extents, part: Part) -> Inspected:
    """The counts of a partition."""
    data = partition.data
    frames = _frames(partition, part)
    counts = {
        code: FactsCount.of(frame, near_dead=near_dead, extents=extents[None])
        for code, frame in frames.items()
    }
    return Inspected(
        facts=counts[None],
        split={code: count for code, count in counts.items() if code is not None},
        distinct={code: tuple(map(_sketched, _values(frame))) for code, frame in frames.items()},
        mixed=mixed(data.table, data.grouping.group),
        mixed_by=remarks.mixed_by(data),
        reused=remarks.reused_keys(data) if partition.partition_job.view.has_whole_prompts else 0,
        scattered=scattered(data, partition.positions()),
        compared=int(not remarks.no_comparison(data)),
        defined=int((~frames[None].advantages.isnan()).sum()),
        largest=len(data.table.key),
        seen=seen(data, partition.columns, partition.positions()),
        turns=TurnsCount.of(data, partition.partition_job.plans[0].unit.reward),
    )


def _unit_of(partition: PartitionRows) -> tuple[DataSet, AdvantageTable]:
    """The rows or rollouts that are counted, and their advantages."""
    result = partition.partition_job.results(partition.data, [0])[0]
    unit, inner = by_unit(partition.data, {"original": result}, partition.partition_job.plans[0].unit.reward)
    return unit, inner["original"]


def _frames(partition: PartitionRows, part: Part | None = None) -> dict[int | None, Frame]:
    """The frames of a partition: for all rows (None) and for each `--by` value."""
    unit, result = _unit_of(partition)
    frame = Frame.of(unit, unit.columns(), result.original, partition.partition_job.plans[0].entry.name, part)
    frame = replace(frame, begins=torch.from_numpy(partition.begins()))
    frames: dict[int | None, Frame] = {None: frame}
    if unit.table.by is not None:
        by = torch.from_numpy(unit.table.by)
        frames |= {code: frame.of_rows(by == code) for code in torch.unique(by).tolist()}
    return frames


def _values(frame: Frame) -> list[NDArray[np.float64]]:
    """The usable values of each reward column."""
    group = frame.rows.group
    return [values[rewarded(values, group)].double().numpy() for _, values, _ in reward_columns(frame)]


def _sketched(values: NDArray[np.float64]) -> tuple[bytes, ...]:
    return (sketches.different(values),)


def _facts(
    choice: Choice, partition_job: PartitionJob, result: Inspected
) -> tuple[Facts, dict[str, Facts], tuple[str, ...]]:
    """The figures of all rows, those of each `--by` value, and a note if some are estimated."""
    parts = choice.rewards if len(choice.rewards) > 1 else ()
    names = [SUM if parts else choice.rewards[0][0], *(name for name, _ in parts), *choice.outcomes]
    steps = partition_job.view.steps if partition_job.view.has_steps else ()
    counted = {
        code: [sketches.count(column) for column in columns] for code, columns in result.distinct.items()
    }

    def figures(code: int | None, count: FactsCount) -> Facts:
        return count.facts(names, choice.rewards, steps, [many for many, _ in counted[code]])

    order = sorted(result.split, key=lambda code: (-result.split[code].rows, code))
    split = {partition_job.view.by[code]: figures(code, result.split[code]) for code in order}
    off = max((off for columns in counted.values() for _, off in columns), default=0.0)
    note = (
        f"distinct values are counted by a sketch (theta): off by at most {100 * off:.2g}% (99% confidence)"
    )
    return figures(None, result.facts), split, (note,) if off else ()


def digests(rows: pa.Table, targets: Sequence[int]) -> list[NDArray[np.uint64]]:
    """The digests of a file's usable rows, scattered to tasks."""
    result = numbers(rows.filter(rows["usable"]), DIGEST)
    return [result[result % np.uint64(len(targets)) == number] for number in targets]


def repeats(*digests_: NDArray[np.uint64]) -> int:
    """The number of rows that repeat an earlier one."""
    return repeated(np.concatenate(digests_))
