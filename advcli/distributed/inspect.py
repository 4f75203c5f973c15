"""`inspect`: what is in a dump that lies in many places."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from advcli.dataset import remarks
from advcli.dataset.grouping import Mixed, Sizes, mixed
from advcli.distributed import cluster, run, sketches
from advcli.distributed.counts import scattered
from advcli.distributed.details import details
from advcli.distributed.load import Loaded, columns, described, load, looked_at, too_large
from advcli.distributed.partitions import largest_step, numbers
from advcli.distributed.run import Here, Work
from advcli.distributed.scan import DIGEST
from advcli.distributed.traps import Seen, seen
from advcli.distributed.traps import together as together_seen
from advcli.engine.run import Plan
from advcli.engine.scope import crosses
from advcli.inspection.details import Wanted
from advcli.inspection.facts import SUM, FactsCount, Frame, reward_columns
from advcli.inspection.phantoms import Part
from advcli.io.lookup import repeated
from advcli.pipeline.describe import settings_of
from advcli.pipeline.request import Request
from advcli.records.inspection import NEAR_DEAD, Facts, Files, Inspection
from advcli.records.table import Choice
from advcli.tensors.masks import rewarded
from advcli.tensors.segments import Segments

_TOGETHER = 262_144
"""Rows of a dump without steps that one worker looks at alone, so that rules of the batch can be tried."""

Extents: TypeAlias = Mapping[int | None, tuple[tuple[float, float], ...]]
"""Value of the column that splits the figures (None for all rows) → the ends of each reward column."""


@dataclass(frozen=True)
class Kinds:
    """How many groups there are of each number of rows, and of each number of valid rows."""

    rows: Counter[int]
    valid: Counter[int]

    def __add__(self, other: "Kinds") -> "Kinds":
        return Kinds(self.rows + other.rows, self.valid + other.valid)


@dataclass(frozen=True)
class Inspected:
    """What is counted of a place, or of several.

    Attributes:
        facts: all rows.
        split: value of the column that splits the figures → those of its rows.
        distinct: the same, and None for all rows → of each reward column, sketches of its values.
        mixed: groups that mix rows that may not belong together.
        mixed_by: groups whose rows differ in the column that splits the figures.
        reused: prompts that are met at several steps.
        scattered: groups whose rows do not follow one another.
        defined: rows with an advantage.
        largest: the rows of the largest place.
        seen: what traps look at.
    """

    facts: FactsCount
    split: Mapping[int, FactsCount]
    distinct: Mapping[int | None, tuple[tuple[bytes, ...], ...]]
    mixed: Mixed
    mixed_by: int
    reused: int
    scattered: int
    defined: int
    largest: int
    seen: Seen

    def __add__(self, other: "Inspected") -> "Inspected":
        split = dict(self.split)
        for code, count in other.split.items():
            split[code] = split[code] + count if code in split else count
        distinct = dict(self.distinct)
        for value, theirs in other.distinct.items():
            mine = distinct.get(value, ((),) * len(theirs))
            distinct[value] = tuple(one + two for one, two in zip(mine, theirs, strict=True))
        return Inspected(
            facts=self.facts + other.facts,
            split=split,
            distinct=distinct,
            mixed=self.mixed + other.mixed,
            mixed_by=self.mixed_by + other.mixed_by,
            reused=self.reused + other.reused,
            scattered=self.scattered + other.scattered,
            defined=self.defined + other.defined,
            largest=max(self.largest, other.largest),
            seen=together_seen(self.seen, other.seen),
        )


def inspect(request: Request, wanted: Wanted, *, near_dead: float = NEAR_DEAD) -> Inspection:
    """Say what is in a dump; the arguments and the result are those of `pipeline.inspect`."""
    request = replace(request, settings=request.settings.unprocessed())
    plan = request.plan()
    with looked_at(request, inspected=True) as job, cluster.running(request.ray_address) as tasks:
        plan = plan.at(columns(job.choice))
        loaded = load(tasks, job)
        view, places = loaded.spread(_unit(loaded, plan))
        whole = view.unit in ("step", "all")
        open_ = (0,) if crosses(plan) and not whole else ()
        work = run.known(tasks, places, Work(view, (plan,), (), ((),), open_))
        kinds: Kinds = run.over(tasks, places, work, sized)
        part = Part((_once(kinds.rows), _once(kinds.valid)), whole, len(kinds.rows) > 1)
        extents = _extents(loaded, view.by)
        found: Inspected = run.over(tasks, places, work, inspected, near_dead, extents, part)
        found = replace(found, reused=found.reused + loaded.met_again(view))
        facts, split, estimated = _facts(job.choice, work, found)
        seen_ = Sizes(facts.rows, facts.groups, facts.sizes, found.mixed)
        data = described(request, loaded, view, seen_, found.seen)
        shown = details(wanted, loaded, places, work, facts.groups, data.grouping.columns)
        again = tasks.get(tasks.shuffle(loaded.rows, view.places, digests, repeats, view.places))
    blocks = not found.scattered and len(facts.sizes) == 1
    weights, alone = request.columns.weights, facts.sizes.get(1, 0)
    warned = remarks.warnings_of(data, plan.rule, weights=weights, undefined=not found.defined, blocks=blocks)
    told = remarks.inspected_of(job.choice, alone, found.reused, found.mixed_by)
    return Inspection(
        files=Files(
            names=job.names,
            format=job.choice.format,
            columns=remarks.columns(data),
            group_rule=data.grouping.rule,
            duplicates=sum(again),
            lint=(*request.warnings, *warned, *told),
        ),
        facts=facts,
        settings=settings_of(plan, request, data),
        by=job.choice.by,
        split=split,
        details=shown,
        notes=(*estimated, *too_large(view, found.largest, loaded.memory)),
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
    return frozenset(size for size, many in kinds.items() if many == 1)


def _extents(loaded: Loaded, by: Sequence[str]) -> Extents:
    """The ends of each reward column in all files."""
    codes: dict[str | None, int | None] = {name: code for code, name in enumerate(by)}
    codes[None] = None
    found: dict[int | None, NDArray[np.float64]] = {}
    for summary in loaded.summaries:
        for name, ends in summary.extents.items():
            low, high = np.array(ends).T
            before = found.get(codes[name], np.array([low, high]))
            found[codes[name]] = np.array([np.fmin(before[0], low), np.fmax(before[1], high)])
    return {code: tuple((low, high) for low, high in ends.T.tolist()) for code, ends in found.items()}


def sized(here: Here) -> Kinds:
    """The sizes of the groups of a place."""
    rows = here.data.rows
    masks = (rows.group >= 0, rewarded(rows.rewards, rows.group))
    sizes = [Segments.of(rows.group[mask], rows.count).size().tolist() for mask in masks]
    return Kinds(Counter(sizes[0]), Counter(sizes[1]))


def inspected(here: Here, near_dead: float, extents: Extents, part: Part) -> Inspected:
    """What is counted of a place."""
    data, unit = here.data, here.work.view.unit
    plan = here.work.plans[0]
    original = here.work.results(data, [0])[0].original
    frame = Frame.of(data, data.columns(), original, plan.entry.name, part)
    frame = replace(frame, begins=torch.from_numpy(here.begins()))
    frames: dict[int | None, Frame] = {None: frame}
    if data.table.by is not None:
        by = torch.from_numpy(data.table.by)
        frames |= {code: frame.of_rows(by == code) for code in torch.unique(by).tolist()}
    counts = {
        code: FactsCount.of(one, near_dead=near_dead, extents=extents[code]) for code, one in frames.items()
    }
    return Inspected(
        facts=counts[None],
        split={code: count for code, count in counts.items() if code is not None},
        distinct={code: tuple(map(_sketched, _values(one))) for code, one in frames.items()},
        mixed=mixed(data.table, data.grouping.group),
        mixed_by=remarks.mixed_by(data),
        reused=remarks.reused_keys(data) if unit in ("key", "all") else 0,
        scattered=scattered(data, here.positions()),
        defined=int((~original.isnan()).sum()),
        largest=len(data.table.key),
        seen=seen(data, here.columns, here.positions()),
    )


def _values(frame: Frame) -> list[NDArray[np.float64]]:
    """The usable values of each reward column."""
    group = frame.rows.group
    return [values[rewarded(values, group)].double().numpy() for _, values, _ in reward_columns(frame)]


def _sketched(values: NDArray[np.float64]) -> tuple[bytes, ...]:
    return (sketches.different(values),)


def _facts(choice: Choice, work: Work, found: Inspected) -> tuple[Facts, dict[str, Facts], tuple[str, ...]]:
    """The figures of all rows, those of each value, and what is estimated."""
    parts = choice.rewards if len(choice.rewards) > 1 else ()
    names = [SUM if parts else choice.rewards[0][0], *(name for name, _ in parts), *choice.outcomes]
    steps = work.view.steps if work.view.has_steps else ()
    counted = {
        code: [sketches.count(column) for column in columns] for code, columns in found.distinct.items()
    }

    def figures(code: int | None, count: FactsCount) -> Facts:
        return count.facts(names, choice.rewards, steps, [many for many, _ in counted[code]])

    order = sorted(found.split, key=lambda code: (-found.split[code].rows, code))
    split = {work.view.by[code]: figures(code, found.split[code]) for code in order}
    off = max((off for columns in counted.values() for _, off in columns), default=0.0)
    note = (
        f"distinct values are counted by a sketch (theta): off by at most {100 * off:.2g} % (99 % confidence)"
    )
    return figures(None, found.facts), split, (note,) if off else ()


def digests(rows: pa.Table, many: int) -> tuple[pa.Table, NDArray[np.int64]]:
    """The digests of the rows that are used, and where each goes."""
    rows = rows.filter(rows["usable"]).select([DIGEST])
    return rows, (numbers(rows, DIGEST) % np.uint64(many)).astype(np.int64)


def repeats(number: int, rows: pa.Table) -> int:
    """The rows that were there before."""
    del number
    return repeated(numbers(rows, DIGEST))
