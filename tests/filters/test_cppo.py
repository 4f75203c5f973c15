"""CPPO's pruning, against sorting by |A|."""

import random

import pytest
import torch
from repeated import over

from advcli.filters.cppo import cppo


@over(seed=range(20))
@pytest.mark.parametrize("over", ["batch", "group"])
@pytest.mark.parametrize("keep", [0.0, 0.1, 0.5, 1.0])
def test_against_sorting(seed, over, keep):
    draw = random.Random(seed)
    advantages = [draw.choice([-2.0, -1.0, 0.0, 1.0, 2.0]) for _ in range(24)]
    groups = [draw.randrange(5) for _ in range(24)]
    steps = [group % 2 for group in groups]
    names = groups if over == "group" else steps
    expected = set()
    for name in set(names):
        own = [i for i in range(24) if names[i] == name]
        own.sort(key=lambda i: -abs(advantages[i]))
        expected |= set(own[: max(1, int(len(own) * keep)) if keep else 0])
    a, g, s = torch.tensor(advantages), torch.tensor(groups), torch.tensor(steps)
    found = cppo(a, g, s, keep=keep, over=over)
    assert set(torch.nonzero(found).squeeze(1).tolist()) == expected


def test_the_share_is_taken_in_float64():
    # 0.7 · 10 is 7 in float64 and 6.9999998 in float32.
    a, one = torch.arange(10, dtype=torch.float32), torch.zeros(10, dtype=torch.int64)
    assert cppo(a, one, one, keep=0.7).sum() == 7
