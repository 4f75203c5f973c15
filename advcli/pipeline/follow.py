"""`--follow`: a run folder that is annotated, or inspected, as its trainer writes it."""

import json
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from advcli.common.errors import DataError, UsageError
from advcli.dataset.load import DataSet
from advcli.engine.run import run
from advcli.inspection.details import Wanted
from advcli.io.collect.numbering import line_numbers
from advcli.io.growing import STATE, Done, State, append, complete, cut, grows, seen, state, tail
from advcli.io.parquet.read import to_metadata
from advcli.io.sources.find import scratch_folder
from advcli.io.write import SOURCE, Additions, Target, added_columns, refused_names, targets, write
from advcli.pipeline.compute import Output
from advcli.pipeline.describe import settings_of
from advcli.pipeline.inspect import inspect as inspect_once
from advcli.pipeline.request import Request
from advcli.records.results.inspection import NEAR_DEAD, Inspection
from advcli.records.table import ColumnOptions, Grouping, RewardTable, Source
from advcli.stats.metrics import step_order

Found = TypeVar("Found")
_Bools = NDArray[np.bool_]

_EVERY = 2.0
"""Seconds between two looks."""
_TRIES = 10
"""Looks at inputs that do not change after which an error is one: a writer may pause in the middle of a file."""


@dataclass(frozen=True)
class Written:
    """What was annotated since the last look.

    Attributes:
        rows: rows.
        groups: groups.
        steps: the steps of these rows, in order.
        waiting: rows of groups that are not whole yet.
        warnings: what looks wrong.
    """

    rows: int
    groups: int
    steps: tuple[str, ...]
    waiting: int
    warnings: tuple[str, ...] = ()


