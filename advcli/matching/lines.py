"""Fits logged advantages against candidate rewards: within a group, advantages are a rising line over the rewards."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from advcli.matching.sample import Slice
from advcli.tensors.segments import Segments

ROWS = 3
"""A line through fewer rows fits exactly."""
# Multiple of the log's tolerance that a row may be off while the estimator is unknown.
_LOOSE = 4.0
# A fit is pursued within this multiple of the log's tolerance, but only below this share of |A|².
_NEARBY, _FAR = 1e3, 1e-2


@dataclass(frozen=True)
class Lines:
    """The logged advantages of some rows, prepared for fitting lines over rewards.

    Attributes:
        use: [N] bool, the compared rows.
        lines: [M] the line of each row: its group, or 0 for all if groups are too small for a line each.
        group: [M] the group of each row.
        values: [M] the logged advantages, centred in their group.
        room: [M] tolerance of each row.
        exact: [M] tolerance if only the log's digits cause a difference.
    """

    use: Tensor
    lines: Segments
    group: Segments
    values: Tensor
    room: Tensor
    exact: Tensor

    @classmethod
    def of(cls, part: Slice) -> "Lines":
        """The lines of the compared rows."""
        use = part.compared() & part.columns["rewards"].isfinite()
        group = Segments.dense(part.columns["group"][use])
        logged = part.logged.values[use]
        values = logged - group.rows(group.mean(logged))
        room = _LOOSE * part.logged.room()[use]
        exact = _LOOSE * (part.logged.stored.room(logged) + part.logged.exact)
        large = group.size() >= ROWS
        lines = group if int(large.sum()) >= ROWS else Segments.of(torch.zeros_like(group.index), 1)
        return cls(use, lines, group, values, room, exact)

    def joined(self) -> "Lines":
        """The lines with one slope for all groups, as for an estimator that doesn't divide."""
        return replace(self, lines=Segments.of(torch.zeros_like(self.group.index), 1))

    @property
    def separate(self) -> bool:
        """Whether each group has its own slope."""
        return self.lines.count > 1

    @property
    def informative(self) -> bool:
        """Whether there are enough non-zero rows to fit anything."""
        return len(self.values) > 2 * ROWS and bool((self.values.abs() > self.room).any())

    @cached_property
    def near(self) -> float:
        """The sum of squares up to which a fit is worth pursuing."""
        return min(_FAR, float((_NEARBY * self.room / self.size).square().sum()))

    @cached_property
    def size(self) -> float:
        """The norm of the advantages, the unit of the residuals."""
        return float(self.values.norm())

    def residuals(self, rewards: Tensor) -> Tensor:
        """[M] each row's distance from the rising line of its group, in units of `size`; inf without a reward.

        Args:
            rewards: [N] float64.
        """
        given = rewards[self.use]
        centred = given - self.group.rows(self.group.mean(given))
        spread = self.lines.sum(centred * centred)
        slope = torch.where(spread > 0, self.lines.sum(centred * self.values) / spread, 0.0).clamp(min=0)
        residuals = self.values - self.lines.rows(slope) * centred
        return residuals.nan_to_num(nan=torch.inf) / self.size

    def residuals_at(self, rewards: Tensor, factor: float = 1.0) -> Tensor:
        """[M] each row's distance from one line of a given slope for all groups, in units of `size`.

        Args:
            rewards: [N] float64.
            factor: the slope of the line.
        """
        given = rewards[self.use]
        return (self.values - factor * (given - self.group.rows(self.group.mean(given)))) / self.size

    def factor(self, rewards: Tensor) -> float | None:
        """The common slope of all groups' lines; None if they differ, or if it is 1.

        Args:
            rewards: [N] float64.
        """
        given = rewards[self.use]
        centred = given - self.group.rows(self.group.mean(given))
        slope = float((centred * self.values).sum() / (centred * centred).sum().clamp(min=1e-300))
        common = self.holds(self.residuals_at(rewards, slope)) and not self.holds(self.residuals_at(rewards))
        return slope if common else None

    def holds(self, residuals: Tensor) -> bool:
        """Whether every row is within tolerance of its line."""
        return bool((residuals.abs() * self.size <= self.room).all())

    def to_the_last_digit(self, residuals: Tensor) -> bool:
        """Whether every row is on its line up to its last digit."""
        return bool((residuals.abs() * self.size <= self.exact).all())
