"""`compute`: read, group, compute, write, describe."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from advcli.common.wording import wrote
from advcli.dataset.load import DataSet, by_unit
from advcli.engine.plan import Plan
from advcli.engine.run import run
from advcli.inspection import off_policy
from advcli.io import metrics as metrics_file
from advcli.io.atomic import leftovers
from advcli.io.parquet.read import to_metadata
from advcli.io.write import OFF_POLICY, SOURCE, Additions, added_columns, refused_names, targets, write
from advcli.pipeline.describe import report_of, settings_of
from advcli.pipeline.request import Request
from advcli.records.results.report import Report
from advcli.records.settings import AdvantageTable
from advcli.stats import metrics


@dataclass(frozen=True)
class Output:
    """Where `compute` writes.

    Attributes:
        out: a file, a folder, "-", or None for the default name next to the input.
        prefix: prefix of the names of the added columns.
        metrics: a file for the trainer-style metrics, or None.
        force: overwrite existing files.
        same_layout: write lists into records that hold several rows.
        resume: on Ray, skip files that this run has already written.
        layout: "parquet" or "jsonl"; None to choose by the file name.
        off_policy: add the off-policy figures of each row.
    """

    out: str | None = None
    prefix: str = "adv_"
    metrics: Path | None = None
    force: bool = False
    same_layout: bool = False
    resume: bool = False
    layout: str | None = None
    off_policy: bool = False


@dataclass(frozen=True)
class Computed:
    """The advantages of a data set.

    Attributes:
        data: the data set.
        plan: the settings in effect.
        result: the advantages.
        report: their report, with the columns "original" and "processed".
    """

    data: DataSet
    plan: Plan
    result: AdvantageTable
    report: Report


def advantages(request: Request) -> Computed:
    """Compute advantages and write nothing."""
    plan = request.plan()
    with request.opened() as sources:
        data = request.load(sources)
    columns = data.columns()
    plan = plan.at(columns)
    result = run(plan, columns)
    return Computed(data, plan, result, report_of(request, data, plan, _shown(result)))


def _shown(result: AdvantageTable) -> dict[str, AdvantageTable]:
    shown = {"original": result.unprocessed(), "processed": result}
    if result.weighted is not None:
        inner = result.per_rollout
        if inner is not None and inner.weighted is not None:
            inner = replace(inner, processed=inner.weighted)
        shown["weighted"] = replace(result, processed=result.weighted, per_rollout=inner)
    return shown


def compute(request: Request, output: Output, *, advance: Callable[[int, int], None] | None = None) -> Report:
    """Annotate files.

    Args:
        request: what to compute.
        output: where to write.
        advance: called with the number of rows written, and the total.

    Returns:
        The report, with the columns "original" and "processed", and "weighted" if a filter weights.
    """
    plan = request.plan()
    with request.opened() as sources:
        goals = targets(sources, output.out, force=output.force)
        if output.layout:
            goals = [replace(goal, layout=output.layout, codec=None) for goal in goals]
        if output.metrics:
            metrics_file.check(output.metrics, sources, goals, force=output.force)
        more = OFF_POLICY if output.off_policy else ()
        data = request.load(sources, refused=refused_names(output.prefix, more))
        columns = data.columns()
        plan = plan.at(columns)
        result = run(plan, columns)
        figures = off_policy.per_row(data) if output.off_policy else {}
        added = added_columns(output.prefix, result, data.grouping, figures)
        about = to_metadata(output.prefix, settings_of(plan, request, data))
        record = None if output.same_layout else output.prefix + SOURCE
        rows = len(data.table.rewards)
        # Computed before anything is written, so that errors come first.
        steps = data.table.step_names if data.table.step is not None else None
        unit, inner = by_unit(data, _shown(result), plan.unit.reward)
        per_step = metrics.per_step(unit.rows, inner["processed"], steps) if output.metrics else []
        notes = leftovers([*(goal.path for goal in goals), output.metrics])
        with ThreadPoolExecutor(1) as executor:
            # The report and the output are independent, so they are made in parallel.
            pending = executor.submit(report_of, request, data, plan, _shown(result))
            write(
                sources,
                goals,
                data.table,
                Additions(added, about, record),
                force=output.force,
                advance=(lambda done: advance(done, rows)) if advance else lambda done: None,
            )
    written = [str(goal.path) for goal in goals if goal.path]
    notes = (*notes, *wrote(written))
    if output.metrics:
        metrics_file.write(output.metrics, per_step, force=output.force)
        written.append(str(output.metrics))
        notes = (*notes, f"wrote {output.metrics}")
    report = pending.result()
    return replace(report, notes=(*report.notes, *notes), written=tuple(written))
