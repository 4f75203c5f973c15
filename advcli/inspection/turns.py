"""Figures of rollouts with several rows: their numbers of rows, their weight in a mean, and rewards by number of turns."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
import torch
from numpy.typing import NDArray

from advcli.dataset.load import DataSet
from advcli.inspection.anchors import AnchorsCount
from advcli.records.results.inspection import ByTurns, Turns
from advcli.tensors.codes import numbered, paired


@dataclass(frozen=True)
class TurnsCount:
    """Mergeable counts of rollouts, for parts with whole groups.

    Attributes:
        by_turns: number of turns → rollouts, those with a reward, and the sum of their rewards.
        all_rows: rows, including those without a group.
        rows: rows with a reward.
        row_sum: the sum of their rewards.
        several_steps: rollouts with rows of several steps.
        differ: rollouts whose rows have different rewards.
        largest: the largest share of a group's rows that belongs to one rollout, and its share of the rollouts.
        anchors: the states before turns; None without a state column.
    """

    by_turns: Mapping[int, tuple[int, int, float]]
    all_rows: int
    rows: int
    row_sum: float
    several_steps: int
    differ: int
    largest: tuple[float, float]
    anchors: AnchorsCount | None = None

    @classmethod
    def of(cls, data: DataSet, reward: str) -> "TurnsCount | None":
        """Count; None if every rollout is one row without a list of its turns.

        Args:
            data: the rows.
            reward: which reward is that of a rollout, one of `rollouts.REWARDS`.
        """
        rollouts, listed = data.rollouts, data.table.turn_counts
        if rollouts is None and listed is None:
            return None
        per_rollout = data.per_rollout(reward).rows
        grouped = per_rollout.group >= 0
        numbers = torch.from_numpy(listed) if rollouts is None else rollouts.turns
        turns, rewards, group = numbers[grouped], per_rollout.rewards[grouped], per_rollout.group[grouped]
        valid = rewards.isfinite()
        by_turns = {
            number: (
                int((turns == number).sum()),
                int((valid & (turns == number)).sum()),
                float(rewards[valid & (turns == number)].sum()),
            )
            for number in torch.unique(turns).tolist()
        }
        rows = data.rows.rewards[data.rows.rewards.isfinite() & (data.rows.group >= 0)]
        if rollouts is None:
            # As in a trainer that makes each turn a row.
            rows = torch.repeat_interleave(rewards[valid], turns[valid])
        of_group = torch.bincount(group, minlength=data.rows.count)
        rows_of_group = torch.zeros(data.rows.count).index_add_(0, group, turns.float())
        share = (turns / rows_of_group[group]).nan_to_num(nan=0.0)
        # The only rollout of a group has all rows, whatever is counted.
        share = torch.where(of_group[group] > 1, share, 0.0)
        top = int(share.argmax()) if len(share) else 0
        return cls(
            by_turns=by_turns,
            all_rows=len(data.rows.rewards),
            rows=len(rows),
            row_sum=float(rows.sum()),
            several_steps=_several_steps(data),
            differ=0 if rollouts is None else int(rollouts.disagree(data.rows.rewards)[grouped].sum()),
            largest=(float(share[top]), 1 / float(of_group[group[top]])) if len(share) else (0.0, 0.0),
            anchors=AnchorsCount.of(data),
        )

    def __add__(self, other: "TurnsCount") -> "TurnsCount":
        merged = dict(self.by_turns)
        for number, counts in other.by_turns.items():
            before = merged.get(number, (0, 0, 0.0))
            merged[number] = (before[0] + counts[0], before[1] + counts[1], before[2] + counts[2])
        summed = ("all_rows", "rows", "row_sum", "several_steps", "differ")
        return TurnsCount(
            by_turns=merged,
            largest=max(self.largest, other.largest),
            anchors=merged_anchors(self.anchors, other.anchors),
            **{name: getattr(self, name) + getattr(other, name) for name in summed},
        )

    def figures(self) -> Turns:
        """The figures, once all rollouts are counted."""
        count_all = sum(count for count, _, _ in self.by_turns.values())
        rows = sum(number * count for number, (count, _, _) in self.by_turns.items())
        rewarded = sum(valid for _, valid, _ in self.by_turns.values())
        total = sum(rewards for _, _, rewards in self.by_turns.values())
        share, fair = self.largest
        return Turns(
            rollouts=count_all,
            rows=self.all_rows,
            turns_mean=rows / count_all if count_all else torch.nan,
            turns_max=max(self.by_turns, default=0),
            several_steps=self.several_steps,
            differ=self.differ,
            largest_share_of_rows=share or torch.nan,
            its_share_of_rollouts=fair if share else torch.nan,
            reward_by_rollouts=total / rewarded if rewarded else torch.nan,
            reward_by_rows=self.row_sum / self.rows if self.rows else torch.nan,
            by_turns=tuple(
                ByTurns(number, count, rewards / valid if valid else torch.nan)
                for number, (count, valid, rewards) in sorted(self.by_turns.items())
            ),
            anchors=None if self.anchors is None else self.anchors.figures(),
        )


def merged_anchors(one: AnchorsCount | None, two: AnchorsCount | None) -> AnchorsCount | None:
    """Merge the counts of two parts; None for a part without a state column."""
    counts = [count for count in (one, two) if count is not None]
    return reduce(add, counts) if counts else None


def turns(data: DataSet, reward: str) -> Turns | None:
    """The figures of the rollouts of a data set; None if every rollout is one row."""
    count = TurnsCount.of(data, reward)
    return None if count is None else count.figures()


def together(one: TurnsCount | None, two: TurnsCount | None) -> TurnsCount | None:
    """Merge the counts of two parts; None for a part whose rollouts all have one row."""
    counts = [count for count in (one, two) if count is not None]
    return reduce(add, counts) if counts else None


def _several_steps(data: DataSet) -> int:
    """The number of rollouts with rows of several steps: one prompt and one name, and no turn twice."""
    table = data.table
    if table.step is None or table.rollout is None:
        return 0
    named = (table.key >= 0) & (table.rollout >= 0)
    name = paired(table.key[named], numbered(table.rollout[named]))
    steps = _distinct(name, paired(name, table.step[named]))
    result = steps > 1
    if table.turn is not None:
        # If a turn repeats, the name was reused for another rollout.
        turn = numbered(np.nan_to_num(table.turn[named]).astype(np.int64))
        result &= _distinct(name, paired(name, turn)) == np.bincount(name, minlength=len(steps))
    return int(result.sum())


def _distinct(name: NDArray[np.int64], pair: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of different pairs of each name."""
    first = np.unique(pair, return_index=True)[1]
    return np.bincount(name[first], minlength=int(name.max(initial=-1)) + 1)
