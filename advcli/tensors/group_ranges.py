"""Process rows in ranges of whole groups.

Statistics within groups need whole groups only. A range of some 200,000 rows stays in the CPU cache, where repeated passes
are cheap, and the cores work on the ranges in parallel.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeVar
from weakref import ref

import numpy as np
import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

T = TypeVar("T")

# Rows per range: few enough for a core's cache, and enough that an operation outweighs contention for the GIL. Each
# operation runs on one thread, because torch's own threads would wait for each other on a busy machine.
_ROWS = 200_000
_INT32_LIMIT = 1 << 31
# Below this number of rows, starting the threads takes longer than the work.
_MANY = 1 << 18


# The latest group tensor and its ranges: advantages and statistics use the same one.
_latest: "tuple[ref[Tensor], Ranges | None] | None" = None


def pays(group: Tensor) -> bool:
    """Whether ranges are worthwhile: many rows, on the CPU."""
    return group.numel() >= _MANY and group.device.type == "cpu"


def empty(rows: int, dtype: torch.dtype) -> Tensor:
    """[N] uninitialized, allocated by numpy: it asks for huge pages, and faulting in small ones takes as long as the arithmetic.

    Args:
        rows: N.
        dtype: one that numpy supports.
    """
    return torch.from_numpy(np.empty(rows, dtype=torch.empty(0, dtype=dtype).numpy().dtype))


def _forget(freed: "ref[Tensor]") -> None:
    """Drop the cached ranges when their group tensor is freed."""
    global _latest  # noqa: PLW0603
    if _latest is not None and _latest[0] is freed:
        _latest = None


@dataclass(frozen=True)
class Ranges:
    """The rows of a dataset, split between groups.

    Attributes:
        order: [N] int64, the rows sorted by group; None if they already are.
        group: [N] int64 or int32, the group of each row in that order; rows without one (-1) come first.
        ends: the boundaries of the ranges, from 0 to N.
    """

    order: Tensor | None
    group: Tensor
    ends: tuple[int, ...]
    _sorted_values: WeakTensorKeyDictionary = field(
        default_factory=WeakTensorKeyDictionary, repr=False, compare=False
    )

    @classmethod
    def of(cls, group: Tensor) -> "Ranges | None":
        """Split the rows.

        Args:
            group: [N] int64, -1 for rows without one.

        Returns:
            None where ranges aren't worthwhile, or on a GPU.
        """
        if not pays(group):
            return None
        global _latest  # noqa: PLW0603
        if _latest is None or _latest[0]() is not group:
            _latest = (ref(group, _forget), cls._of(group))
        return _latest[1]

    @classmethod
    def _of(cls, group: Tensor) -> "Ranges | None":
        rows, order = group.numel(), None
        if not (group[1:].numpy() >= group[:-1].numpy()).all():
            # int32 sorts in half the time.
            short = (
                group.int() if -_INT32_LIMIT <= int(group.min()) <= int(group.max()) < _INT32_LIMIT else group
            )
            out = empty(rows, short.dtype), empty(rows, torch.int64)
            group, order = torch.sort(short, stable=True, out=out)
        cuts = torch.searchsorted(group, group[_ROWS::_ROWS].contiguous())
        # detach(): a strong reference would keep the caller's tensor alive.
        return cls(order, group.detach(), (0, *torch.unique_consecutive(cuts[cuts > 0]).tolist(), rows))

    def gather(self, values: Tensor, place: slice = slice(None)) -> Tensor:
        """[N, ...] the values sorted by group, or a slice of them."""
        if self.order is None:
            return values[place]
        cached = self._sorted_values.get(values)
        return values.index_select(0, self.order[place]) if cached is None else cached[place]

    def gather_all(self, values: Tensor) -> Tensor:
        """The values sorted by group; cached while `values` is alive."""
        if self.order is None:
            return values
        if values not in self._sorted_values:
            self._sorted_values[values] = self.gather(values)
        result: Tensor = self._sorted_values[values]
        return result

    def scatter(self, values: Tensor) -> Tensor:
        """The values in row order; their sorted form stays cached."""
        order = self.order
        if order is None:
            return values
        result = empty(len(values), values.dtype)
        self.map(lambda position, _: result.index_copy_(0, order[position], values[position]))
        self._sorted_values[result] = values
        return result

    def map(self, work: Callable[[slice, Tensor], T]) -> list[T]:
        """Map a function over the ranges.

        Args:
            work: called with a slice of the sorted rows and their groups, numbered from 0; in several threads.

        Returns:
            Its results, one per range.
        """
        places, threads = [slice(*ends) for ends in pairwise(self.ends)], torch.get_num_threads()
        with ThreadPoolExecutor(threads, initializer=lambda: torch.set_num_threads(1)) as pool:
            try:
                return list(pool.map(lambda position: work(position, self._numbers(position)), places))
            finally:
                pool.shutdown(cancel_futures=True)
                # set_num_threads in a worker also sets the default for later threads.
                torch.set_num_threads(threads)

    def _numbers(self, position: slice) -> Tensor:
        group = self.group[position].long()
        if group[0] >= 0:
            return group - group[0]
        return torch.where(group >= 0, group, -1)
