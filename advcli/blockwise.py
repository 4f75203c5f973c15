"""Advantages some whole groups at a time, where the advantage of a row depends on its group alone."""

from collections.abc import Callable, Mapping
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from advcli.ranges import Ranges, pays
from advcli.reach import reach
from advcli.records.settings import AdvantageTable
from advcli.words import together

if TYPE_CHECKING:
    from advcli.advantages import Plan


def possible(plan: "Plan", columns: Mapping[str, Tensor]) -> bool:
    """Whether groups can be computed apart from each other, and are many enough for it to pay.

    Args:
        plan: what to do; on another device than the CPU everything is done at once.
        columns: as `advantages.run` takes them.
    """
    rows = len(columns["group"])
    # These two stop at the first bad row of all, and say which row it is.
    stops = "error" in (plan.settings.missing, plan.settings.singleton)
    whole = any(len(column) != rows for name, column in columns.items() if name != "weights")
    # The last digit of a framework's rule depends on what lies beside a group.
    own = plan.rule is None and reach(plan) == "key"
    return own and pays(columns["group"]) and plan.device.type == "cpu" and not (stops or whole)


def run(
    compute: Callable[[Mapping[str, Tensor]], AdvantageTable], columns: Mapping[str, Tensor]
) -> AdvantageTable:
    """Compute each range of groups and put the results where the rows lie.

    Args:
        compute: what is done with the columns of a range; its groups are numbered from 0.
        columns: as `advantages.run` takes them, on the CPU, without columns of tokens.
    """
    ranges = Ranges.of(columns["group"])
    if ranges is None:
        return compute(columns)

    def part(place: slice, group: Tensor) -> AdvantageTable:
        others = columns.keys() - {"group", "weights"}
        block = {name: ranges.laid(columns[name], place) for name in others}
        fixed = {name: column for name, column in columns.items() if name == "weights"}
        return compute({**block, **fixed, "group": group})

    parts = ranges.each(part)
    original, processed, kept = (
        ranges.back(torch.cat([getattr(part, name) for part in parts]))
        for name in ("original", "processed", "kept")
    )
    said = together(text for part in parts for text in part.warnings)
    left_out = tuple(reduce(add, counts) for counts in zip(*(part.left_out for part in parts), strict=True))
    return AdvantageTable(original, processed, kept, said, left_out)
