"""The flat names that trainers log: by hand, one record per step."""

import math

import pandas as pd
import pytest
import torch

from advcli.records.settings import AdvantageTable
from advcli.records.table import Rows
from advcli.stats.metrics import per_step

NAN = math.nan
REWARDS = [0.0, 1.0, 2.0, NAN, 7.0, 5.0]
ORIGINAL = [-1.0, 0.0, 1.0, NAN, NAN, 2.0]
PROCESSED = [0.0, -0.5, 0.5, NAN, NAN, 4.0]
KEPT = [False, True, True, False, False, True]


def records(step, names, rows=slice(None)):
    rewards, original, processed = (
        torch.tensor(column[rows], dtype=torch.float64) for column in (REWARDS, ORIGINAL, PROCESSED)
    )
    group = torch.zeros(len(rewards), dtype=torch.int64)
    table = AdvantageTable(original, processed, torch.tensor(KEPT[rows], dtype=torch.bool))
    return per_step(Rows(rewards, group, 1, torch.tensor(step, dtype=torch.int64)), table, names)


def test_without_steps_by_hand():
    (found,) = records([0] * 6, None)
    assert found == {
        # every row with a reward: 0 1 2 7 5
        "critic/score/mean": 3.0,
        "critic/score/max": 7.0,
        "critic/score/min": 0.0,
        # every row with an advantage: -1 0 1 2, squares about 0.5: 2.25 0.25 0.25 2.25
        "critic/advantages/mean": 0.5,
        "critic/advantages/max": 2.0,
        "critic/advantages/min": -1.0,
        "critic/advantages/std": pytest.approx(math.sqrt(5 / 3)),
        # every kept row: -0.5 0.5 4, mean 4/3
        "critic/advantages_processed/mean": pytest.approx(4 / 3),
        "critic/advantages_processed/max": 4.0,
        "critic/advantages_processed/min": -0.5,
        "critic/advantages_processed/std": pytest.approx(pd.Series([-0.5, 0.5, 4.0]).std()),
    }


def test_one_record_per_step_in_the_order_of_the_numbers():
    found = records([0, 0, 0, 1, 1, 2], ("10", "9", "-1"))
    assert [record["step"] for record in found] == [-1, 9, 10]
    assert [record["critic/score/mean"] for record in found] == [5.0, 7.0, 1.0]
    assert [record["critic/advantages/mean"] for record in found] == [2.0, None, 0.0]
    assert [record["critic/advantages_processed/max"] for record in found] == [4.0, None, 0.5]
    assert [next(iter(record)) for record in found] == ["step"] * 3


def test_undefined_is_none():
    first, second = records([0, 0, 0, 1, 1, 0], ("1", "2"))
    assert first["critic/advantages/std"] == pytest.approx(math.sqrt(5 / 3))
    assert second["critic/score/max"] == 7.0
    assert {second[name] for name in second if "advantages" in name} == {None}


def test_one_row_has_no_std():
    *_, last = records([0, 0, 0, 0, 0, 1], ("1", "2"))
    assert (last["critic/advantages/mean"], last["critic/advantages/std"]) == (2.0, None)
    assert (last["critic/advantages_processed/mean"], last["critic/advantages_processed/std"]) == (4.0, None)


def test_no_rows():
    (found,) = records([], None, slice(0))
    assert len(found) == 11
    assert set(found.values()) == {None}


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("b", "a"), ["a", "b"]),
        (("x", "2"), [2, "x"]),  # numbers before words
        (("1.5", "1"), [1, 1.5]),
        (("nan", "inf"), ["inf", "nan"]),  # words, as JSON has no such numbers
        (("007", "8"), [7, 8]),
    ],
)
def test_step_names(names, expected):
    found = [record["step"] for record in records([0, 0, 0, 1, 1, 1], names)]
    assert found == expected
    assert list(map(type, found)) == list(map(type, expected))
