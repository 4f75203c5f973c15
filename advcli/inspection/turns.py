"""Rollouts of several rows: how many rows they have, what that does to a mean, and rewards by the number of turns."""

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
    """What is counted of some rollouts, such that the counts of two parts with whole groups make those of both.

    Attributes:
        by_turns: number of turns → rollouts, those with a reward, and the sum of their rewards.
        all_rows: rows, those without a group too.
        rows: rows with a reward.
        row_sum: the sum of their rewards.
        several_steps: rollouts with rows of several steps.
        differ: rollouts whose rows have different rewards.
        largest: the largest share of the rows of its group that one rollout has, and its share of the rollouts.
        anchors: the states before turns; None without a column of them.
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
        """Count; None where every rollout is one row, without a list of its turns.

        Args:
            data: the rows.
            reward: which reward is that of a rollout, one of `rollouts.REWARDS`.
        """
        rollouts, listed = data.rollouts, data.table.turn_counts
        if rollouts is None and listed is None:
            return None
        per_rollout = data.per_rollout(reward).rows
        there = per_rollout.group >= 0
        numbers = torch.from_numpy(listed) if rollouts is None else rollouts.turns
        turns, rewards, group = numbers[there], per_rollout.rewards[there], per_rollout.group[there]
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
            # As a trainer has it that makes a row of each turn.
            rows = torch.repeat_interleave(rewards[valid], turns[valid])
        of_group = torch.bincount(group, minlength=data.rows.count)
        rows_of_group = torch.zeros(data.rows.count).index_add_(0, group, turns.float())
        share = (turns / rows_of_group[group]).nan_to_num(nan=0.0)
        # In a group of one rollout it has all rows, whatever is counted.
        share = torch.where(of_group[group] > 1, share, 0.0)
        top = int(share.argmax()) if len(share) else 0
        return cls(
            by_turns=by_turns,
            all_rows=len(data.rows.rewards),
            rows=len(rows),
            row_sum=float(rows.sum()),
            several_steps=_several_steps(data),
            differ=0 if rollouts is None else int(rollouts.disagree(data.rows.rewards)[there].sum()),
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
        many = sum(count for count, _, _ in self.by_turns.values())
        rows = sum(number * count for number, (count, _, _) in self.by_turns.items())
        rewarded = sum(valid for _, valid, _ in self.by_turns.values())
        total = sum(rewards for _, _, rewards in self.by_turns.values())
        share, fair = self.largest
        return Turns(
            rollouts=many,
            rows=self.all_rows,
            turns_mean=rows / many if many else torch.nan,
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
    """What is counted of two parts; a part without rollouts of several rows counts nothing."""
    there = [count for count in (one, two) if count is not None]
    return reduce(add, there) if there else None


def turns(data: DataSet, reward: str) -> Turns | None:
    """The figures of the rollouts of a data set; None where every rollout is one row."""
    count = TurnsCount.of(data, reward)
    return None if count is None else count.figures()


def together(one: TurnsCount | None, two: TurnsCount | None) -> TurnsCount | None:
    """What is counted of two parts; a part whose rollouts all have one row counts nothing."""
    there = [count for count in (one, two) if count is not None]
    return reduce(add, there) if there else None


def _several_steps(data: DataSet) -> int:
    """Rollouts whose rows are of several steps: one prompt and one name, and no turn twice."""
    table = data.table
    if table.step is None or table.rollout is None:
        return 0
    there = (table.key >= 0) & (table.rollout >= 0)
    name = paired(table.key[there], numbered(table.rollout[there]))
    steps = _met(name, paired(name, table.step[there]))
    result = steps > 1
    if table.turn is not None:
        # A name that begins again with its first turn is another rollout.
        turn = numbered(np.nan_to_num(table.turn[there]).astype(np.int64))
        result &= _met(name, paired(name, turn)) == np.bincount(name, minlength=len(steps))
    return int(result.sum())


def _met(name: NDArray[np.int64], pair: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many different pairs each name has."""
    first = np.unique(pair, return_index=True)[1]
    return np.bincount(name[first], minlength=int(name.max(initial=-1)) + 1)
