"""Samples of the rows on which most rules can be ruled out."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch
from torch import Tensor

from advcli.matching.logged import Logged, rounding
from advcli.tensors.masks import chosen, finite
from advcli.tensors.segments import Segments, Spread

SIZE = 4096
"""Size of the sample on which a rule is tried before it is run on all rows."""
FIRST = 512
"""Size of the small sample that selects the rules worth trying on the larger one."""
_ODD = 24
PER_DATA_SET = ("weights",)
"""Columns that have no entry per row."""


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of some rows and the spread of their rewards, cached.

    Attributes:
        rewards: [N] float64, NaN where missing.
        index: [N] int64, the group of each row; -1 for none.
    """

    rewards: Tensor
    index: Tensor

    @cached_property
    def used(self) -> Tensor:
        """[N] bool, the rows with a group."""
        return self.index >= 0

    @cached_property
    def segments(self) -> Segments:
        """The groups of the rows with one."""
        return Segments.of(chosen(self.index, self.used))

    @cached_property
    def valid(self) -> Tensor:
        """[N] bool, the rows with a group and a reward."""
        return self.used & finite(self.rewards)

    @cached_property
    def _measured(self) -> tuple[Tensor, Tensor]:
        """[G] largest |reward| and standard deviation (ddof 1) of each group; 0 if undefined."""
        segments = self.segments
        if not bool(self.valid.any()):
            nothing = self.rewards.new_zeros(segments.count)
            return nothing, nothing
        if not bool(self.valid.all()):
            segments = Segments.of(self.index[self.valid], segments.count)
        rewards = chosen(self.rewards, self.valid)
        extent = segments.max(rewards.abs()).clamp(min=0)
        return extent, Spread.of(rewards, segments).std(1).nan_to_num(nan=0.0)

    @property
    def stds(self) -> Tensor:
        """[G] standard deviation (ddof 1) of the rewards of each group; 0 if undefined."""
        return self._measured[1]

    @cached_property
    def extent(self) -> Tensor:
        """[N] largest |reward| of the row's group."""
        return self._rows(self._measured[0])

    @cached_property
    def std(self) -> Tensor:
        """[N] standard deviation (ddof 1) of the rewards of the row's group."""
        return self._rows(self._measured[1])

    @cached_property
    def sizes(self) -> Tensor:
        """[N] float64, size of the row's group."""
        return self._rows(self.segments.size().to(self.rewards.dtype))

    def _rows(self, of_group: Tensor) -> Tensor:
        if not len(of_group):
            return torch.zeros_like(self.rewards)
        if bool(self.used.all()):
            return self.segments.rows(of_group)
        return of_group[self.index.clamp(min=0)]


