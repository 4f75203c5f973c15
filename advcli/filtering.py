"""The filters of a run: which rows they leave, and what they leave out."""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from advcli.estimators import engine
from advcli.records import FilterSpec, LeftOut
from advcli.registry import load
from advcli.selection.catalog import FILTERS


def filtered(
    when: str, filters: Iterable[FilterSpec], columns: Mapping[str, Tensor], rows: Tensor
) -> tuple[Tensor, tuple[LeftOut, ...]]:
    """Apply the filters of one kind.

    Args:
        when: "before" or "after".
        filters: all filters.
        columns: what the filters may need; [N] each.
        rows: [N] bool, the rows that there are.

    Returns:
        [N] bool, the rows that are left, and what each filter left out.

    Raises:
        DataError: a column that a filter needs is not there.
    """
    counts = []
    for spec in (spec for spec in filters if spec.when == when):
        entry = FILTERS[spec.name]
        given = dict(columns)
        if spec.column is not None:
            given["rewards"] = columns[f"extra {spec.column}"]
        engine.needed(entry.name, (name for name in entry.needs if name != "advantages"), given)
        # A row of which a filter cannot see what it looks at is left out too.
        seen = rows.clone()
        for name in entry.needs:
            seen &= given[name].isfinite()
        left = torch.zeros_like(rows)
        knobs = engine.fitted(entry.name, entry.target, spec.knobs)
        left[seen] = load(entry.target)(*(given[name][seen] for name in entry.needs), **knobs)
        counts.append(_counted(spec, columns, rows, left))
        rows = left
    return rows.clone(), tuple(counts)


def _counted(spec: FilterSpec, columns: Mapping[str, Tensor], rows: Tensor, left: Tensor) -> LeftOut:
    """How much of `rows` is not in `left`."""
    gone = rows & ~left
    groups = [torch.unique(columns["group"][mask]).numel() for mask in (rows, left)]
    lengths = columns.get("lengths")
    tokens = None if lengths is None else int(lengths[gone].nan_to_num(nan=0.0).sum())
    return LeftOut(spec, int(gone.sum()), groups[0] - groups[1], tokens)
