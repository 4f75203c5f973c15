"""A part of the rows on which most rules can be ruled out."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from advcli.matching.logged import Logged
from advcli.segments import Segments

SIZE = 4096
_ODD = 24
PER_DATA_SET = ("weights",)
"""Columns that have no entry per row."""


@dataclass(frozen=True)
class Slice:
    """Some rows, with whole groups, and what a computed advantage is compared with.

    Attributes:
        rows: [n] int64 row numbers in file order; None for all rows.
        columns: what an estimator may need, of these rows.
        logged: their logged advantages.
        whole: whether the steps are whole too.
        extent: [n] largest |reward| of the row's group.
        std: [n] standard deviation (ddof 1) of the rewards of the row's group.
    """

    rows: Tensor | None
    columns: Mapping[str, Tensor]
    logged: Logged
    whole: bool
    extent: Tensor
    std: Tensor

    @classmethod
    def of(
        cls, columns: Mapping[str, Tensor], logged: Logged, rows: Tensor | None, *, whole: bool
    ) -> "Slice":
        """Cut the rows out.

        Args:
            columns: of all rows, the group included.
            logged: of all rows.
            rows: [n] int64 row numbers in file order, or None for all.
            whole: whether they make whole steps.
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
        extent, std = _spread(columns["rewards"], columns["group"])
        return cls(rows, columns, logged, whole, extent, std)

    def compared(self) -> Tensor:
        """[n] bool, the rows with a group and a logged advantage."""
        return self.logged.values.isfinite() & (self.columns["group"] >= 0)


def sample(columns: Mapping[str, Tensor], logged: Logged, size: int = SIZE) -> Slice:
    """Rows that tell most rules apart: some whole steps, or where steps are large, some whole groups.

    Groups that rules treat in their own way come first: dead ones, of one row, with missing rewards, of odd sizes,
    with filtered rows, with the smallest and the largest spread.

    Args:
        columns: of all rows, the group included.
        logged: of all rows.
        size: about how many rows to take.
    """
    group, step = columns["group"], columns["step"]
    if len(group) <= 2 * size:
        return Slice.of(columns, logged, None, whole=True)
    steps = int(step.max()) + 1
    if len(step) / steps <= size / 2 and _inside(group, step):
        many = max(1, int(size * steps / len(step)))
        picked = torch.linspace(0, steps - 1, many).long().unique()
        rows = torch.nonzero(torch.isin(step, picked)).squeeze(1)
        return Slice.of(columns, logged, rows, whole=True)
    rows = torch.nonzero(torch.isin(group, _telling(columns, logged, size))).squeeze(1)
    return Slice.of(columns, logged, rows, whole=False)


def _inside(group: Tensor, step: Tensor) -> bool:
    """Whether no group reaches over several steps."""
    used = group >= 0
    segments = Segments.of(group[used])
    of_group = segments.rows(segments.within(step[used]))
    return bool((of_group == step[used]).all())


def _telling(columns: Mapping[str, Tensor], logged: Logged, size: int) -> Tensor:
    """Numbers of the groups to look at."""
    used = columns["group"] >= 0
    segments = Segments.of(columns["group"][used])
    rewards, given = columns["rewards"][used], logged.values[used]
    _, std = _spread(rewards, segments.index)
    valid = rewards.isfinite().double()
    sizes = segments.size()
    some = segments.max(given.abs().nan_to_num(nan=0.0)) > 0
    live = segments.max(std) > 0
    odd = (
        ~live & some,
        ~live,
        segments.sum(valid) == 1,
        segments.sum(valid) < sizes,
        sizes != sizes.mode().values,
        live & (segments.sum(((given == 0) & (std > 0)).double()) > 0),
    )
    picked = [torch.nonzero(mask).squeeze(1)[:_ODD] for mask in odd]
    spread = torch.where(live, segments.max(std), torch.nan)
    order = spread.argsort()
    picked += [order[:_ODD], order[int(live.sum()) - _ODD : int(live.sum())].clamp(min=0)]
    many = max(1, int(size * segments.count / len(rewards)))
    picked.append(torch.linspace(0, segments.count - 1, many).long())
    rows: Tensor = torch.cat(picked).unique()
    return rows


def _renumbered(index: Tensor) -> Tensor:
    """The same segments without gaps, in order of their number; -1 stays."""
    used = index >= 0
    dense = torch.full_like(index, -1)
    dense[used] = torch.unique(index[used], return_inverse=True)[1]
    return dense


def _spread(rewards: Tensor, group: Tensor) -> tuple[Tensor, Tensor]:
    """[n] largest |reward| and standard deviation of each row's group; 0 where there is none."""
    extent, std = torch.zeros_like(rewards), torch.zeros_like(rewards)
    valid = rewards.isfinite() & (group >= 0)
    if not valid.any():
        return extent, std
    segments = Segments.of(group[valid], int(group.max()) + 1)
    values = rewards[valid]
    centred = values - segments.rows(segments.mean(values))
    variance = segments.sum(centred**2) / (segments.size() - 1).clamp(min=1)
    alive = segments.max(values) > segments.min(values)
    index = group.clamp(min=0)
    extent = segments.max(values.abs()).clamp(min=0)[index]
    return extent, torch.where(alive, variance.sqrt(), 0.0)[index]