@dataclass(frozen=True, eq=False)
class Slice:
    """Some rows, in whole groups, with their logged advantages.

    Attributes:
        rows: [n] int64 row numbers in file order; None for all rows.
        columns: the estimators' columns for these rows.
        logged: their logged advantages.
        whole: whether they are whole steps.
        groups: their groups.
        blur: how far a logged reward may be from the one that was used.
        predictions: cached advantages, by the computation of the rule.
        roundings: cached results of `allowed`.
    """

    rows: Tensor | None
    columns: Mapping[str, Tensor]
    logged: Logged
    whole: bool
    groups: Groups
    blur: float = 0.0
    predictions: dict[object, Tensor | None] = field(default_factory=dict, repr=False)
    roundings: dict[object, tuple[Tensor, Tensor | None]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        columns: Mapping[str, Tensor],
        logged: Logged,
        rows: Tensor | None,
        *,
        whole: bool,
        blur: float = 0.0,
    ) -> "Slice":
        """Select the rows.

        Args:
            columns: of all rows, including the group.
            logged: of all rows.
            rows: [n] int64 row numbers in file order, or None for all.
            whole: whether they form whole steps.
            blur: how far a logged reward may be from the one that was used.
        """
        if rows is not None:
            columns = {
                name: column if name in PER_DATA_SET else column[rows] for name, column in columns.items()
            }
            columns = {
                **columns,
                "group": _renumbered(columns["group"]),
                "step": _renumbered(columns["step"]),
            }
            logged = logged.take(rows)
        return cls(rows, columns, logged, whole, Groups(columns["rewards"], columns["group"]), blur)

    def against(self, logged: Logged, blur: float) -> "Slice":
        """The rows with another tolerance; cached advantages are kept.

        Args:
            logged: of all rows, the same values with another tolerance.
            blur: how far a logged reward may be from the one that was used.
        """
        return replace(self, logged=replace(logged, values=self.logged.values), blur=blur)

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.groups.index)

    @cached_property
    def given(self) -> "Given":
        """The logged advantages to compare with."""
        return Given.of(self)

    def allowed(self, eps: float | None) -> tuple[Tensor, Tensor | None]:
        """The rounding error allowed for each compared row, given an eps; see `logged.rounding`.

        Capped at (n − 1) / √n, the largest possible |A| in a group of n rows.

        Returns:
            [m], and [m] bool where it is within the tolerance; None for everywhere.
        """
        key = (eps, self.blur, self.logged.tolerance, self.logged.unit)
        if key not in self.roundings:
            rewards, groups = self.columns["rewards"], self.groups
            off = rounding(rewards, groups.extent, groups.std, eps, unit=self.logged.unit, blur=self.blur)
            if eps is not None:
                off = torch.minimum(
                    off, (self.groups.sizes - 1).clamp(min=0) / self.groups.sizes.clamp(min=1).sqrt()
                )
            off = chosen(off, self.given.compared)
            clear = off <= self.logged.tolerance
            self.roundings[key] = (off, None if bool(clear.all()) else clear)
        return self.roundings[key]

    def compared(self) -> Tensor:
        """[n] bool, the rows with a group and a logged advantage."""
        return self.given.compared

    @cached_property
    def sorted_values(self) -> Tensor:
        """[m] the compared logged advantages, in ascending order."""
        return self.given.values.sort().values

    @cached_property
    def one_step_each(self) -> bool:
        """Whether every group lies within one step."""
        segments, step = self.groups.segments, chosen(self.columns["step"], self.groups.used)
        if not len(step):
            return True
        return bool((segments.rows(segments.parent(step)) == step).all())


@dataclass(frozen=True, eq=False)
class Given:
    """The logged advantages of some rows, with their tolerances.

    Attributes:
        compared: [n] bool, the rows with a group and a logged advantage.
        values: [m] float64, their advantages.
        room: [m] or a number, the difference at which a row still counts as nearly equal.
        exact: [m], the difference at which a row still counts as equal: the digits of the log, plus the rounding error
            at the largest |A| of its group.
        empty: [n] bool, rows with a group but no logged advantage; None if there are none.
        inner: for each of "not 0", "not at a bound" and "neither": [m] bool, and how many of them are not 0.
    """

    compared: Tensor
    values: Tensor
    room: Tensor | float
    exact: Tensor
    empty: Tensor | None
    inner: tuple[tuple[Tensor, int], ...]

    @classmethod
    def of(cls, part: Slice) -> "Given":
        """The logged advantages of a slice."""
        present = finite(part.logged.values)
        compared = part.groups.used & present
        values = chosen(part.logged.values, compared)
        empty = part.groups.used & ~present
        digits = part.logged.stored
        coarse = digits.room(values) if digits.relative else digits.absolute
        segments = Segments.dense(chosen(part.groups.index, compared)) if values.numel() else None
        largest = values if segments is None else segments.rows(segments.max(values.abs()))
        room, exact = part.logged.tolerance + coarse, part.logged.unit * largest + coarse
        return cls(compared, values, room, exact, empty if bool(empty.any()) else None, tuple(_inner(values)))


