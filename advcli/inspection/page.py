"""Collects the data of `advcli report` that the other commands do not have."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from torch import Tensor

from advcli.common.wording import counted
from advcli.dataset.load import DataSet, by_unit
from advcli.engine.plan import Plan
from advcli.engine.run import run
from advcli.inspection.browser import browser
from advcli.records.results.inspection import Inspection, RewardSignal
from advcli.records.results.page import KeepGrid, Page
from advcli.records.results.report import Report
from advcli.records.settings import AdvantageTable
from advcli.records.table import Rows, Source
from advcli.stats.figures import mean
from advcli.stats.inference.step_intervals import step_intervals
from advcli.stats.summaries.histogram import histogram
from advcli.stats.summaries.points import group_means, group_points, length_points, solve_rates
from advcli.tensors.masks import rewarded

_RATIOS = (0.2, 0.4, 0.6, 0.8, 1.0)
# Minimum share of rows at the largest reward for which reaching it counts as solving the prompt.
_SHARED = 0.01
# With more rows than this, the grid of keep ratios is computed on the first groups only.
_GRID_ROWS = 200_000


def page(  # noqa: PLR0913  everything that is on it
    data: DataSet,
    sources: Sequence[Source],
    plan: Plan,
    result: AdvantageTable,
    report: Report,
    inspection: Inspection,
    *,
    texts: int,
    version: str,
) -> Page:
    """The data of the page, except the fingerprints of the files and the result of `match`.

    Args:
        data: the data set.
        sources: its files.
        plan: how the advantages were computed.
        result: the advantages.
        report: the report of `compute`.
        inspection: the result of `inspect`.
        texts: number of extreme groups, and of dead ones, whose responses are included.
        version: version of advcli.
    """
    unit, inner = by_unit(data, {"processed": result}, plan.unit.reward)
    rows, per_unit = unit.rows, inner["processed"]
    valid = rewarded(rows.rewards, rows.group)
    points = group_points(rows)
    lengths = length_points(rows, per_unit.original)
    keep, remarks = _keep_grid(plan, data)
    remarks = [*remarks]
    if points.shown < points.total:
        remarks.append(
            f"the plot of groups shows a sample: {points.shown:,} of {counted(points.total, 'group')}"
        )
    if lengths is not None and len(lengths.length) < lengths.total:
        remarks.append(
            f"the plot of lengths shows a sample: {len(lengths.length):,} of {counted(lengths.total, 'row')}; "
            "the line is over all rows"
        )
    groups, group_remarks = browser(data, sources, unit, result, per_unit, texts)
    remarks += group_remarks
    codes = {name: code for code, name in enumerate(data.table.step_names)}
    steps = [codes[step.step] for step in inspection.facts.per_step]
    return Page(
        version=version,
        inputs=(),
        report=report,
        inspection=inspection,
        reward=histogram({"reward": rows.rewards[valid]}),
        advantage=histogram(
            {
                "original": per_unit.original,
                "processed": per_unit.processed[per_unit.kept].double(),
            }
        ),
        solve_rate=histogram(_rates(rows, inspection.facts.signal)),
        groups=points,
        lengths=lengths,
        keep=keep,
        intervals=step_intervals(rows, per_unit.original, steps),
        browser=groups,
        remarks=tuple(remarks),
    )


def _rates(rows: Rows, signal: RewardSignal) -> dict[str, Tensor]:
    """The solve rates of groups; if hardly any row has the largest reward, their mean rewards."""
    if signal.at_max >= _SHARED:
        return {"solve rate": solve_rates(rows)}
    return {"mean reward": group_means(rows)}


def _keep_grid(plan: Plan, data: DataSet) -> tuple[KeepGrid | None, list[str]]:
    """The grid, and remarks on it."""
    if plan.entry.level == "token":
        return None, ["keep ratios are defined for one advantage per row, so there is no map of them"]
    columns, remarks = _some_groups(data)
    mean_abs, kept = [], []
    chosen = plan.settings.keep_pos, plan.settings.keep_neg
    across, down = (tuple(sorted({*_RATIOS, ratio})) for ratio in chosen)
    for keep_neg in down:
        results = [
            run(replace(plan, settings=replace(plan.settings, keep_pos=keep_pos, keep_neg=keep_neg)), columns)
            for keep_pos in across
        ]
        mean_abs.append(tuple(mean(cell.processed[cell.kept].abs()) for cell in results))
        kept.append(tuple(mean(cell.kept[~cell.original.isnan()]) for cell in results))
    return KeepGrid(across, down, tuple(mean_abs), tuple(kept), chosen), remarks


def _some_groups(data: DataSet) -> tuple[Mapping[str, Tensor], list[str]]:
    """The columns of the data set; only of the first groups if it is large and no column has a list per row."""
    columns = data.columns()
    total = data.rows.rewards.numel()
    if total <= _GRID_ROWS or "tokens" in columns:
        return columns, []
    last = int(data.rows.group[_GRID_ROWS])
    mask = (data.rows.group >= 0) & (data.rows.group < last)
    if not mask.any():
        return columns, []
    sample = {
        name: column[mask] if column.dim() and len(column) == total else column
        for name, column in columns.items()
    }
    remark = f"the map of keep ratios is over the first {last:,} of {counted(data.rows.count, 'group')}"
    return sample, [remark]
