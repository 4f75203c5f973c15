"""Advantages beside rewards: one line in each group, or one through all."""

import torch

from advcli.matching.lines import Lines
from advcli.matching.logged import Logged
from advcli.matching.sample import Slice


def lines(factors):
    group = torch.arange(4).repeat_interleave(4)
    rewards = torch.tensor([0.0, 0.3, 0.5, 1.0] * 4, dtype=torch.float64)
    values = (rewards - rewards[:4].mean()) * torch.tensor(factors, dtype=torch.float64)[group]
    columns = {"rewards": rewards, "group": group, "step": torch.zeros(16, dtype=torch.int64)}
    return Lines.of(Slice.of(columns, Logged.of(values), None, whole=True)), rewards


def test_each_group_has_a_slope_of_its_own():
    own, rewards = lines([1.0, 2.0, 3.0, 0.5])
    assert own.holds(own.residuals(rewards))
    assert not own.holds(own.residuals(rewards**2))
    assert not own.joined().holds(own.joined().residuals(rewards))


def test_one_factor_is_told_where_all_groups_have_it():
    own, rewards = lines([0.7] * 4)
    assert round(own.factor(rewards), 9) == 0.7
    assert own.joined().holds(own.joined().residuals(rewards))
    assert lines([0.7, 0.7, 0.7, 0.8])[0].factor(rewards) is None
    assert lines([1.0] * 4)[0].factor(rewards) is None
