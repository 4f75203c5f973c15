"""Statistics over the rewarded rows of a group, broadcast to its rows."""

from dataclasses import dataclass

import torch
from torch import Tensor

from advcli.tensors.segments import Segments


@dataclass(frozen=True)
class Groups:
    """The groups of N rows.

    Every statistic is [N], the value of the row's group; NaN if no row counts. It is meaningless for rows without a reward.

    Attributes:
        segments: the groups, plus a last one for rows without a reward or a group.
        used: [N] bool, the rows with a group and a reward.
    """

    segments: Segments
    used: Tensor

    @classmethod
    def of(cls, rewards: Tensor, group: Tensor) -> "Groups":
        """The groups of some rows.

        Args:
            rewards: [N] float, NaN or ±inf where missing.
            group: [N] int64, -1 for rows without one.
        """
        used = rewards.isfinite() & (group >= 0)
        if bool(used.all()):
            return cls(Segments.of(group), used)
        count = int(group.max()) + 1 if len(group) else 0
        return cls(Segments.of(torch.where(used, group, count), count + 1), used)

    def counted(self, values: Tensor, where: Tensor | None = None) -> Tensor:
        """[N] bool, the rows that count: with a reward, a finite value, and the condition true."""
        counted = self.used & values.isfinite()
        return counted if where is None else counted & where

    def sum(self, values: Tensor, where: Tensor | None = None) -> Tensor:
        """Sum over the rows that count; 0 if there are none."""
        return self._sum(torch.where(self.counted(values, where), values, 0.0))

    def count(self, where: Tensor) -> Tensor:
        """How many rows of the group have a reward and meet a condition ([N] bool)."""
        return self._sum((self.used & where).to(torch.float64))

    def mean(self, values: Tensor, where: Tensor | None = None) -> Tensor:
        """Mean over the rows that count."""
        return self.sum(values, where) / self.count(self.counted(values, where))

    def std(self, values: Tensor, where: Tensor | None = None, *, ddof: int = 1) -> Tensor:
        """Standard deviation over the rows that count; NaN with `ddof` or fewer."""
        free = self.count(self.counted(values, where)) - ddof
        square = self.sum((values - self.mean(values, where)) ** 2, where)
        return (square / torch.where(free > 0, free, torch.nan)).sqrt()

    def max(self, values: Tensor, where: Tensor | None = None) -> Tensor:
        """Largest value of the rows that count."""
        result = self.segments.max(torch.where(self.counted(values, where), values, -torch.inf))
        return self.segments.rows(torch.where(result == -torch.inf, torch.nan, result))

    def min(self, values: Tensor, where: Tensor | None = None) -> Tensor:
        """Smallest value of the rows that count."""
        return -self.max(-values, where)

    def rank(self, values: Tensor, where: Tensor | None = None) -> Tensor:
        """Rank of a row among those that count, 1 for the smallest value; ties share the lowest rank."""
        counted = self.counted(values, where)
        filled = torch.where(counted, values, torch.inf)
        order = self.segments.order(filled)
        index, ordered = self.segments.index[order], filled[order]
        position = Segments.of(index, self.segments.count).position()
        first = torch.ones_like(order, dtype=torch.bool)
        first[1:] = (index[1:] != index[:-1]) | (ordered[1:] != ordered[:-1])
        begins = torch.where(first, torch.arange(len(order), device=order.device), 0).cummax(dim=0).values
        result = torch.empty_like(filled)
        result[order] = (position[begins] + 1).to(filled.dtype)
        return torch.where(counted, result, torch.nan)

    def quantile(self, values: Tensor, share: float, where: Tensor | None = None) -> Tensor:
        """Quantile of the rows that count, interpolated linearly between neighbours."""
        counted = self.counted(values, where)
        filled = torch.where(counted, values, torch.inf)
        ordered = filled[self.segments.order(filled)]
        size = self.segments.size()
        start = torch.cumsum(size, dim=0) - size
        count = self.segments.sum(counted.to(torch.float64))
        at = (count - 1).clamp(min=0) * share
        low = start + at.floor().long()
        high = start + at.ceil().long()
        below, above = ordered[low], ordered[high]
        # Avoids 0 · inf if the upper neighbour is infinite.
        between = torch.where(above == below, 0.0, above - below)
        result = below + (at - at.floor()) * between
        return self.segments.rows(torch.where(count > 0, result, torch.nan))

    def _sum(self, values: Tensor) -> Tensor:
        return self.segments.rows(self.segments.sum(values))
