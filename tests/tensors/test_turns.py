"""Turns of rollouts: order, places and sums, by hand and against plain loops."""

import random

import pytest
import references_turns as plain
import torch
from repeated import over

from advcli.tensors.turns import Turns, histories, paired, progress, same_turns


def test_places_by_hand():
    # Two rollouts that lie in each other; the second one's turns are in the wrong order.
    turns = Turns.of(torch.tensor([4, 7, 4, 7, 4]), torch.tensor([0.0, 2.0, 1.0, 1.0, 2.0]))
    assert turns.order.tolist() == [0, 2, 4, 3, 1]
    assert turns.position.tolist() == [0, 1, 1, 0, 2]
    assert turns.count.tolist() == [3, 2, 3, 2, 3]
    assert turns.last.tolist() == [False, True, False, False, True]
    assert turns.before.tolist() == [-1, 3, 0, -1, 2]
    assert turns.total(torch.tensor([1.0, 10.0, 2.0, 20.0, 4.0])).tolist() == [7, 30, 7, 30, 7]
    assert turns.most(torch.tensor([1.0, 10.0, 2.0, 20.0, 4.0])).tolist() == [4, 20, 4, 20, 4]
    first = turns.position == 0
    assert turns.value_of(torch.tensor([1.0, 10.0, 2.0, 20.0, 4.0]), first).tolist() == [1, 20, 1, 20, 1]


def test_the_order_of_the_rows_where_no_turn_is_given():
    assert Turns.of(torch.tensor([1, 0, 1])).order.tolist() == [1, 0, 2]


@over(seed=range(5))
@pytest.mark.parametrize("gamma", [0.0, 0.9, 1.0])
def test_returns(seed, gamma):
    draw = random.Random(seed)
    rollouts = [draw.randrange(6) for _ in range(40)]
    rewards, turns = [draw.random() for _ in rollouts], [draw.random() for _ in rollouts]
    found = Turns.of(torch.tensor(rollouts), torch.tensor(turns)).to_go(
        torch.tensor(rewards, dtype=torch.float64), gamma
    )
    assert found.tolist() == pytest.approx(plain.returns(rewards, rollouts, turns, gamma))


def test_no_rows():
    none = torch.zeros(0, dtype=torch.int64)
    turns = Turns.of(none)
    assert len(turns.position) == len(turns.before) == len(paired(none, none)) == 0
    assert [len(column) for column in progress(torch.zeros(0), turns, 0.9)] == [0, 0]
    assert [len(column) for column in histories(none, none, turns, 3)] == [0, 0, 0]


def test_what_has_no_name_is_equal_to_nothing():
    assert len(paired(torch.tensor([0, 0]), torch.tensor([-1, -1])).unique()) == 2
    turns = Turns.of(torch.tensor([0, 0, 1, 1]))
    one, two = histories(torch.zeros(4, dtype=torch.int64), torch.tensor([5, 6, 5, 6]), turns, 2)
    assert one.tolist() == [0, 1, 0, 1]
    # The first turns have no earlier state; the second ones have the same.
    assert two[1] == two[3]
    assert len(two.unique()) == 3


def test_the_same_turn_of_a_group():
    assert same_turns(torch.tensor([0, 0, 1]), torch.tensor([3.0, 3.0, 3.0])).tolist() == [0, 0, 1]


def test_progress_by_hand():
    """Scores 0.2, none, 0.8: the rise of 0.6 at the third turn, shared as 0.25 : 0.5 : 1."""
    turns = Turns.of(torch.zeros(3, dtype=torch.int64))
    rise, credit = progress(torch.tensor([0.2, torch.nan, 0.8], dtype=torch.float64), turns, 0.5)
    assert rise.tolist() == pytest.approx([0, 0, 0.6])
    assert credit.tolist() == pytest.approx([0.6 / 7, 1.2 / 7, 2.4 / 7])
