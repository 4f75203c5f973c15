"""Steps of two data sets, by hand and against a plain loop."""

import math
import random
import statistics

import pytest
import torch

from advcli.records.results.between import StepPair
from advcli.records.settings import AdvantageTable
from advcli.records.table import Rows
from advcli.stats.inference.paired_steps import per_step, stretches

NAN = math.nan


def side(rows):
    """From (step, group, reward, processed advantage, kept) of each row."""
    step, group, reward, processed, kept = (list(column) for column in zip(*rows, strict=True))
    tensor = torch.tensor(processed, dtype=torch.float64)
    table = Rows(
        rewards=torch.tensor(reward, dtype=torch.float64),
        group=torch.tensor(group),
        count=max(group) + 1,
        step=torch.zeros(len(step), dtype=torch.int64),
    )
    return table, AdvantageTable(tensor, tensor, torch.tensor(kept)), torch.tensor(step)


def test_by_hand():
    # Numbers of the steps: 0 is "10", 1 is "9", 2 is only in A.
    a = side(
        [
            (0, 0, 1, 1, True),
            (0, 0, 0, -1, True),
            (0, 1, 1, 0, True),
            (0, 1, 1, 0, True),
            (1, 2, NAN, NAN, False),
            (1, 2, 3, NAN, False),
            (2, 3, 9, 1, True),
            (1, -1, 7, NAN, False),
        ]
    )
    b = side([(1, 0, 5, 1, False), (1, 0, 6, 1, True), (0, 1, NAN, NAN, False)])
    first, second = per_step(a, b, ["10", "9", "11"])
    assert (first.step, second.step) == ("9", "10")
    assert (first.rows_a, first.mean_a, first.rows_b, first.mean_b, first.difference) == (1, 3, 2, 5.5, 2.5)
    assert (first.groups_a, first.able_a, first.groups_b, first.able_b) == (1, 0, 1, 0)
    # One kept reward on a side: no group can be live or dead.
    assert math.isnan(first.live_a)
    assert math.isnan(first.live_b)
    assert (second.rows_a, second.mean_a, second.groups_a, second.live_a) == (4, 0.75, 2, 0.5)
    assert (second.rows_b, second.groups_b, second.able_b) == (0, 1, 0)
    assert math.isnan(second.mean_b)
    assert math.isnan(second.difference)


def test_a_group_over_several_steps_is_counted_at_each():
    rewards = [(0, 1), (0, 0), (1, 0), (1, 0)]
    both = side([(step, 0, reward, 1, True) for step, reward in rewards])
    found = per_step(both, both, ["1", "2"])
    assert [(step.groups_a, step.live_a) for step in found] == [(1, 1), (1, 0)]


def test_a_group_lives_by_its_rewards_and_not_by_an_advantage():
    # Two groups with another reward, one dead group with a phantom advantage, two rows alone with one.
    rows = [(0, 0, 0, 0, True), (0, 0, 1, 0, True), (0, 1, 1, 5, True), (0, 1, 1, 5, True)]
    rows += [(0, 2, 0, 1, True), (0, 3, 1, 1, True), (0, 4, 0, 0, True), (0, 4, 1, 0, True)]
    (found,) = per_step(side(rows), side(rows), ["1"])
    assert (found.groups_a, found.able_a) == (5, 3)
    assert found.live_a == pytest.approx(2 / 3)


def stretch(dice, name):
    rows, groups = (dice.randrange(2), dice.randrange(2)), (dice.randrange(1, 5), dice.randrange(1, 5))
    means = [dice.random() if many else NAN for many in rows]
    able = [dice.randrange(1, many + 1) for many in groups]
    return StepPair(name, *rows, *means, means[1] - means[0], *groups, *able, dice.random(), dice.random())


@pytest.mark.parametrize(
    ("steps", "most", "sizes"), [(7, 3, [3, 3, 1]), (6, 3, [2, 2, 2]), (3, 20, [1, 1, 1]), (0, 3, [])]
)
def test_stretches_against_a_plain_loop(steps, most, sizes):
    dice = random.Random(5)
    given = [stretch(dice, str(number)) for number in range(steps)]
    found = stretches(given, most)
    assert [sum(step.groups_a for step in given[: sum(sizes[: at + 1])]) for at in range(len(sizes))] == [
        sum(one.groups_a for one in found[: at + 1]) for at in range(len(found))
    ]
    start = 0
    for size, one in zip(sizes, found, strict=True):
        part = given[start : start + size]
        start += size
        assert one.step == (part[0].step if size == 1 else f"{part[0].step}–{part[-1].step}")
        rewards = [step.mean_a for step in part for _ in range(step.rows_a)]
        others = [step.mean_b for step in part for _ in range(step.rows_b)]
        assert one.mean_b == pytest.approx(statistics.fmean(others) if others else NAN, nan_ok=True)
        live = [step.live_b for step in part for _ in range(step.able_b)]
        assert one.rows_a == len(rewards)
        assert one.mean_a == pytest.approx(statistics.fmean(rewards) if rewards else NAN, nan_ok=True)
        assert one.live_b == pytest.approx(statistics.fmean(live))
        assert one.difference == pytest.approx(one.mean_b - one.mean_a, nan_ok=True)
