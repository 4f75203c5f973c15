"""Sums and extremes over segments (groups, steps).

A segment index is an int64 tensor [N] with values in [0, S). Where the rows are contiguous and all
segments have the same size, the reductions run on an [S, n] view instead of scattering.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from advcli.tensors.blocks import FOLDED, folded, in_blocks
from advcli.tensors.masks import plain

# A row whose |A| is at most this share of its group's largest |A| is neutral: neither positive nor
# negative. A row whose reward is the group mean is not exactly 0 in floating point.
NEUTRAL = 1e-6

# Largest index / number of rows up to which `dense` counts instead of sorting.
_DENSE_RATIO = 4


_make_steps: "Callable[[Any], Segments] | None" = None


@contextmanager
def partial_steps(wrap: "Callable[[Any], Segments]") -> Iterator[None]:
    """Let `wrap` make the segments of steps that have rows in other partitions; one at a time per process."""
    global _make_steps  # noqa: PLW0603
    before, _make_steps = _make_steps, wrap
    try:
        yield
    finally:
        _make_steps = before


@dataclass(frozen=True)
class Segments:
    """N rows partitioned into S segments.

    Attributes:
        index: [N] int64, the segment of each row.
        count: S. A segment may be empty.
        width: n when the rows lie as S contiguous blocks of n, else None.
    """

    index: Tensor
    count: int
    width: int | None

    @classmethod
    def of(cls, index: "Tensor | Segments", count: int | None = None) -> "Segments":
        """The segments of an index.

        Args:
            index: [N] int64 with values in [0, S); `Segments` are returned as they are.
            count: S, if the caller knows it; else max + 1.

        Example:
            >>> Segments.of(torch.tensor([0, 0, 1, 1])).width
            2
            >>> Segments.of(torch.tensor([0, 1, 0, 1])).width is None
            True
        """
        if isinstance(index, Segments):
            return index
        rows = index.numel()
        if not rows:
            return cls(index, count or 0, None)
        # In blocks, the last row belongs to the last segment, which saves a pass for the maximum.
        guess = int(index[-1]) + 1 if count is None else count
        if guess > 0 and rows % guess == 0 and in_blocks(index, guess, rows // guess):
            return cls(index, guess, rows // guess)
        return cls(index, int(index.max()) + 1 if count is None else count, None)

    @classmethod
    def batch(cls, index: "Tensor | Segments") -> "Segments":
        """The segments of steps, whose rows may be spread over several machines.

        Outside `partial_steps` this is `of`. An estimator that takes its steps from here, and uses only their sizes, sums
        and extremes, can run on a part of a step.

        Args:
            index: [N] int64, the step of each row (or group, or token).
        """
        return cls.of(index) if _make_steps is None else _make_steps(index)

    @classmethod
    def dense(cls, index: Tensor) -> "Segments":
        """The segments renumbered in ascending order, without empty ones.

        Example:
            >>> Segments.dense(torch.tensor([7, 2, 2])).index.tolist()
            [1, 0, 0]
        """
        if not index.numel() or int(index.min()) < 0 or int(index.max()) >= _DENSE_RATIO * index.numel():
            return cls.of(torch.unique(index, return_inverse=True)[1])
        # Counting is faster than sorting.
        seen = index.new_zeros(int(index.max()) + 1).index_fill_(0, index, 1)
        return cls.of((torch.cumsum(seen, dim=0) - 1)[index])

    def size(self) -> Tensor:
        """Rows per segment, [S] int64."""
        if self.width is not None:
            return self.index.new_full((self.count,), self.width)
        return torch.bincount(self.index, minlength=self.count)

    def sum(self, values: Tensor) -> Tensor:
        """Sum per segment, [S]; 0 for an empty segment. `values`: [N] float."""
        if self.width is not None:
            return values.view(self.count, self.width).sum(dim=1)
        return values.new_zeros(self.count).index_add_(0, self.index, values)

    def max(self, values: Tensor) -> Tensor:
        """Largest value per segment, [S]; -inf for an empty segment. `values`: [N] float."""
        if self.width is not None:
            if self.width <= FOLDED and plain(values):
                return torch.from_numpy(folded(np.maximum, values.numpy(), self.width))
            return values.view(self.count, self.width).amax(dim=1)
        lowest = values.new_full((self.count,), -torch.inf)
        return lowest.scatter_reduce_(0, self.index, values, reduce="amax")

    def min(self, values: Tensor) -> Tensor:
        """Smallest value per segment, [S]; +inf for an empty segment. `values`: [N] float."""
        if self.width is not None and self.width <= FOLDED and plain(values):
            return torch.from_numpy(folded(np.minimum, values.numpy(), self.width))
        return -self.max(-values)

    def mean(self, values: Tensor) -> Tensor:
        """Mean per segment, [S]; NaN for an empty segment. `values`: [N] float.

        The mean residual of a first pass is added back, so that the error does not grow with N.
        """
        size = self.size().to(values.dtype)
        mean = self.sum(values) / size
        return mean + self.sum(self.broadcast(torch.sub, values, mean)) / size

    def rows(self, per_segment: Tensor) -> Tensor:
        """The value of each row's segment: [S] → [N]."""
        if self.width is not None:
            return per_segment.unsqueeze(1).expand(-1, self.width).reshape(-1)
        return per_segment.index_select(0, self.index)

    def broadcast(
        self, operation: Callable[[Tensor, Tensor], Tensor], values: Tensor, per_segment: Tensor
    ) -> Tensor:
        """Apply an operation to each row and the value of its segment: [N], [S] → [N].

        Example:
            >>> pairs = Segments.of(torch.tensor([0, 0, 1, 1]))
            >>> pairs.broadcast(
            ...     torch.sub, torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([1.0, 3.0])
            ... ).tolist()
            [0.0, 1.0, 0.0, 1.0]
        """
        if self.width is None:
            return operation(values, self.rows(per_segment))
        blocks = values.reshape(self.count, self.width)
        return operation(blocks, per_segment.unsqueeze(1)).reshape(-1)

    def safe_divide(self, values: Tensor, per_segment: Tensor) -> Tensor:
        """Each value divided by that of its segment, 0 where the divisor is 0: [N] finite, [S] → [N]."""
        if not plain(values):
            return self.broadcast(divide, values, per_segment)
        zero = per_segment == 0
        if not zero.any():
            return self.broadcast(torch.div, values, per_segment)
        # Adding 0 turns a quotient of -0 into 0.
        return self.broadcast(torch.div, values, torch.where(zero, torch.inf, per_segment)).add_(0.0)

    def parent(self, outer: Tensor) -> Tensor:
        """The outer segment that each segment lies in, [S] int64; 0 for an empty segment.

        Args:
            outer: [N] int64, the outer segment of each row. Of several in one segment, the lowest counts.

        Example:
            >>> Segments.of(torch.tensor([0, 1, 0, 1])).parent(torch.tensor([3, 5, 3, 5])).tolist()
            [3, 5]
        """
        if self.width is not None:
            return outer.view(self.count, self.width).amin(dim=1)
        return outer.new_zeros(self.count).scatter_reduce_(
            0, self.index, outer, reduce="amin", include_self=False
        )

    def rank(self, values: Tensor) -> Tensor:
        """Position of each row in its segment, in ascending order of `values`; ties in row order.

        Args:
            values: [N] float.

        Returns:
            [N] int64, 0 for the smallest value of the segment.

        Example:
            >>> Segments.of(torch.tensor([0, 1, 0, 0])).rank(torch.tensor([3.0, 9.0, 1.0, 1.0])).tolist()
            [2, 0, 0, 1]
        """
        order = self.order(values)
        position = Segments(self.index[order], self.count, self.width).position()
        return torch.empty_like(position).scatter_(0, order, position)

    def order(self, values: Tensor) -> Tensor:
        """The rows, segment by segment, in ascending order of `values` ([N] float); ties in row order.

        Example:
            >>> Segments.of(torch.tensor([0, 1, 0, 0])).order(torch.tensor([3.0, 9.0, 1.0, 1.0])).tolist()
            [2, 3, 0, 1]
        """
        if self.width is not None:
            # Sort each row of the matrix: a shorter sort, and no second one.
            order = torch.argsort(values.view(self.count, self.width), dim=1, stable=True)
            first = torch.arange(self.count, device=order.device) * self.width
            return (order + first.unsqueeze(1)).view(-1)
        order = torch.argsort(values, stable=True)
        return order[torch.argsort(self.index[order], stable=True)]

    def position(self) -> Tensor:
        """Position of each row in its segment, [N] int64. The rows must be sorted by `index`."""
        size = self.size()
        start = torch.cumsum(size, dim=0) - size
        return _arange(self.index.numel(), self.index) - start[self.index]

    def cumsum(self, values: Tensor) -> Tensor:
        """Cumulative sum within each segment, [N]. The rows must be sorted as for `position`.

        Each pass doubles the summed stretch. No sum crosses a segment boundary, so that none loses digits to
        earlier segments.

        Example:
            >>> Segments.of(torch.tensor([0, 0, 0, 1, 1])).cumsum(
            ...     torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0])
            ... ).tolist()
            [1.0, 3.0, 6.0, 4.0, 9.0]
        """
        longest = int(self.size().max()) if self.count else 0
        stretch = 1
        while stretch < longest:
            same = self.index[stretch:] == self.index[:-stretch]
            carried = torch.where(same, values[:-stretch], 0.0)
            values = torch.cat([values[:stretch], values[stretch:] + carried])
            stretch *= 2
        return values

    def discounted(self, values: Tensor, factor: float | Tensor) -> Tensor:
        """Σ_k factor^k · v_{i+k} over each row and the rows after it in its segment, [N].

        The summed stretch doubles, as in `cumsum`: log₂(longest) passes instead of one per row.

        Args:
            values: [N] float. The rows must be sorted as for `position`.
            factor: the weight of the next row, from 0 to 1; [N] for one that is equal within each segment.

        Example:
            >>> Segments.of(torch.tensor([0, 0, 0, 1])).discounted(
            ...     torch.tensor([0.0, 1.0, 4.0, 8.0]), 0.5
            ... ).tolist()
            [1.5, 3.0, 4.0, 8.0]
        """
        longest = int(self.size().max()) if self.count else 0
        stretch = 1
        while stretch < longest:
            same = self.index[stretch:] == self.index[:-stretch]
            weight = factor[:-stretch] if isinstance(factor, Tensor) else factor
            carried = torch.where(same, weight * values[stretch:], 0.0)
            values = torch.cat([values[:-stretch] + carried, values[-stretch:]])
            factor, stretch = factor * factor, stretch * 2
        return values

    def nan_if_single(self, advantages: Tensor) -> Tensor:
        """The [N] advantages with NaN in segments of one, where there is nothing to compare with."""
        if self.width is not None:
            return advantages if self.width > 1 else torch.full_like(advantages, torch.nan)
        return torch.where(self.rows(self.size()) > 1, advantages, torch.nan)


