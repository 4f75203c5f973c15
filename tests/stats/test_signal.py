"""Signal of a reward column, compared with plain loops over the groups."""

import math

import pytest
import references_inspect as plain
import torch

from advcli.stats.signal import dead_chances, signal, variances
from advcli.tensors.segments import Segments

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


@pytest.mark.parametrize("seed", range(5))
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
    assert found.effective_rows == sum(map(len, live))
    assert found.singletons == sum(len(members) == 1 for members in groups.values())
    assert found.distinct == len(set(values))
    assert found.at_max == pytest.approx(values.count(max(values)) / len(values))
    assert (found.min, found.max) == (min(values), max(values))
    assert found.mean == pytest.approx(plain.mean(values))
    within, between, total = plain.variances(groups)
    assert found.variance.within == pytest.approx(within)
    assert found.variance.between == pytest.approx(between)
    assert found.variance.total == pytest.approx(total) == pytest.approx(within + between)
    for chance in found.p_dead:
        assert chance.p == pytest.approx(plain.dead_chance(groups, chance.g))
        sizes = [len(members) for members in groups.values() if len(members) > 1]
        assert chance.plug_in == pytest.approx(sum(size < chance.g for size in sizes) / len(sizes))


def test_near_dead_is_a_share_of_the_range_of_the_column():
    groups = [[0, 0.05], [0.5, 0.6], [0, 10], [3, 3]]
    assert described(groups, near_dead=0.01).near_dead_groups == 2
    assert described(groups, near_dead=0.005).near_dead_groups == 1
    assert described(groups, near_dead=0.0).near_dead_groups == 0
    assert described([[-1.7e308, 1.7e308], [0, 1.0]]).near_dead_groups == 1


def test_a_column_of_one_value_is_all_max_only():
    found = described([[0.5, 0.5], [0.5] * 3])
    assert (found.dead_groups, found.dead_groups_all_max, found.dead_groups_all_min) == (2, 2, 0)


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
    found = variances(torch.tensor([1e9, 1e9 + 1], dtype=torch.float64), Segments.of(torch.tensor([0, 0])))
    assert (found.within, found.between, found.total) == (0.25, 0.0, 0.25)


def test_chance_by_hand():
    # 3 of 4 right: of the 6 pairs, 3 are both right; at G = 8 the shares are 3/4 and 1/4.
    three, eight = dead_chances(
        torch.tensor([1.0, 1.0, 0.0, 1.0]), Segments.of(torch.tensor([0, 0, 0, 0])), (2, 8)
    )
    assert three.p == pytest.approx(3 / 6)
    assert eight.p == pytest.approx(0.75**8 + 0.25**8)
    assert (three.plug_in, eight.plug_in) == (0.0, 1.0)
