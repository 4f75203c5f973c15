"""The commands of `pipeline` on a partitioned data set."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from advcli.common.errors import UsageError
from advcli.common.wording import counted, wrote
from advcli.dataset import remarks
from advcli.dataset.grouping import Sizes
from advcli.distributed import cluster, sketches
from advcli.distributed import run as runs
from advcli.distributed.counts import ColumnCount, PartitionCounts, extremes, partition_counts
from advcli.distributed.files import resume, write
from advcli.distributed.files.resume import Goal
from advcli.distributed.files.write import Writing
from advcli.distributed.inspection.inspect import inspect
from advcli.distributed.load import Loaded, columns, described, load, nothing, scan_job, too_large
from advcli.distributed.match import match
from advcli.distributed.placement import Partition
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
    """Annotate files; arguments and result as in `pipeline.compute`."""
    plan = request.plan()
    if output.out in STANDARD_OUTPUT:
        raise UsageError("--engine ray writes a file per input, not standard output", hint="--out DIR/")
    with scan_job(request, refused_names(output.prefix)) as job:
        plan = plan.at(columns(job.choice))
        goals = resume.goals(job.sources, output.out)
        settings = settings_of(plan, request, nothing(job, request, ()))
        run = resume.fingerprint(
            settings, job.sources, [output.prefix, output.same_layout, *(goal.path for goal in goals)]
        )
        # Check the outputs before computing anything.
        open_ = _open(job, goals, output, run)
        with cluster.running(request.ray_address) as tasks:
            loaded = load(tasks, job)
            shown = (Shown("original", 0, bare=True), Shown("processed", 0))
            partitions, partition_job = _spread(loaded, (plan,), shown, per_step=output.metrics is not None)
            computed, pieces = write.compute(tasks, partitions, partition_job)
            result = _completed(loaded, partition_job, computed.partition_counts)
            if open_:
                about = to_metadata(output.prefix, settings)
                writing = _writing(loaded, partition_job, goals, output, run, about)
                write.write_all(tasks, writing, computed, pieces, open_)
    if advance:
        advance(loaded.count, loaded.count)
    written = [str(goals[number].path) for number in open_]
    skipped = len(goals) - len(open_)
    notes = [f"{skipped} of {counted(len(goals), 'file')} done already"] if skipped else []
    notes += wrote(written)
    if output.metrics:
        names = partition_job.view.steps if partition_job.view.has_steps else None
        metrics_file.write(output.metrics, metrics.records(result.steps, names), force=output.force)
        written.append(str(output.metrics))
        notes.append(f"wrote {output.metrics}")
    report = _report(request, loaded, plan, result, partition_job)
    return replace(report, notes=(*report.notes, *notes), written=tuple(written))


def _open(job: ScanJob, goals: Sequence[Goal], output: Output, run: str) -> list[int]:
    """The numbers of the files to write; raises an error if one must not be written."""
    targets = [goal.target for goal in goals]
    if output.metrics:
        metrics_file.check(output.metrics, job.sources, targets, force=output.force or output.resume)
    if output.same_layout:
        for source, goal in zip(job.sources, goals, strict=True):
            can_stay(source, goal.target, job.choice.layout)
    return resume.left(goals, run, resume=output.resume, force=output.force)


def compare(request: Request, versus: Mapping[str, Settings] | None = None) -> Report:
    """Describe columns side by side; arguments and result as in `pipeline.compare`."""
    plans = plans_of(request, versus)
    bare = without_filters(plans["kept"])
    with scan_job(request) as job:
        runs = [plan.at(columns(job.choice)) for plan in (*plans.values(), bare)]
        shown = [Shown("original", len(plans), bare=True)]
        shown += [Shown(label, number) for number, label in enumerate(plans)]
        with cluster.running(request.ray_address) as tasks:
            loaded = load(tasks, job)
            partition_job, result = _counted(loaded, tuple(runs), tuple(shown))
    return with_hints(_report(request, loaded, runs[0], result, partition_job), request, versus)


def sweep(
    request: Request,
    grid: Grid,
    *,
    check: Callable[[Sequence[Source]], None] | None = None,
    advance: Callable[[int, int], None] | None = None,
) -> Sweep:
    """Compute every point of a grid; arguments and result as in `pipeline.sweep`."""
    plans = list(points(request.settings, grid))
    with scan_job(request) as job:
        if check:
            check(job.sources)
        runs = [plan.at(columns(job.choice)) for plan in (*plans, original_of(plans))]
        shown = (
            Shown("original", len(plans), bare=True),
            *(Shown("", number) for number in range(len(plans))),
        )
        with cluster.running(request.ray_address) as tasks:
            loaded = load(tasks, job)
            partition_job, result = _counted(loaded, tuple(runs), shown)
    if advance:
        advance(len(plans), len(plans))
    report = _report(request, loaded, runs[0], result, partition_job, said_of_columns=False)
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
    partition_job: PartitionJob,
    goals: Sequence[Goal],
    output: Output,
    run: str,
    about: Mapping[str, str],
) -> Writing:
    return Writing(
        job=loaded.job,
        partition_job=partition_job,
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
) -> tuple[list[Partition], PartitionJob]:
    """Move the rows to partitions that suit all plans, and compute the global reductions that these need."""
    unit = loaded.unit(plans)
    view, partitions = loaded.spread(unit)
    open_ = (
        () if unit in ("step", "all") else tuple(i for i, plan in enumerate(plans) if plan.scope() == "step")
    )
    partition_job = PartitionJob(view, plans, shown, ((),) * len(plans), open_, per_step)
    partition_job = runs.with_reductions(loaded.tasks, partitions, partition_job)
    if loaded.job.choice.rollout:
        # The reward of a rollout may lie outside the range of its rows' rewards.
        ends = runs.map_reduce(loaded.tasks, partitions, partition_job, extremes)
        partition_job = replace(partition_job, view=replace(view, low=ends.low, high=ends.high))
    return partitions, partition_job


def _counted(
    loaded: Loaded, plans: tuple[Plan, ...], shown: tuple[Shown, ...]
) -> tuple[PartitionJob, PartitionCounts]:
    """Run and count the plans."""
    partitions, partition_job = _spread(loaded, plans, shown)
    result = runs.map_reduce(loaded.tasks, partitions, partition_job, partition_counts)
    return partition_job, _completed(loaded, partition_job, result)


def _completed(loaded: Loaded, partition_job: PartitionJob, result: PartitionCounts) -> PartitionCounts:
    """The counts of all partitions, completed with those that need all files."""
    by_rollout = result.turns is not None and all(
        plan.unit.counts == "rollouts" for plan in partition_job.plans
    )
    health = result.health if by_rollout else replace(result.health, rollouts=None)
    return replace(result, health=health, reused=result.reused + loaded.count_reused(partition_job.view))


def _report(
    request: Request,
    loaded: Loaded,
    plan: Plan,
    result: PartitionCounts,
    partition_job: PartitionJob,
    *,
    said_of_columns: bool = True,
) -> Report:
    seen = Sizes(result.health.rows, result.health.groups, result.health.sizes, result.mixed)
    data = described(request, loaded, partition_job.view, seen, result.seen, several=result.turns is not None)
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
            for column, count, (quantiles, _) in zip(partition_job.shown, counts, sketched, strict=True)
        ),
        notes=(
            *remarks.notes_of(data, result.reused, result.logged, result.distance, plan.rule),
            *([] if all(exact for _, exact in sketched) else [_PERCENTILES.format(100 * sketches.bound())]),
        ),
        warnings=(
            *request.warnings,
            *remarks.warnings_of(
                data,
                plan.rule,
                weights=weights,
                undefined=undefined,
                blocks=blocks,
                no_comparison=not result.compared,
            ),
            *_unit(result, partition_job, plan),
            *(dict.fromkeys(text for count in counts for text in count.warnings) if said_of_columns else ()),
            *too_large(partition_job.view, result.largest, loaded.memory),
        ),
    )


def _unit(result: PartitionCounts, partition_job: PartitionJob, plan: Plan) -> tuple[str, ...]:
    """The notes on whether rows or rollouts are counted."""
    if result.turns is None or plan.unit.counts == "turns":
        return ()
    figures, reward = result.turns.figures(), plan.unit.reward
    by_row = [
        column.label
        for column in partition_job.shown
        if partition_job.plans[column.run].unit.counts == "rows"
    ]
    differ = 0 if reward == "sum" else figures.differ
    all_ = len(by_row) == len(partition_job.shown)
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
