"""What numpy says of a tensor is what torch says of it."""

import math

import pytest
import torch

from advcli.tensors.masks import belongs, chosen, count, every, filled, finite, plain, rewarded, undefined

NAN, INF = math.nan, math.inf
VALUES = [0.0, -0.0, 1.5, NAN, -INF, INF, -3.0]
DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("values", [VALUES, [], [1.0], [NAN]])
def test_what_is_a_number(dtype, values):
    column = torch.tensor(values, dtype=dtype)
    assert plain(column) == (dtype in (torch.float64, torch.float32))
    assert finite(column).tolist() == [math.isfinite(value) for value in values]
    assert undefined(column).tolist() == [math.isnan(value) for value in values]
    assert finite(column).dtype == undefined(column).dtype == torch.bool


def test_what_is_differentiated_is_left_to_torch():
    column = torch.tensor(VALUES, requires_grad=True)
    assert not plain(column)
    assert finite(column).tolist() == [math.isfinite(value) for value in VALUES]
    some = torch.tensor([True] * 3 + [False] * 4)
    assert chosen(column, some).requires_grad


@pytest.mark.parametrize("mask", [[], [True], [False], [True, False, True], [True, True]])
def test_how_many(mask):
    rows = torch.tensor(mask, dtype=torch.bool)
    assert (every(rows), count(rows)) == (all(mask), sum(mask))


@pytest.mark.parametrize("step", [1, 2])
def test_columns_that_lie_apart_in_the_memory(step):
    whole = torch.arange(12, dtype=torch.float64).reshape(6, 2)[::step]
    rows = whole[:, 0] > 3
    assert chosen(whole[:, 1], rows).tolist() == [value for value in whole[:, 1].tolist() if value > 4]
    assert chosen(whole, rows).tolist() == [pair for pair in whole.tolist() if pair[0] > 3]
    assert every(rows) == (not [value for value in whole[:, 0].tolist() if value <= 3])


def test_all_rows_are_no_copy():
    values = torch.tensor([1.0, 2.0])
    assert chosen(values, torch.tensor([True, True])) is values


def test_rows_with_a_reward_and_a_group():
    rewards, group = torch.tensor([1.0, NAN, 1.0, INF]), torch.tensor([0, 0, -1, 1])
    assert belongs(group).tolist() == [True, True, False, True]
    assert rewarded(rewards, group).tolist() == [True, False, False, False]


def test_the_other_rows_are_undefined():
    found = filled(torch.tensor([False, True, False]), torch.tensor([2.0]))
    assert found.isnan().tolist() == [True, False, True]
    assert found[1] == 2.0


def test_rows_with_a_group():
    for dtype in (torch.int64, torch.int32):
        assert belongs(torch.tensor([0, -1, 1], dtype=dtype)).tolist() == [True, False, True]
