"""RAGEN's filter, against the definition in a loop."""

import random
import statistics

import pytest
import torch
from repeated import over

from advcli.filters.ragen import ragen


@over(seed=range(30))
@pytest.mark.parametrize("p", [0.0, 0.3, 0.8, 0.99])
def test_against_a_loop(seed, p):
    draw = random.Random(seed)
    groups = [draw.randrange(8) for _ in range(30)]
    rewards = [draw.random() if group else 0.5 for group in groups]
    steps = [group % 2 for group in groups]
    own = {group: [r for r, g in zip(rewards, groups, strict=True) if g == group] for group in groups}
    std = {group: statistics.stdev(values) if len(values) > 1 else 0.0 for group, values in own.items()}
    expected = set()
    for step in (0, 1):
        ranked = sorted((group for group in std if group % 2 == step), key=lambda group: -std[group])
        total, sum_so_far = sum(std[group] for group in ranked), 0.0
        for group in ranked:
            if sum_so_far >= p * total or std[group] == 0:
                break
            expected.add(group)
            sum_so_far += std[group]
    r, g, s = torch.tensor(rewards, dtype=torch.float64), torch.tensor(groups), torch.tensor(steps)
    found = ragen(r, g, s, p=p)
    assert {group for group, kept in zip(groups, found.tolist(), strict=True) if kept} == expected


def test_everything_is_kept_at_1_and_no_dead_group_below():
    r, g = torch.tensor([1.0, 1.0, 0.0, 1.0]), torch.tensor([0, 0, 1, 1])
    assert ragen(r, g, g * 0, p=1.0).tolist() == [True] * 4
    assert ragen(r, g, g * 0, p=1.0).dtype == torch.bool
    assert ragen(r, g, g * 0, p=0.9999).tolist() == [False, False, True, True]
