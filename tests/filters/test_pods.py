"""PODS, against trying every subset."""

import itertools
import random
import statistics

import pytest
import torch
from repeated import over

from advcli.filters.pods import pods


@over(seed=range(25))
@pytest.mark.parametrize("m", [1, 2, 3, 4, 6])
def test_no_subset_of_m_rows_varies_more(seed, m):
    draw = random.Random(seed)
    rewards = [round(draw.random(), draw.choice([0, 1, 3])) for _ in range(14)]
    groups = [draw.randrange(3) for _ in range(14)]
    kept = pods(torch.tensor(rewards, dtype=torch.float64), torch.tensor(groups), m=m).tolist()
    for group in set(groups):
        own = [r for r, g in zip(rewards, groups, strict=True) if g == group]
        chosen = [r for r, g, k in zip(rewards, groups, kept, strict=True) if g == group and k]
        assert len(chosen) == min(m, len(own))
        best = max(statistics.pvariance(subset) for subset in itertools.combinations(own, len(chosen)))
        assert statistics.pvariance(chosen) == pytest.approx(best, abs=1e-12)


def test_rewards_far_from_0_keep_their_digits():
    r = torch.tensor([1e8, 1e8 + 1, 1e8 + 2, 1e8 + 9], dtype=torch.float64)
    assert pods(r, torch.zeros(4, dtype=torch.int64), m=2).tolist() == [True, False, False, True]


def test_m_below_1():
    with pytest.raises(ValueError, match="m is 0, expected 1 or more"):
        pods(torch.zeros(2), torch.zeros(2, dtype=torch.int64), m=0)


def test_of_two_best_choices_it_is_the_one_with_fewer_good_rows():
    # 0 ¾ 3 and 0 2¼ 3 vary equally, also in floats: their means are 1¼ and 1¾.
    r = torch.tensor([0.0, 0.75, 2.25, 3.0], dtype=torch.float64)
    assert pods(r, torch.zeros(4, dtype=torch.int64), m=3).tolist() == [True, True, False, True]
