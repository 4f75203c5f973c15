"""How the summed parts of a reward interact: shares, conflicts, collapsed advantages."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from advcli.records.mergeable import Mergeable
from advcli.records.results.inspection import Part, Parts
from advcli.stats.health import dead_groups
from advcli.tensors.masks import rewarded
from advcli.tensors.segments import Segments, Spread, signs

# Advantages of a group that differ by less than this share of its largest |A| are equal: sums of parts are rounded.
_SAME = 1e-9


def parts(
    weights: Sequence[tuple[str, float]],
    values: Tensor,
    rewards: Tensor,
    advantages: Tensor,
    group: Tensor,
    count: int,
) -> Parts:
    """Describe the parts of a reward.

    Args:
        weights: name and weight of each part.
        values: [N, K] float64, the parts before their weights, NaN where missing.
        rewards: [N] float64, their weighted sum, NaN where missing.
        advantages: [N] float, NaN where undefined.
        group: [N] int64 in [0, G), -1 for rows without a group.
        count: G.

    Returns:
        The figures over the rows that have a sum; a part missing there counts as 0, as it did in the sum.
    """
    return PartsCount.of(weights, values, rewards, advantages, group, count).figures(weights)


@dataclass(frozen=True)
class PartCount:
    """Counts for one part.

    Attributes:
        along: sum of its deviations from the group means times those of the total.
        squares: sum of its squared deviations.
        high: its largest value; NaN if there is none.
        at_max: rows at the largest value.
        valid: rows that have a value.
        constant_in_live: groups where it is constant although the sum is not.
    """

    along: float
    squares: float
    high: float
    at_max: int
    valid: int
    constant_in_live: int

    def __add__(self, other: "PartCount") -> "PartCount":
        high = max((one.high for one in (self, other) if one.valid), default=torch.nan)
        return PartCount(
            along=self.along + other.along,
            squares=self.squares + other.squares,
            high=high,
            at_max=sum(one.at_max for one in (self, other) if one.high == high),
            valid=self.valid + other.valid,
            constant_in_live=self.constant_in_live + other.constant_in_live,
        )


@dataclass(frozen=True)
class PartsCount(Mergeable):
    """Counts for the parts of a reward, mergeable across parts of the data with whole groups.

    Attributes:
        parts: the counts of each part.
        rows: rows that have a sum.
        power: sum of the squared deviations of the sum from the group means.
        live_rows: rows of live groups.
        conflicts: live rows that one part raises and another lowers.
        collapsed_rows: rows that share their advantage with a row that has other rewards.
        collapsed_groups: groups with such rows.
    """

    parts: tuple[PartCount, ...]
    rows: int
    power: float
    live_rows: int
    conflicts: int
    collapsed_rows: int
    collapsed_groups: int

    @classmethod
    def of(
        cls,
        weights: Sequence[tuple[str, float]],
        values: Tensor,
        rewards: Tensor,
        advantages: Tensor,
        group: Tensor,
        count: int,
    ) -> "PartsCount":
        """Count; arguments as in `parts`."""
        valid = rewarded(rewards, group)
        segments = Segments.of(group[valid], count)
        total = rewards[valid]
        weighed = values[valid].nan_to_num(nan=0.0) * torch.tensor([weight for _, weight in weights])
        centred = [Spread.of(column, segments).centred() for column in weighed.unbind(1)]
        live = (segments.size() > 1) & ~dead_groups(total, segments)[0]
        summed = Spread.of(total, segments).centred()
        conflict = _conflicts(centred, segments)[segments.rows(live)]
        collapsed = collapses(values[valid], advantages[valid], segments)
        return cls(
            parts=tuple(
                PartCount(
                    float((deviation * summed).sum()),
                    float((deviation**2).sum()),
                    *_saturated(values[:, position]),
                    int((live & dead_groups(column, segments)[0]).sum()),
                )
                for position, (deviation, column) in enumerate(zip(centred, weighed.unbind(1), strict=True))
            ),
            rows=len(total),
            power=float((summed**2).sum()),
            live_rows=conflict.numel(),
            conflicts=int(conflict.sum()),
            collapsed_rows=int(collapsed.sum()),
            collapsed_groups=torch.unique(segments.index[collapsed]).numel(),
        )

    def figures(self, weights: Sequence[tuple[str, float]]) -> Parts:
        """The figures from the counts."""
        return Parts(
            parts=tuple(
                Part(
                    name=name,
                    weight=weight,
                    share=part.along / self.power if self.power else torch.nan,
                    variance=part.squares / max(1, self.rows),
                    saturated=part.at_max / part.valid if part.valid else torch.nan,
                    constant_in_live=part.constant_in_live,
                )
                for (name, weight), part in zip(weights, self.parts, strict=True)
            ),
            conflicts=self.conflicts / self.live_rows if self.live_rows else torch.nan,
            collapsed_rows=self.collapsed_rows,
            collapsed_groups=self.collapsed_groups,
        )


def collapses(values: Tensor, advantages: Tensor, segments: Segments) -> Tensor:
    """Rows that share their advantage with a row of their group that has other rewards.

    Args:
        values: [n, K] float64, the rewards; missing values equal each other.
        advantages: [n] float, NaN where undefined.
        segments: their groups.

    Returns:
        [n] bool.

    Example:
        >>> vectors = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
        >>> collapses(vectors, torch.tensor([0.5, 0.5, -1.0]), Segments.of(torch.tensor([0, 0, 0]))).tolist()
        [True, True, False]
    """
    defined = ~advantages.isnan()
    if not defined.any():
        return defined
    level = advantages.double().nan_to_num(nan=0.0)
    largest = segments.rows(segments.max(level.abs()))
    level = (level / torch.where(largest > 0, largest, 1.0) / _SAME).round()
    vector = torch.unique(values.nan_to_num(nan=torch.inf), dim=0, return_inverse=True)[1]
    advantage = torch.unique(level, return_inverse=True)[1]
    shared = _pairs(segments.index, advantage)
    pair = _pairs(shared, vector)
    # Rows with the same group and advantage have collapsed if they have two or more reward vectors.
    owner = torch.zeros(int(pair.max()) + 1, dtype=torch.int64)
    owner[pair[defined]] = shared[defined]
    present = torch.zeros(len(owner), dtype=torch.bool)
    present[pair[defined]] = True
    vectors = torch.bincount(owner[present], minlength=int(shared.max()) + 1)
    return defined & (vectors[shared] > 1)


def _pairs(first: Tensor, second: Tensor) -> Tensor:
    """One code per pair of codes."""
    codes: Tensor = torch.unique(first * (int(second.max()) + 1) + second, return_inverse=True)[1]
    return codes


def _saturated(column: Tensor) -> tuple[float, int, int]:
    """The largest value of the column, the rows at it, and the rows with a value."""
    column = column[torch.isfinite(column)]
    high = float(column.max()) if column.numel() else torch.nan
    return high, int((column == high).sum()), column.numel()


def _conflicts(centred: Sequence[Tensor], segments: Segments) -> Tensor:
    """[n] bool: one part is above its group mean and another below."""
    direction = torch.stack([signs(deviation, segments.index) for deviation in centred])
    return (direction > 0).any(dim=0) & (direction < 0).any(dim=0)
