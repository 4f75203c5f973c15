"""Block by block comes out what comes out at once."""

import random

import pytest
import torch
from columns import columns as columns_of

from advcli.common.errors import DataError
from advcli.engine import chunked
from advcli.engine.plan import Plan
from advcli.engine.run import run
from advcli.estimators.catalog import ESTIMATORS
from advcli.records.settings import FilterSpec, Settings
from advcli.shaping.spec import specs_of
from advcli.tensors import group_ranges

ALONE = [
    entry.name
    for entry in ESTIMATORS
    if entry.level == "row" and Plan.of(Settings(estimator=entry.name)).reach() == "key"
]
ORDERS = ("in order", "shuffled", "without a group")


def dump(order, seed=0):
    """Groups of 1 to 9 rows, some dead, some rewards missing; each of 5 rows or so of the last kind has no group."""
    draw, rows = random.Random(seed), []
    for group in range(60):
        dead = draw.random() < 0.2
        for _ in range(draw.choice([1, 2, 8, 8, 9])):
            parts = (0.5, 1.0) if dead else (draw.choice([0.0, 0.3, 1.0]), draw.random())
            parts = (float("nan"), parts[1]) if draw.random() < 0.05 else parts
            rows.append((parts, group, group % 4, draw.randint(1, 50), draw.random()))
    if order != "in order":
        draw.shuffle(rows)
    columns = columns_of(rows)
    if order == "without a group":
        columns["group"][::11] = -1
    return columns


def both(monkeypatch, settings, columns):
    """What comes out at once, and in blocks of about 40 rows."""
    plan = Plan.of(settings)
    found = []
    monkeypatch.setattr(group_ranges, "_ROWS", 40)
    for least in (1 << 60, 1):
        monkeypatch.setattr(group_ranges, "_MANY", least)
        monkeypatch.setattr(group_ranges, "_latest", None)
        found.append((plan.in_ranges(columns), run(plan, columns)))
    (at_once, expected), (in_blocks, result) = found
    assert (at_once, in_blocks) == (False, True)
    return expected, result


def same(expected, result):
    # Groups of one size that lie side by side are summed in another order than others.
    for name in ("original", "processed"):
        torch.testing.assert_close(
            getattr(result, name), getattr(expected, name), rtol=1e-13, atol=1e-13, equal_nan=True
        )
    assert torch.equal(result.kept, expected.kept)
    assert (result.warnings, result.left_out) == (expected.warnings, expected.left_out)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", ALONE)
def test_every_estimator_that_looks_at_the_group_alone(name, order, monkeypatch):
    same(*both(monkeypatch, Settings(estimator=name), dump(order)))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "settings",
    [
        {"keep_pos": 0.5, "keep_neg": 0.3, "compute_new_adv": True},
        {"missing": "zero", "singleton": "raw"},
        {"shaping": specs_of({"affine": {"shift": 1.0, "scale": 2.0}})},
        {"shaping": specs_of(["gr3", "r - 0.1*rank(len)/count()", "difficulty"])},
        {
            "filters": (
                FilterSpec("before", "dynamic_sampling"),
                FilterSpec("after", "truncated", {"max": 20}),
            )
        },
    ],
    ids=["keep ratios", "rules", "shaping", "shaping by group", "filters"],
)
def test_settings(settings, order, monkeypatch):
    same(*both(monkeypatch, Settings(**settings), dump(order)))


@pytest.mark.parametrize(
    "settings",
    [
        {"scale": "batch"},
        {"estimator": "reinforce_plus_plus"},
        {"estimator": "shrinkage"},
        {"missing": "error"},
        {"singleton": "error"},
        {"like": "trl"},
    ],
)
def test_what_is_computed_at_once(settings, monkeypatch):
    monkeypatch.setattr(group_ranges, "_MANY", 1)
    assert not Plan.of(Settings(**settings)).in_ranges(dump("in order"))


@pytest.mark.parametrize("order", ORDERS)
def test_nothing_is_copied_where_nothing_is_left_out(order, monkeypatch):
    _, result = both(monkeypatch, Settings(), dump(order))
    assert result.processed is result.original
    expected, result = both(monkeypatch, Settings(keep_pos=0.5), dump(order))
    assert result.processed is not result.original
    assert not torch.equal(result.processed.nan_to_num(7.0), result.original.nan_to_num(7.0))
    assert expected.processed is not expected.original


@pytest.mark.parametrize("order", ORDERS)
def test_columns_that_nobody_looks_at_change_nothing(order, monkeypatch):
    columns = dump(order)
    plan = Plan.of(Settings())
    needed = chunked.needed(plan, columns)
    assert not {"parts", "lengths"} & needed.keys()
    assert needed["rewards"] is columns["rewards"]
    expected, _ = both(monkeypatch, Settings(), columns)
    other = {**columns, "step": torch.randperm(len(columns["step"]))}
    same(expected, both(monkeypatch, Settings(), other)[1])


def test_a_block_in_which_nothing_is_left_out(monkeypatch):
    # The first groups have no positive row but neutral ones; in the last a half is left out.
    group = torch.arange(120) // 4
    rewards = torch.zeros(120, dtype=torch.float64)
    rewards[-4:] = torch.tensor([0.0, 0.0, 1.0, 1.0])
    columns = {"rewards": rewards, "group": group, "step": torch.zeros_like(group)}
    expected, result = both(monkeypatch, Settings(keep_pos=0.5), columns)
    same(expected, result)
    assert result.kept.tolist() == [True] * 119 + [False]


def test_few_rows_are_computed_at_once():
    columns = {"rewards": torch.tensor([1.0, 0.0]), "group": torch.tensor([0, 0])}
    # Handed on as they are, and so is the answer.
    assert chunked.run(lambda given: (given, given is columns), columns) == (columns, True)


def test_filters_look_at_every_column():
    columns = dump("in order")
    filters = (FilterSpec("after", "truncated", {"max": 20}),)
    assert chunked.needed(Plan.of(Settings(filters=filters)), columns) == columns


def test_an_error_in_a_block_is_the_error(monkeypatch):
    monkeypatch.setattr(group_ranges, "_MANY", 1)
    monkeypatch.setattr(group_ranges, "_ROWS", 10)

    def wrong(block):
        raise DataError("wrong")

    with pytest.raises(DataError, match="wrong"):
        chunked.run(wrong, dump("in order"))
