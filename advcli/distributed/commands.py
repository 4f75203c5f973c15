"""The commands: what `pipeline` does on one machine, with the rows in many places."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from advcli.common.errors import UsageError
from advcli.common.wording import counted
from advcli.dataset import remarks
from advcli.dataset.grouping import Sizes
from advcli.distributed import cluster, sketches
from advcli.distributed import run as runs
from advcli.distributed.counts import Account, ColumnCount, account, extremes
from advcli.distributed.files import resume, write
from advcli.distributed.files.resume import Goal
from advcli.distributed.files.write import Writing
from advcli.distributed.inspection.inspect import inspect
from advcli.distributed.load import Loaded, columns, described, load, looked_at, nothing, too_large
from advcli.distributed.match import match
from advcli.distributed.placement import Place
from advcli.distributed.prompts import prompts
from advcli.distributed.run import PartitionJob, Shown
from advcli.distributed.scan import ScanJob
from advcli.engine.plan import Plan
from advcli.io import metrics as metrics_file
from advcli.io.parquet.read import to_metadata
from advcli.io.write import SOURCE, can_stay, refused_names
from advcli.pipeline.compare import plans_of, with_hints, without_filters
from advcli.pipeline.compute import Output
from advcli.pipeline.describe import settings_of
from advcli.pipeline.request import Request
from advcli.pipeline.sweep import Grid, coordinates, original_of, points
from advcli.records.results.report import Column, Report
from advcli.records.results.sweep import Point, Sweep
from advcli.records.settings import Settings
from advcli.records.table import STANDARD_OUTPUT, Source
from advcli.stats import comparison, concentration, metrics

__all__ = ["compare", "compute", "inspect", "match", "prompts", "sweep"]


def compute(request: Request, output: Output, *, advance: Callable[[int, int], None] | None = None) -> Report:
    """Annotate files; the arguments and the result are those of `pipeline.compute`."""
    plan = request.plan()
    if output.out in STANDARD_OUTPUT:
        raise UsageError("--engine ray writes a file per input, not standard output", hint="--out DIR/")
    with looked_at(request, refused_names(output.prefix)) as job:
        plan = plan.at(columns(job.choice))
        goals = resume.goals(job.sources, output.out)
        settings = settings_of(plan, request, nothing(job, request, ()))
        run = resume.fingerprint(
            settings, job.sources, [output.prefix, output.same_layout, *(goal.path for goal in goals)]
        )
        # What must not be written is refused before anything is computed.
        open_ = _open(job, goals, output, run)
        with cluster.running(request.ray_address) as tasks:
            loaded = load(tasks, job)
            shown = (Shown("original", 0, bare=True), Shown("processed", 0))
            places, work = _spread(loaded, (plan,), shown, per_step=output.metrics is not None)
            computed, pieces = write.compute(tasks, places, work)
            result = _completed(loaded, work, computed.account)
            if open_:
                about = to_metadata(output.prefix, settings)
                writing = _writing(loaded, work, goals, output, run, about)
                write.write_all(tasks, writing, computed, pieces, open_)
    if advance:
        advance(loaded.count, loaded.count)
    written = [str(goals[number].path) for number in open_]
    if output.metrics:
        names = work.view.steps if work.view.has_steps else None
        metrics_file.write(output.metrics, metrics.records(result.steps, names), force=output.force)
        written.append(str(output.metrics))
    report = _report(request, loaded, plan, result, work)
    skipped = len(goals) - len(open_)
    notes = [f"{skipped} of {counted(len(goals), 'file')} done already"] if skipped else []
    said = (f"wrote {path}" for path in written)
    return replace(report, notes=(*report.notes, *notes, *said), written=tuple(written))


def _open(job: ScanJob, goals: Sequence[Goal], output: Output, run: str) -> list[int]:
    """The files that are to be written; an error for those that must not be."""
    here = [goal.target for goal in goals]
    if output.metrics:
        metrics_file.check(output.metrics, job.sources, here, force=output.force or output.resume)
    if output.same_layout:
        for source, goal in zip(job.sources, goals, strict=True):
            can_stay(source, goal.target, job.choice.layout)
    return resume.left(goals, run, resume=output.resume, force=output.force)


def compare(request: Request, versus: Mapping[str, Settings] | None = None) -> Report:
    """Describe columns side by side; the arguments and the result are those of `pipeline.compare`."""
    plans = plans_of(request, versus)
    bare = without_filters(plans["kept"])
    with looked_at(request) as job:
        runs = [plan.at(columns(job.choice)) for plan in (*plans.values(), bare)]
        shown = [Shown("original", len(plans), bare=True)]
        shown += [Shown(label, number) for number, label in enumerate(plans)]
        with cluster.running(request.ray_address) as tasks:
            loaded = load(tasks, job)
            work, result = _counted(loaded, tuple(runs), tuple(shown))
    return with_hints(_report(request, loaded, runs[0], result, work), request, versus)


def sweep(
    request: Request,
    grid: Grid,
    *,
    check: Callable[[Sequence[Source]], None] | None = None,
    advance: Callable[[int, int], None] | None = None,
) -> Sweep:
    """Compute every point of a grid; the arguments and the result are those of `pipeline.sweep`."""
    plans = list(points(request.settings, grid))
    with looked_at(request) as job:
        if check:
            check(job.sources)
        runs = [plan.at(columns(job.choice)) for plan in (*plans, original_of(plans))]
        shown = (Shown("original", len(plans), bare=True), *(Shown("", at) for at in range(len(plans))))
        with cluster.running(request.ray_address) as tasks:
            loaded = load(tasks, job)
            work, result = _counted(loaded, tuple(runs), shown)
    if advance:
        advance(len(plans), len(plans))
    report = _report(request, loaded, runs[0], result, work, said_of_columns=False)
    return Sweep(
        health=result.health,
        points=tuple(
            _point(plan, count, column)
            for plan, count, column in zip(runs[:-1], result.columns[1:], report.columns[1:], strict=True)
        ),
        notes=report.notes,
        warnings=report.warnings,
    )


def _writing(
    loaded: Loaded,
    work: PartitionJob,
    goals: Sequence[Goal],
    output: Output,
    run: str,
    about: Mapping[str, str],
) -> Writing:
    return Writing(
        job=loaded.job,
        work=work,
        goals=tuple(goals),
        dropped=tuple(summary.dropped for summary in loaded.summaries),
        prefix=output.prefix,
        about=about,
        record=None if output.same_layout else output.prefix + SOURCE,
        run=run,
        force=output.force,
    )


def _spread(
    loaded: Loaded, plans: tuple[Plan, ...], shown: tuple[Shown, ...], *, per_step: bool = False
) -> tuple[list[Place], PartitionJob]:
    """Move the rows to partitions that suit all plans, and find what these have to know of all rows."""
    unit = loaded.unit(plans)
    view, places = loaded.spread(unit)
    open_ = (
        () if unit in ("step", "all") else tuple(i for i, plan in enumerate(plans) if plan.scope() == "step")
    )
    work = PartitionJob(view, plans, shown, ((),) * len(plans), open_, per_step)
    work = runs.known(loaded.tasks, places, work)
    if loaded.job.choice.rollout:
        # The reward of a rollout may be none of those of its rows.
        ends = runs.over(loaded.tasks, places, work, extremes)
        work = replace(work, view=replace(view, low=ends.low, high=ends.high))
    return places, work


def _counted(
    loaded: Loaded, plans: tuple[Plan, ...], shown: tuple[Shown, ...]
) -> tuple[PartitionJob, Account]:
    """Run the plans, and count."""
    places, work = _spread(loaded, plans, shown)
    return work, _completed(loaded, work, runs.over(loaded.tasks, places, work, account))


def _completed(loaded: Loaded, work: PartitionJob, result: Account) -> Account:
    """What is counted of all partitions, with what none of them sees."""
    by_rollout = result.turns is not None and all(plan.unit.counts == "rollouts" for plan in work.plans)
    health = result.health if by_rollout else replace(result.health, rollouts=None)
    return replace(result, health=health, reused=result.reused + loaded.met_again(work.view))


def _report(
    request: Request,
    loaded: Loaded,
    plan: Plan,
    result: Account,
    work: PartitionJob,
    *,
    said_of_columns: bool = True,
) -> Report:
    seen = Sizes(result.health.rows, result.health.groups, result.health.sizes, result.mixed)
    data = described(request, loaded, work.view, seen, result.seen, several=result.turns is not None)
    blocks = not result.scattered and len(seen.sizes) == 1
    weights, undefined = request.columns.weights, not result.defined
    counts = result.columns
    sketched = [sketches.percentiles(count.sketches) for count in counts]
    return Report(
        health=result.health,
        settings=settings_of(plan, request, data),
        left_out=next((count.left_out for count in counts if count.left_out), ()),
        columns=tuple(
            comparison.column(column.label, count.measured, quantiles)
            for column, count, (quantiles, _) in zip(work.shown, counts, sketched, strict=True)
        ),
        notes=(
            *remarks.notes_of(data, result.reused, result.logged, result.distance, plan.rule),
            *([] if all(exact for _, exact in sketched) else [_PERCENTILES.format(100 * sketches.bound())]),
        ),
        warnings=(
            *request.warnings,
            *remarks.warnings_of(data, plan.rule, weights=weights, undefined=undefined, blocks=blocks),
            *_unit(result, work, plan),
            *(dict.fromkeys(text for count in counts for text in count.warnings) if said_of_columns else ()),
            *too_large(work.view, result.largest, loaded.memory),
        ),
    )


def _unit(result: Account, work: PartitionJob, plan: Plan) -> tuple[str, ...]:
    """What is counted where rows share a rollout."""
    if result.turns is None or plan.unit.counts == "turns":
        return ()
    figures, reward = result.turns.figures(), plan.unit.reward
    by_row = [one.label for one in work.shown if work.plans[one.run].unit.counts == "rows"]
    differ = 0 if reward == "sum" else figures.differ
    all_ = len(by_row) == len(work.shown)
    return tuple(remarks.unit_of(by_row, figures.turns_max, differ, reward, all_=all_))


_PERCENTILES = "percentiles are those of a sketch (KLL): off by at most {:.2g}% of the rows (99% confidence)"


def _point(plan: Plan, count: ColumnCount, column: Column) -> Point:
    moments = count.measured.tally.moments
    squares = moments.squares + moments.count * moments.mean**2 if moments.count else 0.0
    share = (
        None if count.tokens is None else count.kept_tokens / count.tokens if count.tokens else float("nan")
    )
    return Point(
        settings=coordinates(plan),
        column=column,
        effective_rows=concentration.effective(count.measured.tally.sum_abs, squares),
        token_share=share,
    )
