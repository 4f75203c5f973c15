"""Rows by whole groups, some thousands at a time.

What is computed within groups needs no more than the rows of some whole groups. So few at a time stay in the processor's
cache, where many passes over them cost little, and its cores share the ranges.
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

# Rows of a range: their columns fit into the caches of a core, and an operation on them takes longer than two
# threads that ask for Python's lock at once. The operation is one thread's: torch's own threads would wait
# for each other, on a busy machine long.
_ROWS = 200_000
_SHORT = 1 << 31
# Fewer rows than that are done before the threads are there.
_MANY = 1 << 18


# The groups that were cut last: advantages and their figures use the same ones.
_latest: "tuple[ref[Tensor], Ranges | None] | None" = None


def pays(group: Tensor) -> bool:
    """Whether cutting pays: there are many rows, and each thread has its own cache."""
    return group.numel() >= _MANY and group.device.type == "cpu"


def empty(rows: int, dtype: torch.dtype) -> Tensor:
    """[N] not filled in yet, as numpy makes it: it asks for large pages, and to get small ones takes as long as the arithmetic.

    Args:
        rows: N.
        dtype: one that numpy has too.
    """
    return torch.from_numpy(np.empty(rows, dtype=torch.empty(0, dtype=dtype).numpy().dtype))


def _forget(gone: "ref[Tensor]") -> None:
    """Let the ranges go with their groups."""
    global _latest  # noqa: PLW0603
    if _latest is not None and _latest[0] is gone:
        _latest = None


@dataclass(frozen=True)
class Ranges:
    """The rows of a data set, cut between groups.

    Attributes:
        order: [N] int64, the rows group after group; None where they lie so.
        group: [N] int64 or int32, the group of each row in that order; rows without one (-1) come first.
        ends: where a range ends and the next begins, from 0 to N.
    """

    order: Tensor | None
    group: Tensor
    ends: tuple[int, ...]
    _laid: WeakTensorKeyDictionary = field(default_factory=WeakTensorKeyDictionary, repr=False, compare=False)

    @classmethod
    def of(cls, group: Tensor) -> "Ranges | None":
        """Cut the rows.

        Args:
            group: [N] int64, -1 for rows without one.

        Returns:
            None where that is not worth while, or on a GPU.
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
            # Short numbers are sorted in half of the time, byte by byte.
            short = group.int() if -_SHORT <= int(group.min()) <= int(group.max()) < _SHORT else group
            room = empty(rows, short.dtype), empty(rows, torch.int64)
            group, order = torch.sort(short, stable=True, out=room)
        cuts = torch.searchsorted(group, group[_ROWS::_ROWS].contiguous())
        # Not the tensor itself: whoever has it may let it go.
        return cls(order, group.detach(), (0, *torch.unique_consecutive(cuts[cuts > 0]).tolist(), rows))

    def gather(self, values: Tensor, place: slice = slice(None)) -> Tensor:
        """[N, ...] the values of all rows, group after group, or of those at a place."""
        if self.order is None:
            return values[place]
        known = self._laid.get(values)
        return values.index_select(0, self.order[place]) if known is None else known[place]

    def gather_all(self, values: Tensor) -> Tensor:
        """The values of all rows; cached as long as the values exist."""
        if self.order is None:
            return values
        if values not in self._laid:
            self._laid[values] = self.gather(values)
        result: Tensor = self._laid[values]
        return result

    def scatter(self, values: Tensor) -> Tensor:
        """The values in the order of the rows; their order by groups stays cached."""
        order = self.order
        if order is None:
            return values
        result = empty(len(values), values.dtype)
        self.map(lambda position, _: result.index_copy_(0, order[position], values[position]))
        self._laid[result] = values
        return result

    def map(self, work: Callable[[slice, Tensor], T]) -> list[T]:
        """Map a function over the ranges.

        Args:
            work: called with the place of the rows and their groups, numbered from 0; in several threads.

        Returns:
            What it gives, range by range.
        """
        places, threads = [slice(*ends) for ends in pairwise(self.ends)], torch.get_num_threads()
        with ThreadPoolExecutor(threads, initializer=lambda: torch.set_num_threads(1)) as pool:
            try:
                return list(pool.map(lambda position: work(position, self._numbers(position)), places))
            finally:
                pool.shutdown(cancel_futures=True)
                # What a thread sets for itself is what threads that come later get.
                torch.set_num_threads(threads)

    def _numbers(self, position: slice) -> Tensor:
        group = self.group[position].long()
        if group[0] >= 0:
            return group - group[0]
        return torch.where(group >= 0, group, -1)