@dataclass(frozen=True)
class Spread:
    """Centred and scaled rewards of each segment, free of overflow, underflow and cancellation.

    Rewards are mapped to [0, 1] by the segment's smallest reward and range before anything is summed:
    a group is dead exactly when its range is 0, and tiny or huge rewards keep their variance.

    Attributes:
        segments: the S segments.
        range: [S] max − min.
        unit: [N] (r − mean) / range of the row's segment, in [-1, 1]; 0 where the range is 0.
    """

    segments: Segments
    range: Tensor
    unit: Tensor

    @classmethod
    def of(cls, rewards: Tensor, segments: Segments) -> "Spread":
        """The spread of `rewards` ([N] float, finite)."""
        low = segments.min(rewards)
        extent = segments.max(rewards) - low
        if (extent == torch.inf).any():
            halved = cls.of(rewards / 2, segments)
            return cls(segments, halved.range * 2, halved.unit)
        return cls._of(rewards, segments, low, extent)

    @classmethod
    def _of(cls, rewards: Tensor, segments: Segments, low: Tensor, extent: Tensor) -> "Spread":
        scaled = segments.safe_divide(segments.broadcast(torch.sub, rewards, low), extent)
        return cls(segments, extent, segments.broadcast(torch.sub, scaled, segments.mean(scaled)))

    @classmethod
    def about_zero(cls, values: Tensor, segments: Segments) -> "Spread":
        """The spread of values whose mean is 0 in every segment by construction.

        The rounding error left in the mean is not subtracted, so that 0 stays exactly 0.
        """
        extent = segments.max(values) - segments.min(values)
        return cls(segments, extent, segments.safe_divide(values, extent))

    def centred(self) -> Tensor:
        """[N] r − mean of the segment; exactly 0 in a dead segment."""
        return self.segments.broadcast(torch.mul, self.unit, self.range)

    def unit_std(self, ddof: int) -> Tensor:
        """[S] standard deviation divided by the range; NaN with `ddof` or fewer rows, 0 if dead."""
        free = (self.segments.size() - ddof).to(self.unit.dtype)
        variance = self.segments.sum(self.unit**2) / torch.where(free > 0, free, torch.nan)
        return variance.sqrt()

    def std(self, ddof: int) -> Tensor:
        """[S] standard deviation, in the unit of the rewards."""
        return self.unit_std(ddof) * self.range

    def scores(self, ddof: int, eps: float) -> Tensor:
        """[N] (r − mean) / (std + eps); 0 in a dead segment."""
        return self.over_std(self.unit, ddof, eps)

    def over_std(self, unit: Tensor, ddof: int, eps: float) -> Tensor:
        """[N] deviations of any kind over std + eps; `unit`: [N] float, in units of the range."""
        if eps == 0:
            # The range cancels, so no product can overflow or underflow.
            return self.segments.safe_divide(unit, self.unit_std(ddof))
        centred = self.segments.broadcast(torch.mul, unit, self.range)
        return self.segments.broadcast(torch.div, centred, self.std(ddof) + eps)


