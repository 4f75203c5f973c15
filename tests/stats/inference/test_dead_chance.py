"""The chance of a dead group at other sizes: against every subset of rows, and against the truth of a simulation."""

import math
from itertools import combinations

import numpy as np
import pytest
import references_inspect as plain
import torch

from advcli.stats.inference.dead_chance import ValueCounts
from advcli.tensors.segments import Segments


def counted(groups):
    values = torch.tensor([value for group in groups for value in group], dtype=torch.float64)
    index = torch.tensor([number for number, group in enumerate(groups) for _ in group], dtype=torch.int64)
    extent = (float(values.min()), float(values.max())) if len(values) else (math.nan, math.nan)
    return ValueCounts.of(values, Segments.of(index, len(groups)), extent)


def chances(groups):
    return {one.g: one for one in counted(groups).chances()}


def of_subsets(groups, g):
    """The share of the subsets of g rows that are all equal, in the mean over the groups that have so many."""
    able = [group for group in groups if len(group) >= g]
    return plain.mean(
        [plain.mean([float(len(set(drawn)) == 1) for drawn in combinations(group, g)]) for group in able]
    )


@pytest.mark.parametrize("seed", range(4))
def test_counted_against_every_subset(seed):
    groups = list(plain.by_group(plain.messy(seed)).values())
    able = [group for group in groups if len(group) > 1]
    for g, one in chances(groups).items():
        large = sum(len(group) >= g for group in able)
        assert one.groups == large
        if 2 * large >= len(able):
            assert (one.how, one.p) == ("counted", pytest.approx(of_subsets(groups, g)))
            assert math.isnan(one.low)
            assert one.live_groups == pytest.approx(len(able) * (1 - one.p))
        else:
            # More than two different rewards: nothing is fitted.
            assert (one.how, math.isnan(one.p), math.isnan(one.live_groups)) == ("", True, True)
        assert one.rows_saved == sum(map(len, able)) - g * len(able)


def test_the_usual_size_and_one_row_more_are_there():
    assert list(chances([[0, 1, 1]] * 5 + [[0, 1]])) == [2, 3, 4, 8, 16, 32]
    assert list(chances([[0] * 12] * 2)) == [2, 4, 8, 12, 13, 16, 32]
    assert list(chances([[1.0]])) == [2, 4, 8, 16, 32]
    assert all(one.how == "" for one in chances([]).values())


def test_two_parts_make_the_whole():
    groups = [[0, 1, 1], [1, 1], [0.5, 0.5, 0], [1, 0, 0]]
    values = torch.tensor([value for group in groups for value in group], dtype=torch.float64)
    index = torch.tensor([number for number, group in enumerate(groups) for _ in group])
    parts = [
        ValueCounts.of(values[here], Segments.of(index[here], len(groups)), (0, 1))
        for here in (index < 2, index >= 2)
    ]
    assert parts[0] + parts[1] == counted(groups)


def test_the_shares_of_a_small_group_do_not_stand_for_the_truth():
    """Groups of 4 of prompts that are solved with any probability: with 16 rows 2/17 are dead, and not 0.39."""
    dice = np.random.default_rng(0)
    groups = [(dice.random(4) < rate).astype(float).tolist() for rate in dice.random(3000)]
    one = chances(groups)[16]
    shares = plain.mean([sum((group.count(v) / 4) ** 16 for v in set(group)) for group in groups])
    assert shares > 0.39
    assert one.how == "fitted"
    assert one.p == pytest.approx(2 / 17, abs=0.03)
    assert one.low < 2 / 17 < one.high
    assert one.live_groups == pytest.approx(3000 * (1 - one.p))
    # With one row more than the groups have.
    assert chances(groups)[5].low < 2 / 6 < chances(groups)[5].high
