"""Put together what the page of `advcli report` is made of, beyond what the other commands show."""

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
# The largest reward is a goal that is reached if this share of the rows has it, else it is the luck of one row.
_SHARED = 0.01
# Beyond this many rows the grid of keep ratios is computed on whole steps or groups of a part of them.
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
    """Everything on the page but the fingerprints of the files and the sentence of `match`.

    Args:
        data: the data set.
        sources: its files.
        plan: how the advantages were computed.
        result: the advantages.
        report: what `compute` shows of them.
        inspection: what `inspect` shows of the data set.
        texts: of how many extreme groups, and of how many dead ones, the responses are shown.
        version: of advcli.
    """
    unit, inner = by_unit(data, {"processed": result}, plan.unit.reward)
    rows, counted_once = unit.rows, inner["processed"]
    valid = rewarded(rows.rewards, rows.group)
    points = group_points(rows)
    lengths = length_points(rows, counted_once.original)
    keep, said = _keep_grid(plan, data)
    remarks = [*said]
    if points.shown < points.total:
        remarks.append(
            f"the plot of groups shows a sample: {points.shown:,} of {counted(points.total, 'group')}"
        )
    if lengths is not None and len(lengths.length) < lengths.total:
        remarks.append(
            f"the plot of lengths shows a sample: {len(lengths.length):,} of {counted(lengths.total, 'row')}; "
            "the line is over all of them"
        )
    groups, said = browser(data, sources, unit, result, counted_once, texts)
    remarks += said
    codes = {name: code for code, name in enumerate(data.table.step_names)}
    steps = [codes[one.step] for one in inspection.facts.per_step]
    return Page(
        version=version,
        inputs=(),
        report=report,
        inspection=inspection,
        reward=histogram({"reward": rows.rewards[valid]}),
        advantage=histogram(
            {
                "original": counted_once.original,
                "processed": counted_once.processed[counted_once.kept].double(),
            }
        ),
        solve_rate=histogram(_rates(rows, inspection.facts.signal)),
        groups=points,
        lengths=lengths,
        keep=keep,
        intervals=step_intervals(rows, counted_once.original, steps),
        browser=groups,
        remarks=tuple(remarks),
    )


def _rates(rows: Rows, signal: RewardSignal) -> dict[str, Tensor]:
    """How often groups reach the largest reward; where hardly any row has it, the mean reward of the groups."""
    if signal.at_max >= _SHARED:
        return {"solve rate": solve_rates(rows)}
    return {"mean reward": group_means(rows)}


def _keep_grid(plan: Plan, data: DataSet) -> tuple[KeepGrid | None, list[str]]:
    """The grid, and what is to be said of it."""
    if plan.entry.level == "token":
        return None, ["keep ratios are defined for one advantage per row, so there is no map of them"]
    columns, said = _some_groups(data)
    mean_abs, kept = [], []
    chosen = plan.settings.keep_pos, plan.settings.keep_neg
    across, down = (tuple(sorted({*_RATIOS, one})) for one in chosen)
    for keep_neg in down:
        results = [
            run(replace(plan, settings=replace(plan.settings, keep_pos=keep_pos, keep_neg=keep_neg)), columns)
            for keep_pos in across
        ]
        mean_abs.append(tuple(mean(one.processed[one.kept].abs()) for one in results))
        kept.append(tuple(mean(one.kept[~one.original.isnan()]) for one in results))
    return KeepGrid(across, down, tuple(mean_abs), tuple(kept), chosen), said


def _some_groups(data: DataSet) -> tuple[Mapping[str, Tensor], list[str]]:
    """The columns of the data set; of the first groups where they are many and no column is a list per row."""
    columns = data.columns()
    total = data.rows.rewards.numel()
    if total <= _GRID_ROWS or "tokens" in columns:
        return columns, []
    last = int(data.rows.group[_GRID_ROWS])
    some = (data.rows.group >= 0) & (data.rows.group < last)
    if not some.any():
        return columns, []
    few = {
        name: column[some] if column.dim() and len(column) == total else column
        for name, column in columns.items()
    }
    said = f"the map of keep ratios is over the first {last:,} of {counted(data.rows.count, 'group')}"
    return few, [said]
