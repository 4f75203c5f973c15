"""Compares two datasets row by row."""

from collections.abc import Mapping

import pandas as pd
import torch
from torch import Tensor

from advcli.records.results.between import RowPairs
from advcli.stats.comparison import rank_agreement
from advcli.stats.figures import mean
from advcli.stats.inference.paired_prompts import moves
from advcli.tensors.segments import signs


def join(a: Mapping[str, Tensor], b: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Pair the rows of two datasets that agree in every key column.

    Duplicate keys are paired by their order: the second of A with the second of B.

    Args:
        a: [N] int64 key columns of A; rows with a negative number are excluded.
        b: the same columns of B.

    Returns:
        [J] int64 rows of A in ascending order, and [J] their partners in B.

    Example:
        >>> first, second = join({"id": torch.tensor([5, 5, 7])}, {"id": torch.tensor([7, 5, 9])})
        >>> first.tolist(), second.tolist()
        ([0, 2], [1, 0])
    """
    left, right = (_keyed(side) for side in (a, b))
    # An inner merge keeps the order of the left rows.
    result = left.merge(right, on=[*a, "@again"], suffixes=("_a", "_b"))
    return torch.tensor(result["@_a"].to_numpy()), torch.tensor(result["@_b"].to_numpy())


def _keyed(side: Mapping[str, Tensor]) -> pd.DataFrame:
    frame = pd.DataFrame({name: column.numpy() for name, column in side.items()})
    frame["@"] = range(len(frame))
    frame = frame[(frame[list(side)] >= 0).all(axis=1)].copy()
    frame["@again"] = frame.groupby(list(side)).cumcount()
    return frame


def row_pairs(
    a: tuple[Tensor, Tensor, Tensor], b: tuple[Tensor, Tensor, Tensor], joined: tuple[Tensor, Tensor], by: str
) -> RowPairs:
    """What changed between two datasets, row by row.

    Args:
        a: [N] float64 rewards of A, NaN where missing; [N] float original advantages, NaN where undefined; [N] int64
            groups, -1 for excluded rows.
        b: the same for B.
        joined: [J] int64 rows of A and [J] their partners in B.
        by: the key they were paired by, in words.
    """
    rows_a, rows_b = joined
    reward_a, reward_b = a[0][rows_a].double(), b[0][rows_b].double()
    rewarded = reward_a.isfinite() & reward_b.isfinite()
    move = moves(reward_a[rewarded], reward_b[rewarded])
    sign_a, sign_b = signs(a[1], a[2].clamp(min=0))[rows_a], signs(b[1], b[2].clamp(min=0))[rows_b]
    first, second, group = a[1][rows_a], b[1][rows_b], a[2][rows_a]
    both = ~(first.isnan() | second.isnan())
    return RowPairs(
        by=by,
        rows=len(rows_a),
        only_a=int((a[2] >= 0).sum()) - len(rows_a),
        only_b=int((b[2] >= 0).sum()) - len(rows_a),
        rewarded=int(rewarded.sum()),
        changed=int((move != 0).sum()),
        up=int((move > 0).sum()),
        down=int((move < 0).sum()),
        difference=mean(reward_b[rewarded] - reward_a[rewarded]),
        advantages=int(both.sum()),
        sign_changes=mean(sign_a[both] != sign_b[both]),
        flips=mean(sign_a[both] * sign_b[both] < 0),
        rank_agreement=rank_agreement(
            first[both], second[both], group[both], int(a[2].max()) + 1 if len(a[2]) else 0
        ),
    )