def _inner(values: Tensor) -> list[tuple[Tensor, int]]:
    """The rows left unchanged if rows were set to 0, clipped, or both; zeros among them are not counted as evidence."""
    if not values.numel():
        return []
    non_zero = values != 0
    between = (values != values.max()) & (values != values.min())
    parts = (non_zero, between, non_zero & between)
    return [(part, int((part & non_zero).sum())) for part in parts]


def sample(everything: Slice, size: int) -> Tensor | None:
    """Rows that distinguish most rules: some whole steps, or whole groups if the steps are large.

    Groups that rules treat differently come first: dead ones, singletons, those with missing rewards, odd sizes,
    filtered rows, or the smallest and the largest spread.

    Args:
        everything: all rows.
        size: approximate number of rows to take.

    Returns:
        [n] int64 row numbers in file order; None for all rows, if there are few.
    """
    group, step = everything.columns["group"], everything.columns["step"]
    if len(group) <= 2 * max(size, SIZE):
        return None
    steps = int(step.max()) + 1
    if by_steps(everything, size):
        picked = torch.linspace(0, steps - 1, max(1, int(size * steps / len(step)))).long()
        return torch.nonzero(_marked(picked, steps)[step]).squeeze(1)
    wanted = _marked(_special_groups(everything, size), everything.groups.segments.count)
    chosen_ = (
        wanted[group] if bool(everything.groups.used.all()) else wanted[group.clamp(min=0)] & (group >= 0)
    )
    return torch.nonzero(chosen_).squeeze(1)


def by_steps(everything: Slice, size: int) -> bool:
    """Whether a sample of some size consists of whole steps.

    Args:
        everything: all rows.
        size: its approximate number of rows.
    """
    step = everything.columns["step"]
    return len(step) / (int(step.max()) + 1) <= size / 2 and everything.one_step_each


def _marked(numbers: Tensor, count: int) -> Tensor:
    """[count] bool, True at the numbers."""
    marked = torch.zeros(count, dtype=torch.bool)
    marked[numbers] = True
    return marked


def _special_groups(everything: Slice, size: int) -> Tensor:
    """The groups to sample."""
    groups = everything.groups
    segments, stds = groups.segments, groups.stds
    given = chosen(everything.logged.values, groups.used)
    sizes = segments.size()
    valid = sizes
    if not bool(groups.valid.all()):
        valid = segments.sum(chosen(groups.valid, groups.used).double()).long()
    live = stds > 0
    some = segments.max(given.abs().nan_to_num(nan=0.0)) > 0
    zeros = segments.max((given == 0).double()) > 0
    count = max(1, int(size * segments.count / max(len(given), 1)))
    # At most an eighth of the sample per special property, since few large groups fit into it.
    few = min(_ODD, max(1, count // 8))
    odd = (
        ~live & some,
        ~live,
        valid == 1,
        valid < sizes,
        sizes != torch.bincount(sizes).argmax(),
        live & zeros,
    )
    picked = [torch.nonzero(mask).squeeze(1)[:few] for mask in odd]
    alive = int(live.sum())
    wide = torch.where(live, stds, torch.inf)
    picked.append(wide.topk(min(few, alive), largest=False).indices)
    picked.append(stds.topk(min(few, alive)).indices)
    picked.append(torch.linspace(0, segments.count - 1, count).long())
    result: Tensor = torch.cat(picked).unique()
    return result if count > len(odd) else result[:: -(-len(result) // (2 * count))]


def _renumbered(index: Tensor) -> Tensor:
    """The segments renumbered without gaps, in ascending order; -1 stays."""
    # Offset by one: slot 0 is for rows without a segment.
    seen = torch.zeros(int(index.max()) + 2 if len(index) else 1, dtype=torch.int64)
    seen[index + 1] = 1
    seen[0] = 0
    return (torch.cumsum(seen, dim=0) - 1)[index + 1].where(index >= 0, -1)
