"""Points of scatter plots, against plain loops."""

import math
import statistics

import pytest
import torch

from advcli.records.table import Rows
from advcli.stats.summaries.points import group_means, group_points, length_points, solve_rates

NAN = float("nan")
GROUPS = [[0.0, 1.0, 1.0], [0.5, 0.5], [0.0, 1.0, 1.0], [1.0], [NAN, 2.0, 4.0]]


def rows(groups=GROUPS, lengths=None):
    rewards = torch.tensor([value for group in groups for value in group], dtype=torch.float64)
    index = torch.tensor([number for number, group in enumerate(groups) for _ in group])
    return Rows(rewards, index, len(groups), torch.zeros(len(rewards), dtype=torch.int64), lengths)


def test_equal_groups_are_one_point():
    found = group_points(rows())
    points = {
        (round(mean, 6), round(std, 6)): (many, dead)
        for mean, std, many, dead in zip(found.mean, found.std, found.groups, found.dead, strict=True)
    }
    assert points == {
        (round(2 / 3, 6), round(statistics.stdev([0, 1, 1]), 6)): (2, False),
        (0.5, 0.0): (1, True),
        (3.0, round(math.sqrt(2), 6)): (1, False),
    }
    assert (found.shown, found.total) == (4, 4)


def test_of_too_many_points_the_fullest_stay():
    found = group_points(rows(), limit=1)
    assert found.groups == (2,)
    assert (found.shown, found.total) == (2, 4)


def test_solve_rate_and_mean():
    known = [[0, 1, 1], [1, 1], [NAN]]
    assert solve_rates(rows(known)).tolist()[:2] == [pytest.approx(2 / 3), 1.0]
    assert math.isnan(solve_rates(rows(known))[2])
    assert group_means(rows(known)).tolist()[:2] == [pytest.approx(2 / 3), 1.0]


def test_lengths():
    lengths = torch.tensor([10.0, 20.0, NAN, 40.0], dtype=torch.float64)
    some = rows([[0.0, 1.0], [0.0, 1.0]], lengths)
    found = length_points(some, torch.tensor([-1.0, 1.0, -1.0, 3.0]))
    points = sorted(zip(found.length, found.advantage, found.group, strict=True))
    assert points == [(10, -1, 0), (20, 1, 0), (40, 3, 1)]
    assert found.total == 3
    assert found.bin_length == (10, 20, 40)
    assert found.bin_advantage == (-1, 1, 3)
    assert len(length_points(some, torch.tensor([-1.0, 1.0, -1.0, 3.0]), limit=2).length) == 2
    assert length_points(rows(), torch.zeros(11)) is None