def signs(advantages: Tensor, group: "Tensor | Segments") -> Tensor:
    """Sign of each advantage, with neutral rows as 0.

    Args:
        advantages: [N] float, NaN where undefined.
        group: [N] int64, group index in [0, G).

    Returns:
        [N], dtype of `advantages`: -1, 0 or 1; 0 where the advantage is NaN.

    Example:
        >>> signs(torch.tensor([1.0, 1e-9, -1.0]), torch.tensor([0, 0, 0])).tolist()
        [1.0, 0.0, -1.0]
    """
    segments = Segments.of(group)
    least = segments.rows(NEUTRAL * segments.max(advantages.abs().nan_to_num(nan=0.0)))
    if plain(advantages):
        values, bound = advantages.numpy(), least.numpy()
        result = (values > bound).view(np.int8) - (values < -bound).view(np.int8)
        return torch.from_numpy(result).to(advantages.dtype)
    return torch.where((advantages > least) | (advantages < -least), advantages.sign(), 0.0)


def divide(numerator: Tensor, denominator: Tensor) -> Tensor:
    """Quotient, and 0 where the denominator is 0 (a dead group has advantage 0, not NaN)."""
    return torch.where(denominator == 0, 0.0, numerator / denominator)


def _arange(length: int, like: Tensor) -> Tensor:
    return torch.arange(length, device=like.device)
