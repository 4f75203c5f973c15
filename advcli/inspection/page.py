"""Put together what the page of `advcli report` is made of, beyond what the other commands show."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from advcli.dataset.load import DataSet, by_unit
from advcli.engine.plan import Plan
from advcli.engine.run import run
from advcli.inspection.details import prompt, response
from advcli.io.lookup import read_back
from advcli.records.inspection import Inspection, RewardSignal
from advcli.records.page import ExtremeGroup, ExtremeRow, KeepGrid, Page
from advcli.records.report import Report
from advcli.records.settings import AdvantageTable
from advcli.records.table import Rows, Source
from advcli.stats.figures import mean
from advcli.stats.histogram import histogram
from advcli.stats.points import group_means, group_points, length_points, solve_rates
from advcli.tensors.masks import rewarded
from advcli.tensors.segments import Segments, Spread
from advcli.wording import counted

_RATIOS = (0.2, 0.4, 0.6, 0.8, 1.0)
# The largest reward is a goal that is reached if this share of the rows has it, else it is the luck of one row.
_SHARED = 0.01
# A page that nobody can load helps nobody: longer texts are cut, and so are larger groups.
_TEXT = 4000
_ROWS = 32
_TEXTS_IN_ALL = 1_500_000
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
        texts: how many extreme groups are shown with their texts.
        version: of advcli.
    """
    unit, inner = by_unit(data, {"processed": result}, plan.unit.reward)
    rows, counted_once = unit.rows, inner["processed"]
    valid = rewarded(rows.rewards, rows.group)
    groups = group_points(rows)
    lengths = length_points(rows, counted_once.original)
    keep, said = _keep_grid(plan, data)
    remarks = [*said]
    if groups.shown < groups.total:
        remarks.append(
            f"the plot of groups shows a sample: {groups.shown:,} of {counted(groups.total, 'group')}"
        )
    if lengths is not None and len(lengths.length) < lengths.total:
        remarks.append(
            f"the plot of lengths shows a sample: {len(lengths.length):,} of {counted(lengths.total, 'row')}; "
            "the line is over all of them"
        )
    extremes, cut = _extremes(data, sources, result, texts)
    remarks += [f"{counted(cut, 'text')} cut at {_TEXT:,} characters or less"] if cut else []
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
        groups=groups,
        lengths=lengths,
        keep=keep,
        extremes=extremes,
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
    for keep_neg in _RATIOS:
        results = [
            run(replace(plan, settings=replace(plan.settings, keep_pos=keep_pos, keep_neg=keep_neg)), columns)
            for keep_pos in _RATIOS
        ]
        mean_abs.append(tuple(mean(one.processed[one.kept].abs()) for one in results))
        kept.append(tuple(mean(one.kept[~one.original.isnan()]) for one in results))
    return KeepGrid(_RATIOS, _RATIOS, tuple(mean_abs), tuple(kept)), said


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


def _extremes(
    data: DataSet, sources: Sequence[Source], result: AdvantageTable, many: int
) -> tuple[tuple[ExtremeGroup, ...], int]:
    """The groups with the largest |r − group mean|, of equal ones those with the largest |A|; how many texts were cut.

    A scaled |A| alone cannot tell: it is at most (n − 1) / √n in any group of n rows.
    """
    size = result.original.double().abs()
    there = ~size.isnan() & (data.rows.group >= 0)
    top = Segments.of(data.rows.group[there], data.rows.count).max(size[there])
    valid = rewarded(data.rows.rewards, data.rows.group)
    scored = Segments.of(data.rows.group[valid], data.rows.count)
    centred = scored.max(Spread.of(data.rows.rewards[valid].double(), scored).centred().abs())
    order = torch.argsort(top, descending=True, stable=True)
    order = order[torch.argsort(centred[order], descending=True, stable=True)][:many]
    chosen = [int(group) for group in order if torch.isfinite(top[group])]
    members = {group: _members(data, result, group) for group in chosen}
    shown = [row for rows in members.values() for row in rows[:_ROWS]]
    texts = read_back(sources, data.table, shown) if shown else {}
    limit = min(_TEXT, _TEXTS_IN_ALL // max(1, len(shown)))
    names = data.table.choice.prompt
    said = {row: response(texts[row], names) for row in shown}
    found = tuple(
        ExtremeGroup(
            group=group,
            step="" if data.table.step is None else data.table.step_names[data.table.step[rows[0]]],
            prompt=_cut(prompt(texts[rows[0]], names), limit),
            max_abs=float(top[group]),
            max_centred=float(centred[group]),
            rows=tuple(_row(data, result, row, _cut(said[row], limit)) for row in rows[:_ROWS]),
            left=max(0, len(rows) - _ROWS),
        )
        for group, rows in members.items()
    )
    return found, sum(len(text) > limit for text in said.values())


def _members(data: DataSet, result: AdvantageTable, group: int) -> list[int]:
    """The rows of a group, largest advantage first, undefined ones last."""
    rows = torch.nonzero(data.rows.group == group).squeeze(1)
    order = torch.argsort(result.original[rows].nan_to_num(nan=-torch.inf), descending=True, stable=True)
    return [int(row) for row in rows[order]]


def _row(data: DataSet, result: AdvantageTable, row: int, text: str) -> ExtremeRow:
    lengths = data.rows.lengths
    return ExtremeRow(
        place=data.table.place(row),
        reward=float(data.rows.rewards[row]),
        original=float(result.original[row]),
        processed=float(result.processed[row]),
        kept=bool(result.kept[row]),
        length=None if lengths is None else float(lengths[row]),
        text=text,
    )


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"
