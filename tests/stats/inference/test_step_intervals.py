"""Intervals per step, against SciPy's t and a plain loop."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from advcli.records.table import Rows
from advcli.stats.inference.step_intervals import step_intervals


def rows(groups, steps, lengths=None):
    rewards = torch.tensor([value for group in groups for value in group], dtype=torch.float64)
    index = torch.tensor([number for number, group in enumerate(groups) for _ in group])
    step = torch.tensor([step for step, group in zip(steps, groups, strict=True) for _ in group])
    return Rows(rewards, index, len(groups), step, lengths)


def test_equal_sizes_are_the_t_interval_of_the_group_means():
    means = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0] * 2
    found = step_intervals(rows([[one - 1, one + 1] for one in means], [3] * 14), torch.zeros(28), [3])
    expected = stats.t.interval(0.95, 13, np.mean(means), stats.sem(means))
    assert found["reward_mean"][0] == pytest.approx(expected)
    # All |A| are equal: no group differs from another.
    assert all(map(math.isnan, found["mean_abs_adv"][0]))
    assert "length_mean" not in found


def test_larger_groups_weigh_more():
    groups = [[0.0, 1.0], [2.0] * 6, [3.0, 5.0, 4.0], [7.0], [1.0, 1.0, 2.0, 0.5], [6.0, 4.0]]
    low, high = step_intervals(rows(groups, [0] * 6), torch.zeros(18), [0])["reward_mean"][0]
    # Cochran 1977, 6.6 and 9.3: the residuals of a ratio of totals.
    total, size = [sum(group) for group in groups], [len(group) for group in groups]
    mean = sum(total) / sum(size)
    residuals = [t - n * mean for t, n in zip(total, size, strict=True)]
    error = math.sqrt(sum(one**2 for one in residuals) / 5 / 6) / (sum(size) / 6)
    wide = stats.t.ppf(0.975, 5) * error
    assert low <= mean - wide * 0.999
    assert high >= mean + wide * 0.999
    assert min(mean - low, high - mean) == pytest.approx(wide)


def test_live_share_is_newcombes_interval():
    groups = [[0.0, 1.0]] * 3 + [[1.0, 1.0]] * 7 + [[0.0]]
    found = step_intervals(rows(groups, [5] * 11), torch.zeros(21), [5])
    # Newcombe 1998, table 1, method 4 for 3 of 10.
    assert found["live"][0] == (pytest.approx(0.0809, abs=1e-4), pytest.approx(0.6463, abs=1e-4))


def test_steps_keep_their_order_and_missing_rows_are_left_out():
    groups = [[float(place), math.nan] for place in range(6)] + [[10.0 + place] for place in range(6)]
    found = step_intervals(rows(groups, [1] * 6 + [0] * 6), torch.zeros(18), [1, 0])["reward_mean"]
    first = stats.t.interval(0.95, 5, 2.5, stats.sem(range(6)))
    assert found[0] == pytest.approx(first)
    assert found[1] == pytest.approx([end + 10 for end in first])


def test_few_groups_have_no_interval():
    found = step_intervals(rows([[0.0, 1.0], [1.0, 2.0]], [0, 0]), torch.ones(4), [0])
    assert all(map(math.isnan, found["reward_mean"][0]))