class Follower:
    """Annotates the inputs as they grow: whole groups only, each row once, with the numbers of one run over all of it.

    A group is whole when it has the rows of `--n`, or when its step is over. How far the outputs have got stands
    in a file beside them, which is replaced after each look: what a killed run wrote behind that is cut off.

    Args:
        request: what to compute.
        output: where to write; `out` is a folder.

    Raises:
        UsageError: the options need all rows at once, or files are there that are not of this run.
    """

    def __init__(self, request: Request, output: Output) -> None:
        self._request, self._output = request, output
        self._plan = request.plan()
        if output.out is None or not output.out.endswith("/"):
            raise UsageError("--follow writes into a folder", hint="--out DIR/")
        self._folder = Path(output.out)
        self._state = self._begin()

    def look(self) -> Written | None:
        """Annotate what has become whole; None if nothing has.

        Raises:
            DataError: the inputs cannot be used (yet: a file may be half written), or rows came too late.
        """
        with self._request.opened() as sources:
            new = [part for one in sources if (part := complete(one, self._done(one))) is not None]
            if not new:
                return None
            # Groups that have just begun have one row each; those that are whole are refused for it below.
            data = self._load(new, singleton="zero")
            over = self._over(data, new)
            parts = _cut(new, data, self._whole_rows(data, over))
            if not parts:
                return Written(0, 0, (), len(data.table.rewards))
            goals = targets(sources, self._output.out, force=True)
            paths = {one.name: self._kept_path(one, goal) for one, goal in zip(sources, goals, strict=True)}
            result = self._write(parts, paths, self._load(parts), over)
            return replace(result, waiting=len(data.table.rewards) - result.rows)

    def _begin(self) -> State:
        options = repr(
            (self._request.inputs, self._request.columns, self._request.settings, self._output.prefix)
        )
        result = None if self._output.force else state(self._folder)
        if result is None:
            if not self._output.force and self._folder.is_dir() and any(self._folder.iterdir()):
                raise UsageError(
                    f"{self._folder}/ is not empty, and has no {STATE} of a run to go on with",
                    hint="--force to begin again, or another --out",
                )
            return State(options)
        if result.run != options:
            raise UsageError(
                f"{self._folder / STATE} is of a run with other inputs or options",
                hint="--force to begin again, or another --out",
            )
        return result

    def _kept_path(self, source: Source, goal: Target) -> Target:
        """Where a file goes: where it has gone before, as what it is called may depend on what else is there."""
        known = self._done(source).path
        return replace(goal, path=Path(known)) if known else goal

    def _done(self, source: Source) -> Done:
        return self._state.files.get(source.name, Done())

    def _load(self, sources: Sequence[Source], singleton: str | None = None) -> DataSet:
        settings = self._request.settings
        settings = replace(settings, singleton=singleton or settings.singleton)
        request = replace(self._request, settings=settings, prefetch=None)
        return request.load(sources, refused_names(self._output.prefix), repeats=False)

    def _whole_rows(self, data: DataSet, over: frozenset[str]) -> _Bools:
        """[N] whether the group of each row is whole; rows of no group are. `over`: steps that are."""
        n, reach, group = self._request.columns.n, self._plan.at(data.columns()).reach(), data.grouping.group
        by_step = data.table.step is not None and data.table.choice.step_in_key
        if reach == "all" or not (by_step or (n is not None and reach == "key" and data.table.choice.prompt)):
            what = "a row depends on all others" if reach == "all" else "nothing says when a group is whole"
            raise UsageError(
                f"--follow annotates whole groups, and {what}",
                hint="--step-col COL, or --n ROWS_PER_PROMPT with a prompt id",
            )
        ready = group < 0
        if n is not None and reach == "key":
            ready |= np.bincount(group[group >= 0], minlength=data.grouping.count)[group] == n
        if by_step:
            ready |= np.array([name in over for name in data.table.step_names], dtype=bool)[data.table.step]
        return ready

    def _over(self, data: DataSet, sources: Sequence[Source]) -> frozenset[str]:
        """The steps that are over: all files have gone on to a later one, but those that end before another begins.

        Raises:
            DataError: a row is of a step that was over when its groups were written.
        """
        table = data.table
        if table.step is None:
            return frozenset()
        names = table.step_names
        late = [code for code, name in enumerate(names) if name in self._state.steps]
        rows = np.flatnonzero(np.isin(table.step, late) & (data.grouping.group >= 0))
        if len(rows):
            raise DataError(
                f"{table.place(int(rows[0]))}: a row of step {names[table.step[rows[0]]]}, whose groups are "
                "written already",
                hint="--force to begin again",
            )
        known = {**self._state.files, **self._with_steps(data, sources)}.values()
        ends = [(step_order(one.first), step_order(one.last)) for one in known if one.last]
        if not ends:
            return frozenset()
        newest = max(first for first, _ in ends)
        # A file that ends before another one begins is done, as where there is one per step.
        end = min(last for _, last in ends if last >= newest)
        return frozenset(name for name in names if step_order(name) < end)

    def _with_steps(self, data: DataSet, sources: Sequence[Source]) -> dict[str, Done]:
        """How far each file was done, with the steps of the rows that followed."""
        result, start = {}, 0
        assert data.table.step is not None
        for source, rows in zip(sources, data.table.rows, strict=True):
            codes = np.unique(data.table.step[start : start + rows]).tolist()
            before = self._state.files.get(source.name)
            known = [data.table.step_names[code] for code in codes] + (
                [before.first, before.last] if before else []
            )
            if known:
                ends = {"first": min(known, key=step_order), "last": max(known, key=step_order)}
                result[source.name] = replace(before or Done(), **ends)
            start += rows
        return result

    def _write(
        self, parts: Sequence[Source], paths: dict[str, Target], data: DataSet, over: frozenset[str]
    ) -> Written:
        """Annotate whole groups, and say so in the state."""
        columns = data.columns()
        plan = self._plan.at(columns)
        settings = json.loads(json.dumps(settings_of(plan, self._request, data), default=str))
        self._refuse_others(settings)
        grouping = _numbered_on(data, self._state)
        added = added_columns(self._output.prefix, run(plan, columns), grouping)
        about = to_metadata(self._output.prefix, settings)
        record = None if self._output.same_layout else self._output.prefix + SOURCE
        done = dict(self._state.files)
        ends = {} if data.table.step is None else self._with_steps(data, parts)
        with scratch_folder() as scratch:
            goals = [
                replace(paths[one.name], path=scratch / f"{at}.part") if grows(one) else paths[one.name]
                for at, one in enumerate(parts)
            ]
            write(parts, goals, data.table, Additions(added, about, record), force=True)
            for one, goal in zip(parts, goals, strict=True):
                kept = self._kept(one, goal, paths[one.name])
                of = ends.get(one.name, kept)
                final = str(paths[one.name].path)
                done[one.name] = replace(kept, first=of.first, last=of.last, path=final)
        steps = () if data.table.step is None else _steps(data)
        before, rollout = self._state, data.grouping.rollout
        self._state = State(
            before.run,
            done,
            before.groups + grouping.count,
            before.rollouts + (0 if rollout is None else int(rollout.max()) + 1),
            before.rows + len(data.table.rewards),
            tuple(dict.fromkeys((*before.steps, *(step for step in steps if step in over)))),
            settings,
        )
        self._state.save(self._folder)
        said = (*self._request.warnings, *data.table.warnings, *data.grouping.warnings)
        return Written(len(data.table.rewards), grouping.count, steps, 0, tuple(map(str, said)))

    def _kept(self, source: Source, goal: Target, final: Target) -> Done:
        """How far a file is done, once its rows are where they belong."""
        if source.part is None:
            size = source.stamp[0]
            return Done(1, size, size, tail(source.path, size))
        assert goal.path is not None
        assert final.path is not None
        before = self._done(source)
        with source.path.open("rb") as file:
            file.seek(source.part.begin)
            lines = file.read(source.part.end - source.part.begin).count(b"\n")
        written = append(final.path, before.written, goal.path)
        end = source.part.end
        return Done(before.lines + lines, end, written, tail(source.path, end))

    def _refuse_others(self, settings: dict[str, Any]) -> None:
        """Stop where later rows would be read in another way than those that are written."""
        before = self._state.settings
        other = [
            name
            for name in before
            if name not in ("device", "version") and before[name] != settings.get(name)
        ]
        if other:
            name = other[0]
            raise DataError(
                f"{name} was {before[name]}, and is {settings.get(name)} for the rows that follow",
                hint="the option that says it, and --force to begin again",
            )


