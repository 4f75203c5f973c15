"""Figures of rollouts: the counts of two parts make those of both."""

import math

import numpy as np
import pytest

from advcli.dataset import grouping, load
from advcli.inspection.turns import TurnsCount, together, turns
from advcli.records.table import Choice, RewardTable


def data(rows, turn_counts=None):
    """A data set from (prompt, rollout, reward)."""
    prompt, rollout, rewards = (np.array(column) for column in zip(*rows, strict=True))
    rewards = rewards.astype(np.float64)
    table = RewardTable(
        rewards=rewards,
        cause=np.where(np.isfinite(rewards), 0, 2).astype(np.int8),
        key=prompt.astype(np.int64),
        step=None,
        step_names=(),
        length=None,
        logged=None,
        rows=(len(rows),),
        choice=Choice("generic", ("prompt",), None, (("reward", 1.0),), rollout=("rollout",), sure=True),
        dropped=(frozenset(),),
        lines=None,
        names=("f.jsonl",),
        rollout=rollout.astype(np.int64),
        turn_counts=turn_counts,
    )
    return load.grouped(table, grouping.group(table))


ONE = [(0, 0, 1.0), (0, 0, 1.0), (0, 0, 1.0), (0, 1, 0.0)]
TWO = [(1, 0, 0.5), (1, 0, 0.25), (1, 1, math.nan), (1, 2, 0.0)]


def test_two_parts_make_the_whole():
    parts = [TurnsCount.of(data(rows), "last") for rows in (ONE, TWO)]
    assert together(*parts).figures() == turns(data(ONE + TWO), "last")


def test_a_part_without_long_rollouts_counts_nothing():
    count = TurnsCount.of(data(ONE), "last")
    assert TurnsCount.of(data([(0, 0, 1.0), (0, 1, 0.0)]), "last") is None
    assert together(count, None) == together(None, count) == count
    assert together(None, None) is None


def test_figures_by_hand():
    found = turns(data(ONE + TWO), "last")
    assert (found.rollouts, found.rows, found.turns_max, found.differ) == (5, 8, 3, 1)
    assert found.turns_mean == pytest.approx(8 / 5)
    # 1, 0, 0.25 and 0 of the four rollouts with a reward; the rows add another 1, 1 and 0.5.
    assert found.reward_by_rollouts == pytest.approx(1.25 / 4)
    assert found.reward_by_rows == pytest.approx(3.75 / 7)
    # Three of the four rows of a group with two rollouts.
    assert found.largest_share_of_rows == pytest.approx(0.75)
    assert found.its_share_of_rollouts == pytest.approx(0.5)


def test_turns_that_a_list_tells():
    rows = [(0, 0, 1.0), (0, 1, 0.0)]
    found = turns(data(rows, turn_counts=np.array([3, 1])), "last")
    assert [(one.turns, one.reward_mean) for one in found.by_turns] == [(1, 0.0), (3, 1.0)]
    assert found.reward_by_rows == pytest.approx(0.75)
