"""The same rows in two data sets, by hand and against a plain loop."""

import math
import random

import pytest
import torch

from advcli.stats.inference.paired_rows import join, row_pairs

NAN = math.nan


def columns(**values):
    return {name: torch.tensor(column, dtype=torch.int64) for name, column in values.items()}


def test_join_by_two_columns():
    a = columns(row=[7, 7, 8, -1, 9], step=[0, 1, 0, 0, 0])
    b = columns(row=[9, 7, -1, 7], step=[1, 1, 0, 0])
    first, second = join(a, b)
    assert (first.tolist(), second.tolist()) == ([0, 1], [3, 1])


def test_join_of_rows_that_come_again_is_by_their_order():
    first, second = join(columns(row=[5, 6, 5, 5]), columns(row=[5, 5, 6]))
    assert (first.tolist(), second.tolist()) == ([0, 1, 2], [0, 2, 1])


def test_join_of_nothing():
    first, second = join(columns(row=[]), columns(row=[1]))
    assert (first.tolist(), second.tolist()) == ([], [])


def test_join_against_a_plain_loop():
    dice = random.Random(2)
    sides = [[(dice.randrange(-1, 6), dice.randrange(3)) for _ in range(60)] for _ in range(2)]
    found = join(*(columns(x=[x for x, _ in side], y=[y for _, y in side]) for side in sides))
    expected, free = [], list(enumerate(sides[1]))
    for row, name in enumerate(sides[0]):
        partner = next((other for other, same in free if same == name and name[0] >= 0), None)
        if partner is not None:
            free = [pair for pair in free if pair[0] != partner]
            expected.append((row, partner))
    assert list(zip(*(rows.tolist() for rows in found), strict=True)) == expected


def side(rewards, advantages, groups):
    return (
        torch.tensor(rewards, dtype=torch.float64),
        torch.tensor(advantages, dtype=torch.float64),
        torch.tensor(groups),
    )


def test_by_hand():
    a = side([0, 1, 2, NAN, 5, 1, 1], [-1, 0, 1, NAN, NAN, -1, 1], [0, 0, 0, 0, -1, 1, 1])
    b = side([0, 2, 1, 1, 1, 0], [1, -1, 1e-9, NAN, -1, 1], [0, 0, 0, 0, 1, 1])
    rows = (torch.tensor([0, 1, 2, 3, 5]), torch.tensor([0, 1, 2, 3, 5]))
    found = row_pairs(a, b, rows, "'id'")
    assert (found.by, found.rows, found.only_a, found.only_b) == ("'id'", 5, 1, 1)
    # 0 → 0, 1 → 2, 2 → 1, 1 → 0; the row without a reward in A does not count.
    assert (found.rewarded, found.changed, found.up, found.down) == (4, 3, 1, 2)
    assert found.difference == pytest.approx(-0.25)
    # − → +, 0 → −, + → 0 (1e-9 beside 1 is neutral), − → +.
    assert found.advantages == 4
    assert found.sign_changes == 1
    assert found.flips == 0.5
    # Group 0: ranks -1 0 1 against 1 -1 0 about their mean, -1 / 2; group 1 has one joined row.
    assert found.rank_agreement == pytest.approx(-0.5)


def test_nothing_joined():
    a = side([1], [NAN], [0])
    found = row_pairs(a, a, (torch.tensor([], dtype=torch.int64),) * 2, "'id'")
    assert (found.rows, found.only_a, found.rewarded, found.advantages) == (0, 1, 0, 0)
    assert all(
        math.isnan(value)
        for value in (found.difference, found.sign_changes, found.flips, found.rank_agreement)
    )
