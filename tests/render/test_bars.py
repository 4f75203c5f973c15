"""Bars, and many steps as a few stretches."""

import math

import pytest

from advcli.records.results.inspection import StepFigures
from advcli.render.bars import bar, binned, spark

NAN = math.nan


@pytest.mark.parametrize(
    ("value", "values", "expected"),
    [
        (1.0, [0.0, 1.0], "████"),
        (0.5, [0.0, 1.0], "██"),
        (0.0, [0.0, 1.0], ""),
        (1 / 32, [0.0, 1.0], "▏"),
        (3 / 32, [1.0], "▍"),
        # from the smallest value where one is negative
        (-1.0, [-1.0, 1.0], ""),
        (0.0, [-1.0, 1.0], "██"),
        (-1.0, [-4.0, -1.0], "███"),
        (0.0, [0.0, 0.0], ""),
        (NAN, [1.0], ""),
        (math.inf, [1.0, math.inf], "████"),
        (1.0, [NAN, 1.0], "████"),
    ],
)
def test_bar(value, values, expected):
    assert bar(value, values) == expected


@pytest.mark.parametrize(
    ("curve", "ends", "expected"),
    [
        # Between −1.7e308 and 1.7e308 lies more than the largest float.
        ([(0, -1.7e308), (1, 0.0), (2, 1.7e308)], (-1.7e308, 1.7e308), "▁▅█"),
        ([(0, NAN), (1, math.inf), (2, 1.0)], (0.0, 1.0), "  █"),
        ([(0, NAN)], (NAN, NAN), "   "),
        ([(0, 2.0), (2, 2.0)], (2.0, 2.0), "▁ ▁"),
    ],
)
def test_a_curve_of_the_largest_rewards_and_of_none(curve, ends, expected):
    assert spark(curve, 3, ends) == expected


def step(name, rows, reward, top, z=NAN, groups=1):
    out = ("max_abs_adv",) if z > 3.5 else ()
    return StepFigures(str(name), rows, groups, reward, reward, reward, top, top / 2, -top, reward, z, out)


def test_few_steps_stay_as_they_are():
    steps = [step(n, 1, 0.0, 1.0) for n in range(4)]
    assert binned(steps, 4) is steps


def test_every_step_is_in_one_stretch():
    stretches = binned([step(n, 1, 0.0, 1.0) for n in range(23)], 5)
    assert len(stretches) == 5
    assert [one.step for one in stretches] == ["0 to 4", "5 to 8", "9 to 13", "14 to 17", "18 to 22"]
    assert sum(one.rows for one in stretches) == 23


def test_figures_of_a_stretch():
    steps = [
        step("a", 1, 4.0, 2.0, z=0.5),
        step("b", 3, 0.0, 9.0, z=5.0, groups=3),
        step("c", 5, NAN, NAN),
        step("d", 1, 1.0, 1.0),
    ]
    first, second = binned(steps, 2)
    assert (first.step, first.rows, first.groups) == ("a to b", 4, 4)
    assert (first.reward_mean, first.live, first.max_abs_adv, first.robust_z) == (1.0, 1.0, 9.0, 5.0)
    assert first.outlier
    assert not second.outlier
    assert (second.reward_mean, second.max_abs_adv) == (1.0, 1.0)
    assert math.isnan(second.robust_z)
