"""Signal of a reward column, compared with plain loops over the groups."""

import math

import numpy as np
import pytest
import references_inspect as plain
import torch
from repeated import over
from scipy import stats

from advcli.stats.signal import SignalCount, signal

NAN = math.nan


def columns(rows):
    rewards = torch.tensor([row["reward"] for row in rows], dtype=torch.float64)
    return rewards, torch.tensor([row["group"] for row in rows])


def described(groups, cause=None, **knobs):
    """The signal of groups that are given as their rewards."""
    rewards = torch.tensor([r for group in groups for r in group], dtype=torch.float64)
    index = torch.tensor([g for g, group in enumerate(groups) for _ in group], dtype=torch.int64)
    cause = torch.zeros(len(rewards)) if cause is None else torch.tensor(cause)
    return signal("r", rewards, cause, index, len(groups), **knobs)


@over(seed=range(5))
def test_figures_of_a_messy_dump(seed):
    rows = plain.messy(seed)
    rewards, group = columns(rows)
    found = signal("r", rewards, torch.zeros(len(rows)), group, 40)
    groups = plain.by_group(rows)
    values = [value for members in groups.values() for value in members]
    dead = [members for members in groups.values() if plain.is_dead(members)]
    live = [members for members in groups.values() if plain.is_live(members)]
    assert dead
    assert live
    assert found.valid == len(values)
    assert found.dead_groups == len(dead)
    assert found.dead_groups_all_max == sum(members[0] == max(values) for members in dead)
    assert found.dead_groups_all_min == sum(members[0] == min(values) for members in dead)
    assert found.live_groups == len(live)
    assert found.live_rows == sum(map(len, live))
    assert found.singletons == sum(len(members) == 1 for members in groups.values())
    assert found.distinct == len(set(values))
    assert found.at_max == pytest.approx(values.count(max(values)) / len(values))
    assert (found.min, found.max) == (min(values), max(values))
    assert found.mean == pytest.approx(plain.mean(values))
    within, between, total = plain.variances(groups)
    assert found.variance.within == pytest.approx(within)
    assert found.variance.between == pytest.approx(between)
    assert found.variance.total == pytest.approx(total) == pytest.approx(within + between)


def test_near_dead_is_a_share_of_the_range_of_the_column():
    groups = [[0, 0.05], [0.5, 0.6], [0, 10], [3, 3]]
    assert described(groups, near_dead=0.01).near_dead_groups == 2
    assert described(groups, near_dead=0.005).near_dead_groups == 1
    assert described(groups, near_dead=0.0).near_dead_groups == 0
    assert described([[-1.7e308, 1.7e308], [0, 1.0]]).near_dead_groups == 1


def test_a_column_of_one_value_has_neither_end():
    found = described([[0.5, 0.5], [0.5] * 3])
    assert (found.dead_groups, found.dead_groups_all_max, found.dead_groups_all_min) == (2, 0, 0)
    assert math.isnan(found.at_max)


def test_the_ends_are_those_of_the_whole_column():
    """All rewards here are 0, and elsewhere there is a 1."""
    rewards, group = torch.zeros(4, dtype=torch.float64), torch.tensor([0, 0, 1, 1])
    count = SignalCount.of(rewards, torch.zeros(4), group, 2, extent=(0.0, 1.0))
    found = count.figures("r", distinct=1)
    assert (found.dead_groups_all_max, found.dead_groups_all_min, found.at_max) == (0, 2, 0)


def test_missing_by_cause():
    found = described([[NAN, NAN, NAN, 1.0]], cause=[1, 1, 3, 0])
    assert found.missing_by_cause == {"null": 2, "NaN": 0, "inf": 1}
    assert (found.missing, found.valid, found.singletons) == (3, 1, 1)


@pytest.mark.parametrize("groups", [[], [[NAN, NAN]]])
def test_nothing_valid_is_undefined_and_no_error(groups):
    found = described(groups)
    assert (found.valid, found.dead_groups, found.distinct) == (0, 0, 0)
    undefined = (found.min, found.mean, found.max, found.at_max, found.variance.total, found.p_dead[0].p)
    assert all(math.isnan(value) for value in undefined)


def test_variance_survives_a_large_offset():
    found = described([[1e9, 1e9 + 1]]).variance
    assert (found.within, found.between, found.total, found.within_unbiased) == (0.25, 0.0, 0.25, 0.5)


@pytest.mark.parametrize("sizes", [(4,) * 30, (2, 3, 8, 1, 5) * 6])
def test_the_unbiased_variances_are_right_in_the_mean(sizes):
    """Prompts with a variance of 4 between and 9 within, often drawn; and without a difference between prompts."""
    dice = np.random.default_rng(0)
    for spread in (2.0, 0.0):
        found = []
        for _ in range(400):
            groups = [dice.normal(dice.normal(0, spread), 3, size).tolist() for size in sizes]
            found.append(described(groups).variance)
        between = [one.between_unbiased for one in found]
        error = np.std(between) / math.sqrt(len(found))
        assert np.mean(between) == pytest.approx(spread**2, abs=4 * error)
        assert np.mean([one.within_unbiased for one in found]) == pytest.approx(9, rel=0.05)
        # The plain figure is above it by what chance adds to the means.
        assert np.mean([one.between for one in found]) > np.mean(between) + 1


def test_unbiased_variances_by_scipy_where_groups_are_of_one_size():
    dice = np.random.default_rng(1)
    groups = dice.normal(dice.normal(0, 1, (12, 1)), 2, (12, 5))
    found = described(groups.tolist()).variance
    f = stats.f_oneway(*groups).statistic
    assert found.within_unbiased == pytest.approx(groups.var(axis=1, ddof=1).mean())
    assert found.between_unbiased == pytest.approx(found.within_unbiased * (f - 1) / 5)


def test_unbiased_variances_that_nothing_tells():
    alone = described([[1.0], [2.0]]).variance
    assert math.isnan(alone.within_unbiased)
    assert math.isnan(alone.between_unbiased)
    one = described([[1.0, 3.0]]).variance
    assert (one.within_unbiased, math.isnan(one.between_unbiased)) == (2.0, True)


def test_the_mean_over_groups_counts_each_group_once():
    """One right row, and three right rows of six: 4 of 7 rows, and 0.75 over the two groups; parts make the whole."""
    rewards = torch.tensor([1.0, 1, 0, 1, 0, 1, 0, torch.nan]).double()
    group = torch.tensor([0, 1, 1, 1, 1, 1, 1, 2])
    found = signal("r", rewards, rewards.isnan().to(torch.int8), group, 3)
    assert (found.mean, found.mean_over_groups) == (pytest.approx(4 / 7), 0.75)
    parts = [
        SignalCount.of(
            rewards[rows], torch.zeros(len(rewards[rows])), group[rows] - first, many, extent=(0.0, 1.0)
        )
        for rows, first, many in ((slice(0, 1), 0, 1), (slice(1, 7), 1, 1))
    ]
    assert (parts[0] + parts[1]).figures("r", distinct=2).mean_over_groups == 0.75
