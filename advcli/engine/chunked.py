"""Computes advantages in ranges of whole groups, where a row's advantage depends on its group alone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from operator import add

import torch
from torch import Tensor

from advcli.common.wording import together
from advcli.engine.plan import Plan
from advcli.records.settings import AdvantageTable, LeftOut
from advcli.shaping import spec
from advcli.tensors.group_ranges import Ranges, empty
from advcli.tensors.masks import every


def needed(plan: Plan, columns: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The columns a plan uses; the others need not be sorted by group."""
    if plan.settings.filters:
        return dict(columns)
    steps = plan.settings.shaping
    used = {"rewards", "group", "weights", *plan.entry.needs, *chain.from_iterable(map(spec.needs, steps))}
    used |= {f"extra {text}" for text in spec.measures(steps)}
    return {name: column for name, column in columns.items() if name in used}


def run(
    compute: Callable[[Mapping[str, Tensor]], AdvantageTable], columns: Mapping[str, Tensor]
) -> AdvantageTable:
    """Compute each range of groups and scatter the results back to row order.

    Args:
        compute: computes the advantages of one range; its groups are numbered from 0.
        columns: as `advantages.run` takes them, on the CPU, without columns of tokens.
    """
    ranges = Ranges.of(columns["group"])
    if ranges is None:
        return compute(columns)
    fixed = {name: column for name, column in columns.items() if name == "weights"}
    others = [name for name in columns if name not in ("group", "weights")]
    rows = len(columns["group"])
    ranges.gather_all(columns["rewards"])
    original, kept = empty(rows, torch.float64), empty(rows, torch.bool)

    def part(place: slice, group: Tensor) -> _RangeResult:
        block = {name: ranges.gather(columns[name], place) for name in others}
        result = compute({**block, **fixed, "group": group})
        original[place], kept[place] = result.original, result.kept
        same = result.processed is result.original
        return _RangeResult(place, None if same else result.processed, result.warnings, result.left_out)

    parts = ranges.map(part)
    processed = original
    if any(part.processed is not None for part in parts):
        processed = original.clone()
        for chunk in parts:
            if chunk.processed is not None:
                processed[chunk.place] = chunk.processed
    messages = together(text for part in parts for text in part.warnings)
    left_out = tuple(reduce(add, counts) for counts in zip(*(part.left_out for part in parts), strict=True))
    first = ranges.scatter(original)
    last = first if processed is original else ranges.scatter(processed)
    # Usually every row is kept.
    return AdvantageTable(first, last, kept if every(kept) else ranges.scatter(kept), messages, left_out)


@dataclass(frozen=True)
class _RangeResult:
    """The part of a range's result that is not written in place.

    Attributes:
        place: the slice of rows.
        processed: None if it equals the original advantage.
        warnings: as in an `AdvantageTable`.
        left_out: as in an `AdvantageTable`.
    """

    place: slice
    processed: Tensor | None
    warnings: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
