"""The commands: what `pipeline` does on one machine, with the rows in many places."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from advcli import remarks
from advcli.advantages import Plan
from advcli.dataset import DataSet, grouped
from advcli.distributed import annotate, cluster, done, narrow, places, rounds, sketch, units
from advcli.distributed.account import Account, ColumnCount, Shown
from advcli.distributed.annotate import Writing
from advcli.distributed.narrow import Job, Summary
from advcli.distributed.places import View
from advcli.distributed.rounds import Work
from advcli.errors import UsageError
from advcli.grouping import Sizes, group, lint, refuse_singletons
from advcli.io import metrics as metrics_file
from advcli.io import traps
from advcli.io.parquet import to_metadata
from advcli.io.read import look
from advcli.io.sources import STDIN, opened
from advcli.io.write import SOURCE, Target, can_stay, refused_names, targets
from advcli.pipeline.compare import plans_of, with_hints, without_filters
from advcli.pipeline.compute import Output
from advcli.pipeline.describe import settings_of
from advcli.pipeline.request import Request
from advcli.pipeline.sweep import Grid, coordinates, points
from advcli.reach import crosses
from advcli.records.report import Column, Report
from advcli.records.settings import Settings
from advcli.records.sweep import Point, Sweep
from advcli.records.table import STANDARD_OUTPUT, Choice, Source
from advcli.stats import comparison, concentration, metrics
from advcli.words import counted

# Bytes that a row takes while its place is worked on, all its columns and the tensors made of them together.
_BYTES_PER_ROW = 600
_ROWS_PER_PLACE = 2_000_000


@dataclass(frozen=True)
class Loaded:
    """A data set that lies in Ray's memory.

    Attributes:
        data: the module `ray.data`.
        rows: the rows, file by file.
        summaries: one per file.
        job: what was read.
        memory: bytes that a worker has.
    """

    data: Any
    rows: Any
    summaries: Sequence[Summary]
    job: Job
    memory: int

    @property
    def roomy(self) -> int:
        """Rows that a place can have."""
        return max(1, min(_ROWS_PER_PLACE, self.memory // _BYTES_PER_ROW // 4))


def compute(request: Request, output: Output, *, advance: Callable[[int, int], None] | None = None) -> Report:
    """Annotate files; the arguments and the result are those of `pipeline.compute`."""
    plan = request.plan()
    if output.out in STANDARD_OUTPUT:
        raise UsageError("--engine ray writes a file per input, not standard output", hint="--out DIR/")
    with _looked_at(request, refused_names(output.prefix)) as job:
        plan = plan.at(_columns(job.choice))
        goals = targets(job.sources, output.out, force=True)
        settings = settings_of(plan, request, _nothing(job, request, ()))
        run = done.fingerprint(settings, job.sources, [output.prefix, output.same_layout, goals])
        # What must not be written is refused before anything is computed.
        open_ = _open(job, goals, output, run)
        with cluster.running(request.ray_address) as data:
            loaded = _load(data, job)
            shown = (Shown("original", 0, bare=True), Shown("processed", 0))
            spread, work, account = _counted(loaded, (plan,), shown, per_step=output.metrics is not None)
            if open_:
                about = to_metadata(output.prefix, settings)
                annotate.write_all(
                    loaded.data, _writing(loaded, work, goals, output, run, about), spread, open_
                )
    if advance:
        rows = sum(summary.rows for summary in loaded.summaries)
        advance(rows, rows)
    written = [str(goals[number].path) for number in open_]
    if output.metrics:
        names = work.view.steps if work.view.has_steps else None
        metrics_file.write(output.metrics, metrics.records(account.steps, names), force=output.force)
        written.append(str(output.metrics))
    report = _report(request, loaded, plan, account, work)
    skipped = len(goals) - len(open_)
    notes = [f"{skipped} of {counted(len(goals), 'file')} done already"] if skipped else []
    return replace(report, notes=(*report.notes, *notes, *(f"wrote {path}" for path in written)))


def _open(job: Job, goals: Sequence[Target], output: Output, run: str) -> list[int]:
    """The files that are to be written; an error for those that must not be."""
    if output.metrics:
        metrics_file.check(output.metrics, job.sources, goals, force=output.force or output.resume)
    if output.same_layout:
        for source, goal in zip(job.sources, goals, strict=True):
            can_stay(source, goal, job.choice.layout)
    return done.left(goals, run, resume=output.resume, force=output.force)


def compare(request: Request, versus: Mapping[str, Settings] | None = None) -> Report:
    """Describe columns side by side; the arguments and the result are those of `pipeline.compare`."""
    plans = plans_of(request, versus)
    bare = without_filters(plans["kept"])
    with _looked_at(request) as job:
        runs = [plan.at(_columns(job.choice)) for plan in (*plans.values(), bare)]
        shown = [Shown("original", len(plans), bare=True)]
        shown += [Shown(label, number) for number, label in enumerate(plans)]
        with cluster.running(request.ray_address) as data:
            loaded = _load(data, job)
            _, work, account = _counted(loaded, tuple(runs), tuple(shown))
    return with_hints(_report(request, loaded, runs[0], account, work), request, versus)


def sweep(
    request: Request,
    grid: Grid,
    *,
    check: Callable[[Sequence[Source]], None] | None = None,
    advance: Callable[[int, int], None] | None = None,
) -> Sweep:
    """Compute every point of a grid; the arguments and the result are those of `pipeline.sweep`."""
    plans = list(points(request.settings, grid))
    with _looked_at(request) as job:
        if check:
            check(job.sources)
        runs = [plan.at(_columns(job.choice)) for plan in plans]
        shown = tuple(Shown("", number) for number in range(len(runs)))
        with cluster.running(request.ray_address) as data:
            loaded = _load(data, job)
            _, work, account = _counted(loaded, tuple(runs), shown)
    if advance:
        advance(len(runs), len(runs))
    report = _report(request, loaded, runs[0], account, work, said_of_columns=False)
    return Sweep(
        health=account.health,
        points=tuple(
            _point(plan, count, column)
            for plan, count, column in zip(runs, account.columns, report.columns, strict=True)
        ),
        notes=report.notes,
        warnings=report.warnings,
    )


def _writing(
    loaded: Loaded, work: Work, goals: Sequence[Target], output: Output, run: str, about: Mapping[str, str]
) -> Writing:
    return Writing(
        job=loaded.job,
        work=work,
        goals=tuple(goals),
        dropped=tuple(summary.dropped for summary in loaded.summaries),
        rows=tuple(summary.rows for summary in loaded.summaries),
        prefix=output.prefix,
        about=about,
        record=None if output.same_layout else output.prefix + SOURCE,
        run=run,
        force=output.force,
    )


@contextmanager
def _looked_at(request: Request, refused: Sequence[str] = ()) -> Iterator[Job]:
    """The inputs, looked at on this machine."""
    cluster.require()
    if STDIN in request.inputs:
        raise UsageError("--engine ray reads files, not standard input", hint="the name of a file")
    if request.columns.dedup:
        raise UsageError(
            "--dedup compares the rows of all files, which --engine ray does not", hint="--engine local"
        )
    with opened(request.inputs, copied=False) as sources:
        seen, choice = look(sources, request.columns, skip_bad_rows=request.skip_bad_rows)
        yield Job(
            sources=tuple(sources),
            choice=choice,
            kinds=seen.kinds,
            options=request.columns,
            refused=tuple(refused),
            skip_bad_rows=request.skip_bad_rows,
            refuse_missing=request.settings.missing == "error",
            refuse_singletons=request.settings.singleton == "error",
        )


def _load(data: Any, job: Job) -> Loaded:  # noqa: ANN401  a module
    rows, summaries = narrow.read(data, job)
    memory = cluster.memory_per_worker()
    return Loaded(data, rows, summaries, job, memory)


def _columns(choice: Choice) -> dict[str, Tensor]:
    """The columns that an estimator has of what is read, without rows."""
    roles = [role for role, _ in choice.tokens]
    there = {
        "lengths": choice.length or roles,
        "baselines": choice.baseline,
        "kl": choice.kl,
        "tokens": roles,
    }
    names = ("rewards", "group", "step", "parts", "weights", *roles, *(name for name in there if there[name]))
    return dict.fromkeys(names, torch.zeros(0))


def _counted(
    loaded: Loaded, plans: tuple[Plan, ...], shown: tuple[Shown, ...], *, per_step: bool = False
) -> tuple[Any, Work, Account]:
    """Move the rows to places that suit all plans, and run them there."""
    unit = units.unit(
        plans, loaded.job.choice, largest_step=places.largest_step(loaded.summaries), roomy=loaded.roomy
    )
    rows = sum(summary.rows for summary in loaded.summaries)
    per_place = min(loaded.roomy, max(1, -(-rows // cluster.workers())))
    view = View.of(loaded.job, loaded.summaries, unit, per_place)
    spread = places.spread(loaded.rows, view)
    open_ = () if unit in ("step", "all") else tuple(i for i, plan in enumerate(plans) if crosses(plan))
    work = Work(view, plans, shown, ((),) * len(plans), open_, per_step)
    work, account = rounds.counted(spread, work)
    return spread, work, account


def _nothing(job: Job, request: Request, warnings: Sequence[str]) -> DataSet:
    """A data set without rows that was read in the same way."""
    table = replace(narrow.blank(job.choice), warnings=tuple(warnings))
    return grouped(table, group(table, request.columns.n, part=True))


def _report(
    request: Request,
    loaded: Loaded,
    plan: Plan,
    account: Account,
    work: Work,
    *,
    said_of_columns: bool = True,
) -> Report:
    seen = Sizes(account.health.rows, account.health.groups, account.health.sizes, account.mixed)
    job = loaded.job
    said = [text for source in job.sources for text in source.remarks]
    traps_ = traps.found(replace(narrow.blank(job.choice), names=job.names), job.kinds, rows=False)
    data = _nothing(job, request, [*said, *narrow.warnings(loaded.summaries), *traps_])
    n, expected = request.columns.n, request.settings.singleton in ("zero", "raw")
    refuse_singletons(data.table, seen, n, expected=expected)
    data = replace(data, grouping=replace(data.grouping, warnings=lint(data.table, seen, n)))
    blocks = not account.scattered and len(seen.sizes) == 1
    weights, undefined = request.columns.weights, not account.defined
    counts = account.columns
    sketched = [sketch.percentiles(count.sketches) for count in counts]
    return Report(
        health=account.health,
        settings=settings_of(plan, request, data),
        left_out=next((count.left_out for count in counts if count.left_out), ()),
        columns=tuple(
            comparison.column(column.label, count.measured, quantiles)
            for column, count, (quantiles, _) in zip(work.shown, counts, sketched, strict=True)
        ),
        notes=(
            *remarks.notes_of(data, account.reused, account.logged, account.distance, plan.rule),
            *([] if all(exact for _, exact in sketched) else [_PERCENTILES.format(100 * sketch.bound())]),
        ),
        warnings=(
            *request.warnings,
            *remarks.warnings_of(data, plan.rule, weights=weights, undefined=undefined, blocks=blocks),
            *(dict.fromkeys(text for count in counts for text in count.warnings) if said_of_columns else ()),
            *_too_large(work.view, account.largest, loaded.memory),
        ),
    )


_PERCENTILES = (
    "percentiles are those of a sketch (KLL): off by at most {:.2g} % of the rows (99 % confidence)"
)
_WHAT = {
    "key": "the rows of a prompt",
    "position": "the rows",
    "step": "the rows of a step",
    "all": "all rows",
}


def _too_large(view: View, largest: int, memory: int) -> tuple[str, ...]:
    """Said when a place needed more than the share of a worker."""
    need = largest * _BYTES_PER_ROW
    if need <= memory:
        return ()
    what = f"a worker held {largest:,} rows, as {_WHAT[view.unit]} cannot be torn apart"
    return (f"{what}: about {need / 1e9:.1f} GB where its share is {memory / 1e9:.1f} GB",)


def _point(plan: Plan, count: ColumnCount, column: Column) -> Point:
    moments = count.measured.tally.moments
    squares = moments.squares + moments.count * moments.mean**2 if moments.count else 0.0
    share = (
        None if count.tokens is None else count.kept_tokens / count.tokens if count.tokens else float("nan")
    )
    return Point(
        settings=coordinates(plan),
        column=column,
        live_groups=count.live_groups,
        effective_rows=concentration.effective(count.measured.tally.sum_abs, squares),
        token_share=share,
    )
