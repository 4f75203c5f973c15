"""Dynamic sampling, against the definition, group by group."""

import random

import pytest
import torch
from repeated import over

from advcli.filters.dynamic_sampling import dynamic_sampling


@over(seed=range(20))
@pytest.mark.parametrize("by", ["spread", "mean"])
def test_against_a_loop(seed, by):
    draw = random.Random(seed)
    rewards = [draw.choice([0.0, 0.5, 1.0]) for _ in range(30)]
    groups = [draw.randrange(10) for _ in range(30)]
    expected = []
    for group in groups:
        own = [r for r, g in zip(rewards, groups, strict=True) if g == group]
        expected.append(0.25 < sum(own) / len(own) < 0.75 if by == "mean" else len(set(own)) > 1)
    found = dynamic_sampling(torch.tensor(rewards), torch.tensor(groups), by=by, low=0.25, high=0.75)
    assert found.tolist() == expected


def test_a_spread_is_not_made_by_rounding():
    # The population std of seven times 0.95 is 1.1e-16 in float64, and the group is dead all the same.
    r = torch.full((7,), 0.95, dtype=torch.float64)
    assert not dynamic_sampling(r, torch.zeros(7, dtype=torch.int64)).any()


def test_the_bounds_of_the_mean_are_outside():
    r, g = torch.tensor([0.0, 1.0, 0.5]), torch.tensor([0, 1, 2])
    assert dynamic_sampling(r, g, by="mean").tolist() == [False, False, True]