def _steps(data: DataSet) -> tuple[str, ...]:
    codes = np.unique(data.rows.step.numpy()[data.grouping.group >= 0]).tolist()
    return tuple(sorted((data.table.step_names[code] for code in codes), key=step_order))


def _numbered_on(data: DataSet, before: State) -> Grouping:
    """The groups, numbered on from those that are written."""
    grouping, group = data.grouping, data.grouping.group
    rollout = None if grouping.rollout is None else grouping.rollout + before.rollouts
    return replace(grouping, group=np.where(group >= 0, group + before.groups, -1), rollout=rollout)


def _cut(sources: Sequence[Source], data: DataSet, ready: _Bools) -> list[Source]:
    """The beginning of each file that can be written: no group of it has a row behind."""
    limits = _limits(data, ready, [source.part is None for source in sources])
    lines, result, start = line_numbers(data.table), [], 0
    for source, rows, limit in zip(sources, data.table.rows, limits, strict=True):
        if limit == rows:
            result.append(source)
        elif source.part is not None and limit:
            kept = cut(source, int(lines[start + limit]) - source.part.line)
            result += [kept] if kept.part and kept.part.end > kept.part.begin else []
        start += rows
    return result


def _limits(data: DataSet, ready: _Bools, at_once: Sequence[bool]) -> list[int]:
    """How many rows of each file can be written, such that every group is written as a whole."""
    sizes, group, lines = np.array(data.table.rows), data.grouping.group, line_numbers(data.table)
    ends = np.cumsum(sizes)
    file = np.repeat(np.arange(len(sizes)), sizes)
    position = np.arange(len(group)) - (ends - sizes)[file]
    whole = np.array(at_once, dtype=bool)
    while True:
        limits = sizes.copy()
        np.minimum.at(limits, file[~ready], position[~ready])
        # A file that is written at once waits for its last row, and the rows of a line stay together.
        limits[whole & (limits < sizes)] = 0
        for at in np.flatnonzero(limits < sizes).tolist():
            start = int(ends[at] - sizes[at])
            same = lines[start : start + sizes[at]]
            limits[at] = int(np.searchsorted(same, same[limits[at]])) if limits[at] else 0
        behind = position >= limits[file]
        torn = np.zeros(data.grouping.count, dtype=bool)
        torn[group[behind & (group >= 0)]] = True
        now = ready & ~behind & ~(torn[group] & (group >= 0))
        if (now == ready).all():
            return [int(limit) for limit in limits]
        ready = now


def inspect(request: Request, wanted: Wanted, *, near_dead: float = NEAR_DEAD) -> Inspection:
    """Say what is in the complete lines of files that grow; the arguments are those of `pipeline.inspect`."""
    with request.opened() as sources:
        lines = [part for one in sources if (part := complete(one)) is not None]
        if not lines:
            raise DataError(f"{sources[0].name}: no complete line yet")
        return inspect_once(replace(request, prefetch=_Held(lines)), wanted, near_dead=near_dead)


@dataclass(frozen=True)
class _Held:
    """Inputs that are found already."""

    found: list[Source]

    def sources(self) -> list[Source]:
        """The inputs."""
        return self.found

    def table(
        self, sources: Sequence[Source], options: ColumnOptions, refused: Collection[str]
    ) -> RewardTable | None:
        """None: they have to be read."""
        del sources, options, refused
        return None


def looks(
    look: Callable[[], Found], inputs: Sequence[str], wait: Callable[[], None] = lambda: time.sleep(_EVERY)
) -> Iterator[Found | None]:
    """Look whenever the inputs have changed, without an end.

    Args:
        look: what is done.
        inputs: files, folders or globs.
        wait: called between two looks.

    Yields:
        What was found; None while there is no file.

    Raises:
        DataError: the inputs cannot be used, and have not changed for a while: no file is being written.
    """
    before: object = None
    failed, tries = "", 0
    while True:
        now = seen(inputs)
        if now != before or failed:
            try:
                result = look() if now else None
                failed, tries = "", 0
                yield result
            except DataError as error:
                tries = tries + 1 if failed == str(error) and now == before else 1
                failed = str(error)
                if tries > _TRIES:
                    raise
        before = now
        wait()
