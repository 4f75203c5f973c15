"""`NAME OP NUMBER`, and the figures that have a name."""

import math

import pytest

from advcli.common.errors import UsageError
from advcli.inspection.bounds import FIGURES, bound
from advcli.records.results.inspection import (
    Facts,
    Files,
    Inspection,
    Phantoms,
    RewardSignal,
    Spreads,
    StepFigures,
)

NAN = math.nan


def found():
    signal = RewardSignal(
        name="r",
        valid=97,
        missing=3,
        missing_by_cause={"null": 3},
        min=-1.0,
        mean=0.25,
        mean_over_groups=0.25,
        max=2.0,
        distinct=9,
        at_max=0.1,
        live_groups=10,
        dead_groups=8,
        dead_groups_all_max=4,
        dead_groups_all_min=2,
        near_dead_groups=5,
        singletons=2,
        live_rows=60,
        variance=Spreads(1.0, 1.0, 2.0),
        p_dead=(),
    )
    step = StepFigures("1", 100, 20, 0.25, 0.5, 0.7, 12.0, 3.0, 5.0, NAN, 9.0, ("max_abs_adv",))
    facts = Facts(
        rows=100,
        groups=20,
        steps=1,
        sizes={5: 20},
        rewards=(signal,),
        mean_abs_adv=0.7,
        max_abs_adv=12.0,
        effective_rows=44.5,
        phantoms=(Phantoms("a", 1, 5, 0.1), Phantoms("b", 6, 7, 0.1)),
        constant_outcome={},
        parts=None,
        length=None,
        per_step=(step,),
    )
    return Inspection(Files((), "generic", {}, "", 11, ("x", "y")), facts, {})


VALUES = {
    "rows": 100,
    "groups": 20,
    "steps": 1,
    # Of the 18 groups with two or more rewards.
    "dead": 8 / 18,
    "dead_all_max": 4 / 18,
    "dead_all_min": 2 / 18,
    "near_dead": 5 / 18,
    "singletons": 2,
    "missing": 3,
    "duplicates": 11,
    "lint": 2,
    "live": 10 / 18,
    "live_rows": 0.6,
    "effective_rows": 44.5,
    "reward_mean": 0.25,
    "reward_min": -1,
    "reward_max": 2,
    "mean_abs_adv": 0.7,
    "max_abs_adv": 12,
    "phantoms": 6,
    "outlier_steps": 1,
}
UNDEFINED = ("length_corr", "conflicts")


def test_every_figure_is_tested_here():
    assert set(FIGURES) == {*VALUES, *UNDEFINED}


@pytest.mark.parametrize("name", VALUES)
def test_figure(name):
    checked = bound(f"{name} == {VALUES[name]}").check(found())
    assert checked.held
    assert checked.value == pytest.approx(VALUES[name])


@pytest.mark.parametrize("name", UNDEFINED)
@pytest.mark.parametrize("sign", ["<", ">", "!="])
def test_an_undefined_figure_holds_nothing(name, sign):
    checked = bound(f"{name} {sign} 0").check(found())
    assert math.isnan(checked.value)
    assert not checked.held


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("missing > 2", True),
        ("missing > 3", False),
        ("missing>=3", True),
        (" missing < 3 ", False),
        ("missing <= 3", True),
        ("missing == 3.0", True),
        ("missing != 3", False),
        ("reward_min < -5e-1", True),
        ("rows < inf", True),
    ],
)
def test_operators(text, held):
    assert bound(text).check(found()).held is held


@pytest.mark.parametrize(
    "text", ["", "dead", "dead >", "dead > x", "dead > nan", "dead => 1", "> 1", "dead > 1 2"]
)
def test_what_is_no_condition(text):
    with pytest.raises(UsageError, match="expected NAME OP NUMBER"):
        bound(text)


def test_an_unknown_name_lists_the_names():
    with pytest.raises(UsageError, match=r"no figure 'alive2'; try rows, groups.*max_abs_adv"):
        bound("alive2 > 1")
