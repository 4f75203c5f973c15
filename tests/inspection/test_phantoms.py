"""Phantom advantages: what a framework's arithmetic, run on every row, gives to dead groups."""

import math

import pytest
import torch

from advcli.engine.plan import Plan
from advcli.engine.run import run
from advcli.frameworks.catalog import find, frameworks
from advcli.inspection.phantoms import Arithmetic, arithmetics, counted, dead_rows
from advcli.records.settings import Settings

NAN = math.nan


def columns(groups, order=None):
    rewards = [reward for group in groups for reward in group]
    index = [number for number, group in enumerate(groups) for _ in group]
    found = {
        "rewards": torch.tensor(rewards, dtype=torch.float64),
        "group": torch.tensor(index),
        "step": torch.tensor(index) // 3,
    }
    return found if order is None else {name: column[order] for name, column in found.items()}


# Dead at values that are inexact in float32, twice of some kinds, with and without missing rows, and live ones.
GROUPS = [
    [0.1] * 8,
    [0.0, 1.0, 1.0],
    [0.1] * 8,
    [0.1] * 7,
    [0.3] * 5,
    [0.7, 0.7, NAN, 0.7],
    [0.7] * 4,
    [1.0] * 8,
    [0.9],
    [0.2, 0.3],
    [NAN, NAN],
    [0.3] * 5,
    # torch's std of a matrix with one row is not that of a matrix with several: a live group of the size of a dead one
    # changes what the dead one gets.
    [0.9] * 6,
    [0.0, 1.0] * 3,
    [0.3, 0.3, 0.3, 0.3, 0.3, 0.3, NAN, 0.3, 0.3],
    [0.0, 0.5] * 4,
]


def test_dead_rows_by_hand():
    found = columns([[1, 1], [0, 1], [2, NAN, 2], [3], [NAN, 5]])
    dead = dead_rows(found["rewards"], found["group"], 5)
    assert dead.tolist() == [True] * 2 + [False] * 2 + [True] * 3 + [False] * 3


def test_rows_of_no_group_are_not_dead():
    assert dead_rows(torch.tensor([1.0, 1.0, 1.0]), torch.tensor([0, 0, -1]), 1).tolist() == [
        True,
        True,
        False,
    ]
    assert dead_rows(torch.tensor([1.0]), torch.tensor([-1]), 0).tolist() == [False]


@pytest.mark.parametrize("shuffled", [False, True])
def test_every_framework_as_if_all_rows_were_computed(shuffled):
    order = (
        torch.randperm(sum(map(len, GROUPS)), generator=torch.Generator().manual_seed(1))
        if shuffled
        else None
    )
    given = columns(GROUPS, order)
    dead = dead_rows(given["rewards"], given["group"], len(GROUPS))
    valid = dead & torch.isfinite(given["rewards"])
    found = arithmetics(given, dead)
    # The first rule of some is about turns, and a group of turns is not dead by its rewards alone.
    by_row = [framework for framework in frameworks() if find(framework).level == "row"]
    assert [rule.rule.partition(":")[0] for rule in found] == by_row
    compared = 0
    for framework, rule in zip(by_row, found, strict=True):
        plan = Plan.of(Settings(like=framework))
        if plan.entry.name in ("easyr1:grpo",):
            continue  # refuses groups of one, so all rows cannot be computed
        expected = run(plan, given).original.double()
        assert rule.skipped == ""
        torch.testing.assert_close(rule.advantages[valid], expected[valid], rtol=0, atol=0, equal_nan=True)
        assert rule.advantages[~dead].isnan().all()
        compared += 1
    assert compared == len(found) - 1


def test_known_phantom_of_a_float32_mean():
    # Eight times 0.1 in float32: the mean is one unit in the last place off, 7.45e-9; verl divides by 1e-6 or so.
    given = columns([[0.1] * 8, [0.0, 1.0]])
    dead = dead_rows(given["rewards"], given["group"], 2)
    verl = next(rule for rule in arithmetics(given, dead) if rule.rule == "verl:grpo")
    counts = counted(verl, dead, given["group"])
    assert (counts.groups, counts.rows) == (1, 8)
    mean = torch.full((8,), 0.1, dtype=torch.float32).mean()
    assert counts.max_abs_adv == pytest.approx(abs(0.1 - float(mean)) / 1e-6, rel=0.3)


def test_counted_by_hand():
    rule = Arithmetic("x", torch.tensor([0.0, NAN, -3.0, 2.0, 9.0, -math.inf], dtype=torch.float64))
    rows = torch.tensor([True, True, True, True, False, True])
    found = counted(rule, rows, torch.tensor([0, 0, 1, 1, 2, 3]))
    assert (found.rule, found.groups, found.rows, found.max_abs_adv) == ("x", 2, 3, math.inf)


def test_what_was_not_computed_says_why():
    found = counted(Arithmetic("x", None, "needs baselines"), torch.tensor([True]), torch.tensor([0]))
    assert (found.rows, found.skipped) == (0, "needs baselines")


def test_a_refusal_is_told_and_no_error():
    # Without any dead group nothing is run at all.
    given = columns([[0.0, 1.0]])
    found = arithmetics(given, torch.zeros(2, dtype=torch.bool))
    assert all(rule.skipped == "" and rule.advantages.isnan().all() for rule in found)
