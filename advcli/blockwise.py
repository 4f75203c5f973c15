"""Advantages block by block: each step of the arithmetic finds its rows in the cache instead of in memory.

Only where the advantage of a row depends on its group alone. Memory for as many rows as a block has is used again from
block to block; for millions of rows it comes from the system, emptied, at every step of the arithmetic.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from itertools import pairwise
from operator import add
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from advcli.reach import reach
from advcli.records.settings import AdvantageTable
from advcli.runs import in_order
from advcli.words import together

if TYPE_CHECKING:
    from advcli.advantages import Plan

# A block and what is computed of it fit into the cache of a core, and the fixed cost of each step of torch is small beside it.
ROWS = 1 << 17


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
    return rows > ROWS and plan.device.type == "cpu" and not (stops or whole) and reach(plan) == "key"


def run(
    compute: Callable[[Mapping[str, Tensor]], AdvantageTable], columns: Mapping[str, Tensor]
) -> AdvantageTable:
    """Compute each block and put the results where the rows lie.

    Args:
        compute: what is done with the columns of a block; its groups are numbered from 0.
        columns: as `advantages.run` takes them, on the CPU, without columns of tokens.
    """
    group = columns["group"]
    sorted_ = bool((group[1:] >= group[:-1]).all())
    order = None if sorted_ else torch.from_numpy(in_order(group.numpy()))
    ordered = group if order is None else group.index_select(0, order)

    def part(edges: tuple[int, int]) -> AdvantageTable:
        rows = slice(*edges)
        numbers = ordered[rows]
        # Rows without a group come first in order.
        block = {"group": torch.where(numbers >= 0, numbers - numbers[0].clamp(min=0), -1)}
        for name, column in columns.items():
            if name == "weights":
                block[name] = column
            elif name != "group":
                block[name] = column[rows] if order is None else column.index_select(0, order[rows])
        return compute(block)

    parts = _at_once(part, _blocks(ordered))
    original, processed, kept = (
        _put_back([getattr(part, name) for part in parts], order)
        for name in ("original", "processed", "kept")
    )
    said = together(text for part in parts for text in part.warnings)
    left_out = tuple(reduce(add, counts) for counts in zip(*(part.left_out for part in parts), strict=True))
    return AdvantageTable(original, processed, kept, said, left_out)


def _at_once(
    part: Callable[[tuple[int, int]], AdvantageTable], blocks: Iterable[tuple[int, int]]
) -> list[AdvantageTable]:
    """Blocks side by side, each on a thread of its own.

    Several threads on each operation would have to wait for each other after every one, and on a busy machine long.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    pool = ThreadPoolExecutor(threads)
    try:
        return list(pool.map(part, blocks))
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)


def _put_back(parts: Sequence[Tensor], order: Tensor | None) -> Tensor:
    """The values of all blocks, where the rows lie."""
    joined = torch.cat(list(parts))
    return joined if order is None else torch.empty_like(joined).index_copy_(0, order, joined)


def _blocks(group: Tensor) -> Iterator[tuple[int, int]]:
    """Where blocks of about `ROWS` rows begin and end; a group lies in one. `group`: [N] int64, ascending."""
    # The first row of the group that a block would cut.
    cuts = torch.searchsorted(group, group[ROWS::ROWS].contiguous()).unique().tolist()
    edges = [0, *(cut for cut in cuts if cut), len(group)]
    yield from pairwise(edges)
