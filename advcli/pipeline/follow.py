"""`--follow`: annotates or inspects the files of a run while its trainer writes them."""

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

_INTERVAL = 2.0
"""Seconds between polls."""
_TRIES = 10
"""Polls without a change after which an error is final: a writer may pause in the middle of a file."""


@dataclass(frozen=True)
class Written:
    """What was annotated since the last poll.

    Attributes:
        rows: rows.
        groups: groups.
        steps: the steps of these rows, in order.
        waiting: rows of incomplete groups.
        warnings: what looks wrong.
    """

    rows: int
    groups: int
    steps: tuple[str, ...]
    waiting: int
    warnings: tuple[str, ...] = ()


class Follower:
    """Annotates the inputs as they grow: each row once, when its group is complete, as a single run over all rows would.

    A group is complete when it has `--n` rows, or when its step is over. The progress is stored in a file next to the
    outputs, which is replaced after each poll; anything that a killed run wrote beyond it is truncated.

    Args:
        request: what to compute.
        output: where to write; `out` is a folder.

    Raises:
        UsageError: the options need all rows at once, or the folder has files of another run.
    """

    def __init__(self, request: Request, output: Output) -> None:
        self._request, self._output = request, output
        self._plan = request.plan()
        if output.out is None or not output.out.endswith("/"):
            raise UsageError("--follow writes into a folder", hint="--out DIR/")
        self._folder = Path(output.out)
        self._state = self._begin()

    def look(self) -> Written | None:
        """Annotate groups that have become complete; None if there is nothing new to read.

        Raises:
            DataError: the inputs cannot be used (yet: a file may be half written), or rows came too late.
        """
        with self._request.opened() as sources:
            new = [part for source in sources if (part := complete(source, self._done(source))) is not None]
            if not new:
                return None
            # Groups that have just begun may have a single row; complete singletons are refused when they are written.
            data = self._load(new, singleton="zero")
            over = self._over(data, new)
            parts = _cut(new, data, self._complete_rows(data, over))
            if not parts:
                return Written(0, 0, (), len(data.table.rewards))
            goals = targets(sources, self._output.out, force=True)
            paths = {
                source.name: self._same_path(source, goal)
                for source, goal in zip(sources, goals, strict=True)
            }
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
                    f"{self._folder}/ is not empty and has no {STATE} to continue from",
                    hint="--force to start over, or another --out",
                )
            return State(options)
        if result.run != options:
            raise UsageError(
                f"{self._folder / STATE} is from a run with other inputs or options",
                hint="--force to start over, or another --out",
            )
        return result

    def _same_path(self, source: Source, goal: Target) -> Target:
        """The target of a file, with the path used before, because default names depend on the other inputs."""
        known = self._done(source).path
        return replace(goal, path=Path(known)) if known else goal

    def _done(self, source: Source) -> Done:
        return self._state.files.get(source.name, Done())

    def _load(self, sources: Sequence[Source], singleton: str | None = None) -> DataSet:
        settings = self._request.settings
        settings = replace(settings, singleton=singleton or settings.singleton)
        request = replace(self._request, settings=settings, prefetch=None)
        return request.load(sources, refused_names(self._output.prefix), repeats=False)

    def _complete_rows(self, data: DataSet, over: frozenset[str]) -> _Bools:
        """[N] whether the group of each row is complete, given the steps that are over; True for rows without a group."""
        n, reach, group = self._request.columns.n, self._plan.at(data.columns()).reach(), data.grouping.group
        by_step = data.table.step is not None and data.table.choice.step_in_key
        if reach == "all" or not (by_step or (n is not None and reach == "key" and data.table.choice.prompt)):
            what = (
                "each row depends on all others"
                if reach == "all"
                else "nothing says when a group is complete"
            )
            raise UsageError(
                f"--follow annotates complete groups, but {what}",
                hint="--step-col COL, or --n ROWS_PER_PROMPT with a prompt id",
            )
        ready = group < 0
        if n is not None and reach == "key":
            ready |= np.bincount(group[group >= 0], minlength=data.grouping.count)[group] == n
        if by_step:
            ready |= np.array([name in over for name in data.table.step_names], dtype=bool)[data.table.step]
        return ready

    def _over(self, data: DataSet, sources: Sequence[Source]) -> frozenset[str]:
        """The steps that are over: every file has reached a later step, except files that end before another begins.

        Raises:
            DataError: a row belongs to a step whose groups are already written.
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
                "already written",
                hint="--force to start over",
            )
        known = {**self._state.files, **self._with_steps(data, sources)}.values()
        ends = [(step_order(file.first), step_order(file.last)) for file in known if file.last]
        if not ends:
            return frozenset()
        newest = max(first for first, _ in ends)
        # A file that ends before another begins is done, as with one file per step.
        end = min(last for _, last in ends if last >= newest)
        return frozenset(name for name in names if step_order(name) < end)

    def _with_steps(self, data: DataSet, sources: Sequence[Source]) -> dict[str, Done]:
        """The progress of each file, extended by the steps of its new rows."""
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
        """Annotate complete groups, and store the progress."""
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
                replace(paths[part.name], path=scratch / f"{at}.part") if grows(part) else paths[part.name]
                for at, part in enumerate(parts)
            ]
            write(parts, goals, data.table, Additions(added, about, record), force=True)
            for part, goal in zip(parts, goals, strict=True):
                kept = self._kept(part, goal, paths[part.name])
                steps_of = ends.get(part.name, kept)
                final = str(paths[part.name].path)
                done[part.name] = replace(kept, first=steps_of.first, last=steps_of.last, path=final)
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
        warnings = (*self._request.warnings, *data.table.warnings, *data.grouping.warnings)
        return Written(len(data.table.rewards), grouping.count, steps, 0, tuple(map(str, warnings)))

    def _kept(self, source: Source, goal: Target, final: Target) -> Done:
        """Append the new rows to their output, and return the progress of the file."""
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
        """Raise if new rows would be read with other settings than those already written."""
        before = self._state.settings
        other = [
            name
            for name in before
            if name not in ("device", "version") and before[name] != settings.get(name)
        ]
        if other:
            name = other[0]
            raise DataError(
                f"{name} was {before[name]}, but is {settings.get(name)} for the new rows",
                hint="set it explicitly, and --force to start over",
            )


def _steps(data: DataSet) -> tuple[str, ...]:
    codes = np.unique(data.rows.step.numpy()[data.grouping.group >= 0]).tolist()
    return tuple(sorted((data.table.step_names[code] for code in codes), key=step_order))


def _numbered_on(data: DataSet, before: State) -> Grouping:
    """The groups, numbered after those already written."""
    grouping, group = data.grouping, data.grouping.group
    rollout = None if grouping.rollout is None else grouping.rollout + before.rollouts
    return replace(grouping, group=np.where(group >= 0, group + before.groups, -1), rollout=rollout)


def _cut(sources: Sequence[Source], data: DataSet, ready: _Bools) -> list[Source]:
    """The prefix of each file that can be written without splitting a group."""
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
    """The number of rows of each file that can be written without splitting a group."""
    sizes, group, lines = np.array(data.table.rows), data.grouping.group, line_numbers(data.table)
    ends = np.cumsum(sizes)
    file = np.repeat(np.arange(len(sizes)), sizes)
    position = np.arange(len(group)) - (ends - sizes)[file]
    whole = np.array(at_once, dtype=bool)
    while True:
        limits = sizes.copy()
        np.minimum.at(limits, file[~ready], position[~ready])
        # A file that is written in one go waits until it is complete; rows of one line stay together.
        limits[whole & (limits < sizes)] = 0
        for at in np.flatnonzero(limits < sizes).tolist():
            start = int(ends[at] - sizes[at])
            same = lines[start : start + sizes[at]]
            limits[at] = int(np.searchsorted(same, same[limits[at]])) if limits[at] else 0
        beyond = position >= limits[file]
        split = np.zeros(data.grouping.count, dtype=bool)
        split[group[beyond & (group >= 0)]] = True
        remaining = ready & ~beyond & ~(split[group] & (group >= 0))
        if (remaining == ready).all():
            return [int(limit) for limit in limits]
        ready = remaining


def inspect(request: Request, wanted: Wanted, *, near_dead: float = NEAR_DEAD) -> Inspection:
    """Describe the complete lines of growing files; takes the arguments of `pipeline.inspect`."""
    with request.opened() as sources:
        lines = [part for source in sources if (part := complete(source)) is not None]
        if not lines:
            raise DataError(f"{sources[0].name}: no complete line yet")
        return inspect_once(replace(request, prefetch=_Held(lines)), wanted, near_dead=near_dead)


@dataclass(frozen=True)
class _Held:
    """Inputs that are already found."""

    found: list[Source]

    def sources(self) -> list[Source]:
        """The inputs."""
        return self.found

    def table(
        self, sources: Sequence[Source], options: ColumnOptions, refused: Collection[str]
    ) -> RewardTable | None:
        """None: nothing is prefetched."""
        del sources, options, refused
        return None


def looks(
    look: Callable[[], Found], inputs: Sequence[str], wait: Callable[[], None] = lambda: time.sleep(_INTERVAL)
) -> Iterator[Found | None]:
    """Poll the inputs forever, and call `look` whenever they have changed.

    Args:
        look: called when the inputs have changed.
        inputs: files, folders or globs.
        wait: called between polls.

    Yields:
        The result of `look`; None while there is no file.

    Raises:
        DataError: the inputs cannot be used and have not changed for a while, so no file is being written.
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
