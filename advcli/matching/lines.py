"""Logged advantages beside the rewards that an estimator may have been given: in a group both lie on one rising line."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from advcli.matching.sample import Slice
from advcli.tensors.segments import Segments

ROWS = 3
"""A line through fewer rows leaves nothing over."""
# Times the room of the log that a row may be off before the estimator is known.
_LOOSE = 4.0
# Times the room of the log within which a fit is worth going on with, and the share of |A|² that is too much all the same.
_NEARBY, _FAR = 1e3, 1e-2


@dataclass(frozen=True)
class Lines:
    """The logged advantages of some rows, to be laid beside rewards that rise with them in a line.

    Attributes:
        use: [N] bool, the rows that are compared.
        lines: [M] the group of each, or 0 for all where groups are too small to tell.
        group: [M] the group of each.
        values: [M] the logged advantages, centred in their group.
        room: [M] how far each may be off.
        exact: [M] how far it is off if the log's digits are all that is in the way.
    """

    use: Tensor
    lines: Segments
    group: Segments
    values: Tensor
    room: Tensor
    exact: Tensor

    @classmethod
    def of(cls, part: Slice) -> "Lines":
        """Look at the rows once."""
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
        """The same with one slope for all groups, as an estimator leaves it that divides by nothing."""
        return replace(self, lines=Segments.of(torch.zeros_like(self.group.index), 1))

    @property
    def apart(self) -> bool:
        """Whether each group has a slope of its own."""
        return self.lines.count > 1

    @property
    def told(self) -> bool:
        """Whether there is anything to be told."""
        return len(self.values) > 2 * ROWS and bool((self.values.abs() > self.room).any())

    @cached_property
    def near(self) -> float:
        """A sum of squares that is not far from what the log's digits leave."""
        return min(_FAR, float((_NEARBY * self.room / self.size).square().sum()))

    @cached_property
    def size(self) -> float:
        """The length of the advantages, the unit of `left`."""
        return float(self.values.norm())

    def left(self, rewards: Tensor) -> Tensor:
        """[M] how far each row lies from the rising line of its group, in units of `size`; inf if it has no reward.

        Args:
            rewards: [N] float64.
        """
        given = rewards[self.use]
        centred = given - self.group.rows(self.group.mean(given))
        spread = self.lines.sum(centred * centred)
        slope = torch.where(spread > 0, self.lines.sum(centred * self.values) / spread, 0.0).clamp(min=0)
        left = self.values - self.lines.rows(slope) * centred
        return left.nan_to_num(nan=torch.inf) / self.size

    def off(self, rewards: Tensor, factor: float = 1.0) -> Tensor:
        """[M] how far each row lies from one line through all groups, in units of `size`.

        Args:
            rewards: [N] float64.
            factor: the slope of the line.
        """
        given = rewards[self.use]
        return (self.values - factor * (given - self.group.rows(self.group.mean(given)))) / self.size

    def factor(self, rewards: Tensor) -> float | None:
        """The slope that the lines of all groups have; None where they differ, or it is 1.

        Args:
            rewards: [N] float64.
        """
        given = rewards[self.use]
        centred = given - self.group.rows(self.group.mean(given))
        slope = float((centred * self.values).sum() / (centred * centred).sum().clamp(min=1e-300))
        alike = self.holds(self.off(rewards, slope)) and not self.holds(self.off(rewards))
        return slope if alike else None

    def holds(self, left: Tensor) -> bool:
        """Whether no row lies farther from its line than the log's digits allow."""
        return bool((left.abs() * self.size <= self.room).all())

    def to_the_last_digit(self, left: Tensor) -> bool:
        """Whether no row lies farther from its line than its last digit."""
        return bool((left.abs() * self.size <= self.exact).all())
