"""GFPO, against sorting."""

import random

import pytest
import torch
from repeated import over

from advcli.filters.gfpo import gfpo


@over(seed=range(20))
@pytest.mark.parametrize("by", ["length", "efficiency"])
def test_against_sorting(seed, by):
    draw = random.Random(seed)
    rewards = [draw.choice([0.0, 0.5, 1.0]) for _ in range(20)]
    lengths = [draw.choice([10.0, 20.0, 40.0]) for _ in range(20)]
    groups = [draw.randrange(4) for _ in range(20)]
    expected = set()
    for group in set(groups):
        own = [i for i in range(20) if groups[i] == group]
        own.sort(key=lambda i: lengths[i] if by == "length" else -rewards[i] / lengths[i])
        expected |= set(own[:3])
    found = gfpo(torch.tensor(rewards), torch.tensor(lengths), torch.tensor(groups), k=3, by=by)
    assert set(torch.nonzero(found).squeeze(1).tolist()) == expected


def test_a_row_without_tokens_earns_nothing():
    r, tokens, g = torch.tensor([1.0, 1.0]), torch.tensor([0.0, 5.0]), torch.tensor([0, 0])
    assert gfpo(r, tokens, g, k=1, by="efficiency").tolist() == [False, True]
