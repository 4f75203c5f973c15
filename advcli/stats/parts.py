"""How several rewards that are summed play together."""

from collections.abc import Sequence

import torch
from torch import Tensor

from advcli.records.inspection import Part, Parts
from advcli.segments import Segments, Spread, rewarded, signs
from advcli.stats.health import dead_groups

# Two advantages of a group that differ by less than this share of its largest |A| are one: sums of parts round.
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
        group: [N] int64 in [0, G), -1 for rows that belong nowhere.
        count: G.

    Returns:
        The figures over the rows that have a sum; a part that is missing there counted 0 in the sum and does
        here.
    """
    valid = rewarded(rewards, group)
    segments = Segments.of(group[valid], count)
    total = rewards[valid]
    weighed = values[valid].nan_to_num(nan=0.0) * torch.tensor([weight for _, weight in weights])
    centred = [Spread.of(column, segments).centred() for column in weighed.unbind(1)]
    live = (segments.size() > 1) & ~dead_groups(total, segments)[0]
    summed = Spread.of(total, segments).centred()
    rows = max(1, len(total))
    power = float((summed**2).sum())
    found = [
        Part(
            name=name,
            weight=weight,
            share=float((deviation * summed).sum()) / power if power else torch.nan,
            variance=float((deviation**2).sum()) / rows,
            saturated=_saturated(values[:, place]),
            constant_in_live=int((live & dead_groups(column, segments)[0]).sum()),
        )
        for place, ((name, weight), deviation, column) in enumerate(
            zip(weights, centred, weighed.unbind(1), strict=True)
        )
    ]
    rows_of_live = segments.rows(live)
    conflict = _conflicts(centred, segments)[rows_of_live]
    collapsed = collapses(values[valid], advantages[valid], segments)
    return Parts(
        parts=tuple(found),
        conflicts=float(conflict.double().mean()) if conflict.numel() else torch.nan,
        collapsed_rows=int(collapsed.sum()),
        collapsed_groups=torch.unique(segments.index[collapsed]).numel(),
    )


def collapses(values: Tensor, advantages: Tensor, segments: Segments) -> Tensor:
    """Rows that share their advantage with a row of their group that has other rewards.

    Args:
        values: [n, K] float64, the rewards; two missing ones are the same.
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
    # A class of rows of one group and one advantage has collapsed if two vectors are in it.
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


def _saturated(column: Tensor) -> float:
    """Share of the rows at the largest value of the column."""
    column = column[torch.isfinite(column)]
    return float((column == column.max()).double().mean()) if column.numel() else torch.nan


def _conflicts(centred: Sequence[Tensor], segments: Segments) -> Tensor:
    """[n] bool: one part is above its group mean and another below."""
    direction = torch.stack([signs(deviation, segments.index) for deviation in centred])
    return (direction > 0).any(dim=0) & (direction < 0).any(dim=0)
