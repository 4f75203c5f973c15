"""A part of the rows on which most rules can be ruled out."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from advcli.matching.logged import Logged
from advcli.segments import Segments, Spread

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
        blur: how far a logged reward may be from the one that was used.
    """

    rows: Tensor | None
    columns: Mapping[str, Tensor]
    logged: Logged
    whole: bool
    extent: Tensor
    std: Tensor
    blur: float = 0.0

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
        """Cut the rows out.

        Args:
            columns: of all rows, the group included.
            logged: of all rows.
            rows: [n] int64 row numbers in file order, or None for all.
            whole: whether they make whole steps.
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
        extent, std = _spread(columns["rewards"], columns["group"])
        return cls(rows, columns, logged, whole, extent, std, blur)

    def compared(self) -> Tensor:
        """[n] bool, the rows with a group and a logged advantage."""
        return self.logged.values.isfinite() & (self.columns["group"] >= 0)


def sample(columns: Mapping[str, Tensor], logged: Logged, size: int, everything: Slice) -> Slice:
    """Rows that tell most rules apart: some whole steps, or where steps are large, some whole groups.

    Groups that rules treat in their own way come first: dead ones, of one row, with missing rewards, of odd sizes,
    with filtered rows, with the smallest and the largest spread.

    Args:
        columns: of all rows, the group included.
        logged: of all rows.
        size: about how many rows to take.
        everything: all rows, returned where they are few.
    """
    group, step = columns["group"], columns["step"]
    if len(group) <= 2 * size:
        return everything
    steps = int(step.max()) + 1
    if len(step) / steps <= size / 2 and _inside(group, step):
        many = max(1, int(size * steps / len(step)))
        picked = torch.linspace(0, steps - 1, many).long().unique()
        rows = torch.nonzero(torch.isin(step, picked)).squeeze(1)
        return Slice.of(columns, logged, rows, whole=True, blur=everything.blur)
    rows = torch.nonzero(torch.isin(group, _telling(everything, size))).squeeze(1)
    return Slice.of(columns, logged, rows, whole=False, blur=everything.blur)


def _inside(group: Tensor, step: Tensor) -> bool:
    """Whether no group reaches over several steps."""
    used = group >= 0
    segments = Segments.of(group[used])
    of_group = segments.rows(segments.within(step[used]))
    return bool((of_group == step[used]).all())


def _telling(everything: Slice, size: int) -> Tensor:
    """Numbers of the groups to look at."""
    used = everything.columns["group"] >= 0
    segments = Segments.of(everything.columns["group"][used])
    rewards, given = everything.columns["rewards"][used], everything.logged.values[used]
    std = everything.std[used]
    valid = rewards.isfinite().double()
    sizes = segments.size()
    some = segments.max(given.abs().nan_to_num(nan=0.0)) > 0
    live = segments.max(std) > 0
    many = max(1, int(size * segments.count / len(rewards)))
    # Groups of thousands of rows are few in a sample, whatever is odd about them.
    few = min(_ODD, max(1, many // 8))
    odd = (
        ~live & some,
        ~live,
        segments.sum(valid) == 1,
        segments.sum(valid) < sizes,
        sizes != sizes.mode().values,
        live & (segments.sum(((given == 0) & (std > 0)).double()) > 0),
    )
    picked = [torch.nonzero(mask).squeeze(1)[:few] for mask in odd]
    order = torch.where(live, segments.max(std), torch.nan).argsort()
    alive = int(live.sum())
    picked += [order[:few], order[max(alive - few, 0) : alive]]
    picked.append(torch.linspace(0, segments.count - 1, many).long())
    found: Tensor = torch.cat(picked).unique()
    return found if many > len(odd) else found[:: -(-len(found) // (2 * many))]


def _renumbered(index: Tensor) -> Tensor:
    """The same segments without gaps, in order of their number; -1 stays."""
    used = index >= 0
    dense = torch.full_like(index, -1)
    dense[used] = torch.unique(index[used], return_inverse=True)[1]
    return dense


def _spread(rewards: Tensor, group: Tensor) -> tuple[Tensor, Tensor]:
    """[n] largest |reward| and standard deviation of each row's group; 0 where there is none."""
    valid = rewards.isfinite() & (group >= 0)
    if not valid.any():
        return torch.zeros_like(rewards), torch.zeros_like(rewards)
    segments = Segments.of(group[valid], int(group.max()) + 1)
    index = group.clamp(min=0)
    extent = segments.max(rewards[valid].abs()).clamp(min=0)[index]
    return extent, Spread.of(rewards[valid], segments).std(1).nan_to_num(nan=0.0)[index]
