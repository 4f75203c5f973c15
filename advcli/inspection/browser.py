"""The groups of a data set with their rows, for browsing: all groups, or a selection if there are many."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from advcli.common.wording import counted
from advcli.dataset.load import DataSet
from advcli.inspection.details import question, response
from advcli.io.lookup import read_back
from advcli.records.results.page import Group, GroupRow
from advcli.records.settings import AdvantageTable
from advcli.records.table import Source
from advcli.stats.health import dead_groups
from advcli.stats.summaries.points import solve_rates
from advcli.tensors.masks import rewarded
from advcli.tensors.segments import Segments, Spread

# Limits that keep the page small for dumps of any size.
GROUPS = 500
ROWS = 32
_TEXT = 4000
_PROMPT = 1000
_TEXTS_IN_ALL = 1_500_000
_DEAD_SHARE = 4


def browser(
    data: DataSet,
    sources: Sequence[Source],
    unit: DataSet,
    result: AdvantageTable,
    per_unit: AdvantageTable,
    texts: int,
) -> tuple[tuple[Group, ...], list[str]]:
    """The groups to show, largest |r − group mean| first, and remarks on what was left out or truncated.

    If there are more than `GROUPS`: the most extreme ones, up to a quarter dead ones, and others, both evenly spaced.

    Args:
        data: all rows.
        sources: the files.
        unit: the data set with one row per counted unit, row or rollout.
        result: the advantages of the rows of `data`.
        per_unit: the advantages of the rows of `unit`.
        texts: number of extreme groups, and of dead ones, whose responses are read.
    """
    figures = _figures(unit, per_unit)
    order = _extreme_first(figures)
    dead = figures["dead"][order]
    shown = _chosen(order, dead, texts)
    members = _members(data, result, shown)
    text_groups = {*order[~dead][:texts].tolist(), *_even(order[dead], texts).tolist()}
    with_text = [row for group in shown if group in text_groups for row in members[group].shown]
    wanted = {*with_text, *(rows.shown[0] for rows in members.values())}
    read = read_back(sources, data.table, wanted) if wanted else {}
    names = data.table.choice.prompt
    limit = min(_TEXT, _TEXTS_IN_ALL // max(1, len(with_text)))
    responses = {row: response(read[row], names) for row in with_text}
    groups = tuple(
        Group(
            group=group,
            step="" if data.table.step is None else data.table.step_names[data.table.step[rows.shown[0]]],
            prompt=_cut(question(read[rows.shown[0]], names), _PROMPT),
            rows=tuple(_row(data, result, row, responses, limit) for row in rows.shown),
            left=rows.left,
            **_at(figures, group),
        )
        for group, rows in members.items()
    )
    cut = sum(len(text) > limit for text in responses.values())
    remarks = [f"{counted(cut, 'text')} cut at {limit:,} characters"] if cut else []
    if len(groups) < len(order):
        remarks.append(f"the list of groups shows {len(groups):,} of {counted(len(order), 'group')}")
    return groups, remarks


def _figures(unit: DataSet, per_unit: AdvantageTable) -> Mapping[str, Tensor]:
    """The figures of each group, [G]."""
    rows, size = unit.rows, per_unit.original.double().abs()
    defined = ~size.isnan() & (rows.group >= 0)
    grouped = Segments.of(rows.group[rows.group >= 0], rows.count)
    valid = rewarded(rows.rewards, rows.group)
    values = rows.rewards[valid].double()
    scored = Segments.of(rows.group[valid], rows.count)
    spread = Spread.of(values, scored)
    dead = dead_groups(values, scored)[0]
    std = torch.where(dead, 0.0, torch.where(scored.size() > 1, spread.std(1), torch.nan))
    return {
        "size": grouped.size(),
        "mean": torch.where(scored.size() > 0, scored.mean(values), torch.nan),
        "std": std,
        "solved": solve_rates(rows),
        "dead": dead,
        "max_abs": _defined(Segments.of(rows.group[defined], rows.count).max(size[defined])),
        "max_centred": _defined(scored.max(spread.centred().abs())),
    }


def _at(figures: Mapping[str, Tensor], group: int) -> dict[str, Any]:
    return {name: column[group].item() for name, column in figures.items()}


def _defined(largest: Tensor) -> Tensor:
    return torch.where(torch.isneginf(largest), torch.nan, largest)


def _extreme_first(figures: Mapping[str, Tensor]) -> Tensor:
    """Groups with rows, sorted by the largest |r − group mean|, then by the largest |A|.

    A scaled |A| alone is not enough: it is at most (n − 1) / √n in any group of n rows.
    """
    order = torch.argsort(figures["max_abs"].nan_to_num(nan=-1.0), descending=True, stable=True)
    centred = figures["max_centred"].nan_to_num(nan=-1.0)
    order = order[torch.argsort(centred[order], descending=True, stable=True)]
    return order[figures["size"][order] > 0]


def _chosen(order: Tensor, dead: Tensor, texts: int) -> list[int]:
    """The groups to show, in order."""
    if len(order) <= GROUPS:
        result: list[int] = order.tolist()
        return result
    first = order[: min(texts, GROUPS)]
    chosen = {*first.tolist(), *_even(order[dead], GROUPS // _DEAD_SHARE).tolist()}
    rest = torch.tensor([group for group in order.tolist() if group not in chosen])
    chosen |= {*_even(rest, max(0, GROUPS - len(chosen))).tolist()}
    return [group for group in order.tolist() if group in chosen]


def _even(values: Tensor, count: int) -> Tensor:
    """At most `count` values, evenly spaced, including the first and the last."""
    if len(values) <= count:
        return values
    return values[torch.linspace(0, len(values) - 1, count).round().long()]


class _Shown:
    """The rows of a group to show, and the number of the others."""

    def __init__(self, rows: Tensor) -> None:
        self.shown: list[int] = _even(rows, ROWS).tolist()
        self.left = len(rows) - len(self.shown)


def _members(data: DataSet, result: AdvantageTable, groups: Sequence[int]) -> dict[int, _Shown]:
    """The rows of each group, largest advantage first, undefined ones last."""
    size = result.original.double().nan_to_num(nan=-torch.inf)
    order = torch.argsort(size, descending=True, stable=True)
    order = order[torch.argsort(data.rows.group[order], stable=True)]
    ordered = data.rows.group[order]
    bounds = [[group, group + 1] for group in groups]
    ends = torch.searchsorted(ordered, torch.tensor(bounds, dtype=ordered.dtype))
    return {
        group: _Shown(order[start:end])
        for group, (start, end) in zip(groups, ends.view(-1, 2).tolist(), strict=True)
    }


def _row(data: DataSet, result: AdvantageTable, row: int, texts: Mapping[int, Any], limit: int) -> GroupRow:
    lengths = data.rows.lengths
    return GroupRow(
        place=data.table.place(row),
        reward=float(data.rows.rewards[row]),
        original=float(result.original[row]),
        processed=float(result.processed[row]),
        kept=bool(result.kept[row]),
        length=None if lengths is None else float(lengths[row]),
        text=_cut(texts[row], limit) if row in texts else None,
    )


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"
