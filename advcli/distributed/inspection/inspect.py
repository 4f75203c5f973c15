"""`inspect`: what is in a dump that lies in many places."""

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
from advcli.distributed.load import Loaded, columns, described, load, looked_at, too_large
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

_TOGETHER = 262_144
"""Rows of a dump without steps that one worker looks at alone, so that rules of the batch can be tried."""

Extents: TypeAlias = Mapping[int | None, tuple[tuple[float, float], ...]]
"""Value of the column that splits the figures (None for all rows) → the ends of each reward column."""


@dataclass(frozen=True)
class Kinds(Mergeable):
    """How many groups there are of each number of rows, and of each number of valid rows."""

    rows: Counter[int]
    valid: Counter[int]


_Sketches: TypeAlias = Mapping[int | None, tuple[tuple[bytes, ...], ...]]


def _joined(one: _Sketches, two: _Sketches) -> _Sketches:
    """Of each value and each reward column, the sketches of both."""
    result = dict(one)
    for value, theirs in two.items():
        mine = result.get(value, ((),) * len(theirs))
        result[value] = tuple(ours + other for ours, other in zip(mine, theirs, strict=True))
    return result


@dataclass(frozen=True)
class Inspected(Mergeable):
    """What is counted of a place, or of several.

    Attributes:
        facts: all rows.
        split: value of the column that splits the figures → those of its rows.
        distinct: the same, and None for all rows → of each reward column, sketches of its values.
        mixed: groups that mix rows that may not belong together.
        mixed_by: groups whose rows differ in the column that splits the figures.
        reused: prompts that are drawn at several steps.
        scattered: groups whose rows do not follow one another.
        defined: rows with an advantage.
        largest: the rows of the largest place.
        seen: what traps look at.
        turns: the rollouts; None where each is one row.
    """

    facts: FactsCount
    split: Mapping[int, FactsCount]
    distinct: Annotated[_Sketches, Merge(_joined)]
    mixed: Mixed
    mixed_by: int
    reused: int
    scattered: int
    defined: int
    largest: Annotated[int, Merge(max)]
    seen: Seen
    turns: Annotated[TurnsCount | None, Merge(together_turns)] = None


