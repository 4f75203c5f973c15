"""The trend of a prompt against scipy, against every permutation, and by simulation."""

from itertools import permutations

import numpy as np
import pytest
import torch
from scipy import stats

from advcli.stats.inference.trend import trends
from advcli.stats.summaries.cells import Cells


def found(rewards, steps, values=None):
    """The trends of rewards [P, N] at the same steps [N]."""
    rewards = np.atleast_2d(np.asarray(rewards, dtype=float))
    prompts, rows = rewards.shape
    cells = Cells.of(
        torch.from_numpy(rewards.reshape(-1)),
        torch.arange(prompts).repeat_interleave(rows),
        torch.tensor(steps).repeat(prompts),
        prompts,
    )
    return trends(cells, values)


def test_the_change_and_the_interval_of_a_line_are_those_of_scipy():
    draw = np.random.default_rng(2)
    steps = np.repeat([0, 1, 3, 7], 5)
    rewards = draw.normal(size=(4, 20)) + 0.3 * steps
    one = found(rewards, steps)
    for place, values in enumerate(rewards):
        line = stats.linregress(steps, values)
        half = stats.t.ppf(0.975, 18) * line.stderr * 7
        assert one.change[place] == pytest.approx(line.slope * 7)
        assert (one.low[place], one.high[place]) == pytest.approx(
            (line.slope * 7 - half, line.slope * 7 + half)
        )


def test_the_interval_of_two_rewards_by_hand():
    # Price and Bonett with two cells is Agresti and Caffo's: one right and one wrong row more in each.
    one = found([[0, 0, 0, 0, 1, 1, 1, 1]], [0, 0, 0, 0, 1, 1, 1, 1])
    half = stats.t.ppf(0.975, 6) * (2 * (1 / 6) * (5 / 6) / 6) ** 0.5
    assert (one.low[0], one.high[0]) == pytest.approx((4 / 6 - half, 4 / 6 + half))
    assert one.change[0] == 1


@pytest.mark.parametrize(
    "rewards",
    [
        [0, 0, 0, 0, 1, 1, 1, 1],
        [0, 1, 0, 0, 1, 1, 1, 0],
        [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 0.9],
        [0.2] * 4 + [1.2] * 4,
    ],
)
def test_the_p_value_is_never_below_that_of_all_permutations(rewards):
    steps = np.repeat([0, 1], 4)
    seen = abs(np.dot(steps - 0.5, rewards))
    every = [abs(np.dot(steps - 0.5, one)) >= seen - 1e-12 for one in permutations(rewards)]
    assert found([rewards], steps).p[0] >= np.mean(every) * 0.99


def test_with_many_rows_it_is_the_test_of_cochran_and_armitage():
    draw = np.random.default_rng(3)
    steps = np.repeat(np.arange(20), 30)
    rewards = (draw.random(600) < 0.3 + 0.01 * steps).astype(float)
    line = stats.pearsonr(steps, rewards)
    z = abs(line.statistic) * np.sqrt(599)
    assert found([rewards], steps).p[0] == pytest.approx(2 * stats.norm.sf(z), rel=0.1)


def test_what_is_undefined():
    one = found([[0.0, 1.0, 1.0]], [4, 4, 4])
    assert np.isnan([one.change[0], one.low[0], one.p[0]]).all()
    same = found([[1.0] * 4], [0, 0, 1, 1], (0.0, 1.0))
    assert (same.change[0], same.p[0]) == (0, 1)
    assert same.low[0] < 0 < same.high[0]


@pytest.mark.parametrize("sizes", [(4, 4), (8, 8, 8), (2,) * 10, (1,) * 6])
@pytest.mark.parametrize(("low", "high"), [(0.5, 0.5), (0.1, 0.1), (0.2, 0.8)])
def test_coverage_and_false_alarms_with_two_rewards(sizes, low, high):
    draw = np.random.default_rng(4)
    steps = np.repeat(np.arange(len(sizes)), sizes)
    chance = low + (high - low) * steps / steps.max()
    one = found((draw.random((2000, len(steps))) < chance).astype(float), steps, (0.0, 1.0))
    assert ((one.low <= high - low) & (high - low <= one.high)).mean() >= 0.94
    if low == high:
        assert (one.p < 0.05).mean() <= 0.06
        assert (one.p < 0.005).mean() <= 0.008