def inspect(request: Request, wanted: Wanted, *, near_dead: float = NEAR_DEAD) -> Inspection:
    """Say what is in a dump; the arguments and the result are those of `pipeline.inspect`."""
    request = replace(request, settings=request.settings.unprocessed())
    plan = request.plan()
    with looked_at(request, inspected=True) as job, cluster.running(request.ray_address) as tasks:
        plan = plan.at(columns(job.choice))
        loaded = load(tasks, job)
        view, places = loaded.spread(_unit(loaded, plan))
        whole = view.unit in ("step", "all")
        open_ = (0,) if plan.scope() == "step" and not whole else ()
        work = run.known(tasks, places, PartitionJob(view, (plan,), (), ((),), open_))
        kinds: Kinds = run.over(tasks, places, work, sized)
        part = Part(
            (_once(kinds.rows), _once(kinds.valid)), frozenset(kinds.rows), whole, len(kinds.rows) > 1
        )
        extents = _extents(loaded, view.by)
        if job.choice.rollout:
            # The reward of a rollout may be none of those of its rows.
            extents = run.over(tasks, places, work, ends).of
        result: Inspected = run.over(tasks, places, work, inspected, near_dead, extents, part)
        result = replace(result, reused=result.reused + loaded.met_again(view))
        facts, split, estimated = _facts(job.choice, work, result)
        seen_ = Sizes(facts.rows, facts.groups, facts.sizes, result.mixed)
        data = described(request, loaded, view, seen_, result.seen, several=result.turns is not None)
        shown = details(wanted, loaded, places, work, facts.groups, data.grouping.columns)
        everywhere = [range(cluster.workers())] * len(loaded.rows)
        dealt = move(tasks, loaded.rows, everywhere, digests)
        again = tasks.get([tasks.run(repeats, *pieces) for pieces in dealt.values()])
    blocks = not result.scattered and len(facts.sizes) == 1
    weights, alone = request.columns.weights, facts.sizes.get(1, 0)
    warned = [
        *remarks.warnings_of(data, plan.rule, weights=weights, undefined=not result.defined, blocks=blocks)
    ]
    turns = None if result.turns is None else result.turns.figures()
    if turns is not None and plan.unit.counts != "turns":
        reward, by_row = plan.unit.reward, plan.unit.counts == "rows"
        differ = 0 if reward == "sum" else turns.differ
        warned += remarks.unit_of(["original"] * by_row, turns.turns_max, differ, reward, all_=by_row)
    remarked = remarks.inspected_of(job.choice, alone, result.reused, result.mixed_by)
    return Inspection(
        files=Files(
            names=job.names,
            format=job.choice.format,
            columns=remarks.columns(data),
            group_rule=data.grouping.rule,
            duplicates=sum(again),
            lint=(*request.warnings, *warned, *remarked),
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
    """What has to lie in one place: whole steps if that can be, as some trainers' rules look at them."""
    unit, choice = loaded.unit((plan,)), loaded.job.choice
    largest = largest_step(loaded.summaries)
    if unit in ("step", "all"):
        return unit
    if largest and choice.step_in_key and largest <= loaded.roomy:
        return "step"
    return "all" if loaded.count <= min(_TOGETHER, loaded.roomy) else unit


def _once(kinds: Mapping[int, int]) -> frozenset[int]:
    return frozenset(size for size, count in kinds.items() if count == 1)


def _extents(loaded: Loaded, by: Sequence[str]) -> Extents:
    """The ends of each reward column in all files."""
    codes: dict[str | None, int | None] = {name: code for code, name in enumerate(by)}
    codes[None] = None
    result: dict[int | None, NDArray[np.float64]] = {}
    for summary in loaded.summaries:
        for name, ends in summary.extents.items():
            low, high = np.array(ends).T
            before = result.get(codes[name], np.array([low, high]))
            result[codes[name]] = np.array([np.fmin(before[0], low), np.fmax(before[1], high)])
    return {code: tuple((low, high) for low, high in ends.T.tolist()) for code, ends in result.items()}


@dataclass(frozen=True)
class Ends:
    """The ends of each reward column in a place, or in several; `of` as in `Extents`."""

    of: Extents

    def __add__(self, other: "Ends") -> "Ends":
        merged = dict(self.of)
        for code, ends in other.of.items():
            mine = merged.get(code, ends)
            merged[code] = tuple(
                (float(np.fmin(one[0], two[0])), float(np.fmax(one[1], two[1])))
                for one, two in zip(mine, ends, strict=True)
            )
        return Ends(merged)


def ends(here: PartitionRows) -> Ends:
    """The ends of each reward column of what is counted in a place."""
    frames = _frames(here)
    none = np.array([np.nan])
    columns = {code: [np.append(values, none) for values in _values(one)] for code, one in frames.items()}
    return Ends(
        {
            code: tuple((float(np.fmin.reduce(values)), float(np.fmax.reduce(values))) for values in of)
            for code, of in columns.items()
        }
    )


def sized(here: PartitionRows) -> Kinds:
    """The sizes of the groups of a place."""
    rows = _unit_of(here)[0].rows
    masks = (rows.group >= 0, rewarded(rows.rewards, rows.group))
    sizes = [Segments.of(rows.group[mask], rows.count).size().tolist() for mask in masks]
    return Kinds(Counter(sizes[0]), Counter(sizes[1]))


def inspected(here: PartitionRows, near_dead: float, extents: Extents, part: Part) -> Inspected:
    """What is counted of a place."""
    data = here.data
    frames = _frames(here, part)
    counts = {
        code: FactsCount.of(one, near_dead=near_dead, extents=extents[None]) for code, one in frames.items()
    }
    return Inspected(
        facts=counts[None],
        split={code: count for code, count in counts.items() if code is not None},
        distinct={code: tuple(map(_sketched, _values(one))) for code, one in frames.items()},
        mixed=mixed(data.table, data.grouping.group),
        mixed_by=remarks.mixed_by(data),
        reused=remarks.reused_keys(data) if here.work.view.whole_prompts else 0,
        scattered=scattered(data, here.positions()),
        defined=int((~frames[None].advantages.isnan()).sum()),
        largest=len(data.table.key),
        seen=seen(data, here.columns, here.positions()),
        turns=TurnsCount.of(data, here.work.plans[0].unit.reward),
    )


def _unit_of(here: PartitionRows) -> tuple[DataSet, AdvantageTable]:
    """What is counted in a place, and its advantages."""
    result = here.work.results(here.data, [0])[0]
    unit, inner = by_unit(here.data, {"original": result}, here.work.plans[0].unit.reward)
    return unit, inner["original"]


def _frames(here: PartitionRows, part: Part | None = None) -> dict[int | None, Frame]:
    """The columns of a place: of all rows (None), and of those of each value that splits the figures."""
    unit, result = _unit_of(here)
    frame = Frame.of(unit, unit.columns(), result.original, here.work.plans[0].entry.name, part)
    frame = replace(frame, begins=torch.from_numpy(here.begins()))
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
    choice: Choice, work: PartitionJob, result: Inspected
) -> tuple[Facts, dict[str, Facts], tuple[str, ...]]:
    """The figures of all rows, those of each value, and what is estimated."""
    parts = choice.rewards if len(choice.rewards) > 1 else ()
    names = [SUM if parts else choice.rewards[0][0], *(name for name, _ in parts), *choice.outcomes]
    steps = work.view.steps if work.view.has_steps else ()
    counted = {
        code: [sketches.count(column) for column in columns] for code, columns in result.distinct.items()
    }

    def figures(code: int | None, count: FactsCount) -> Facts:
        return count.facts(names, choice.rewards, steps, [many for many, _ in counted[code]])

    order = sorted(result.split, key=lambda code: (-result.split[code].rows, code))
    split = {work.view.by[code]: figures(code, result.split[code]) for code in order}
    off = max((off for columns in counted.values() for _, off in columns), default=0.0)
    note = (
        f"distinct values are counted by a sketch (theta): off by at most {100 * off:.2g}% (99% confidence)"
    )
    return figures(None, result.facts), split, (note,) if off else ()


def digests(rows: pa.Table, targets: Sequence[int]) -> list[NDArray[np.uint64]]:
    """The digests of the rows of a file that are used, for each of some tasks."""
    result = numbers(rows.filter(rows["usable"]), DIGEST)
    return [result[result % np.uint64(len(targets)) == number] for number in targets]


def repeats(*digests_: NDArray[np.uint64]) -> int:
    """The rows that were there before."""
    return repeated(np.concatenate(digests_))
