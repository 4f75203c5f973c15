"""Rows without an advantage of their own: every rule, every count in the messages, and what lies beyond a float."""

import math
import sys

import pytest
import torch

from advcli.common.errors import DataError
from advcli.engine.fallbacks import bounded, missing_rewards, singletons

NAN = math.nan
# Group 1 has one valid row, group 2 none; the last row has no group.
GROUP = torch.tensor([0, 0, 1, 1, 2, -1])
VALID = torch.tensor([True, True, True, False, False, False])
COLUMNS = {"group": GROUP, "rewards": torch.tensor([1.0, 0.0, 7.0, NAN, NAN, 9.0], dtype=torch.float64)}
ORIGINAL = torch.tensor([0.5, -0.5, 3.0, 4.0, 5.0, 6.0], dtype=torch.float64)


def same(found, expected):
    assert found.tolist() == pytest.approx(expected, abs=0, nan_ok=True)


@pytest.mark.parametrize(("rule", "filled"), [("null", NAN), ("zero", 0.0), ("raw", 7.0)])
def test_the_only_row_of_a_group(rule, filled):
    same(singletons(ORIGINAL, COLUMNS, VALID, rule), [0.5, -0.5, filled, 4.0, 5.0, 6.0])


@pytest.mark.parametrize("rule", ["null", "zero", "raw", "error"])
def test_nothing_changes_where_no_group_has_one_row(rule):
    both = torch.tensor([True, True, False, False, False, False])
    assert singletons(ORIGINAL, COLUMNS, both, rule) is ORIGINAL
    none = torch.zeros(6, dtype=torch.bool)
    assert singletons(ORIGINAL, COLUMNS, none, rule) is ORIGINAL
    empty = {"group": torch.zeros(0, dtype=torch.int64), "rewards": torch.zeros(0)}
    assert not len(singletons(torch.zeros(0), empty, torch.zeros(0, dtype=torch.bool), rule))


@pytest.mark.parametrize(
    ("valid", "said"),
    [
        (
            VALID,
            "1 group has one valid row (first: row 3), expected two or more; try --singleton null, zero or raw",
        ),
        (
            torch.tensor([False, True, False, True, False, False]),
            "2 groups have one valid row (first: row 2), expected two or more; try --singleton null, zero or raw",
        ),
    ],
)
def test_the_only_row_of_a_group_is_an_error_where_that_is_asked_for(valid, said):
    with pytest.raises(DataError) as caught:
        singletons(ORIGINAL, COLUMNS, valid, "error")
    assert str(caught.value) == said


def test_the_turns_of_the_only_rollout_of_a_group():
    # Group 0 has two rollouts, 5 of two turns; group 1 has one of two turns; a row of group 2 is not valid.
    columns = {
        "group": torch.tensor([0, 0, 0, 1, 1, 2, 2]),
        "rollout": torch.tensor([5, 5, 6, 7, 7, 8, 8]),
        "rewards": torch.arange(7.0),
    }
    valid = torch.tensor([True, True, True, True, True, False, True])
    given = torch.full((7,), 9.0)
    same(singletons(given, columns, valid, "raw", by_turn=True), [9.0, 9.0, 9.0, 3.0, 4.0, 9.0, 6.0])
    # As rows, only the last is alone.
    same(singletons(given, columns, valid, "raw"), [9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 6.0])


def test_rows_that_are_not_valid_are_no_turns():
    # The first turns of both rollouts of a group are not valid: their second ones are the first that count.
    columns = {
        "group": torch.tensor([0, 0, 0, 0]),
        "rollout": torch.tensor([1, 1, 2, 2]),
        "rewards": torch.arange(4.0),
    }
    valid = torch.tensor([False, True, False, True])
    given = torch.full((4,), 9.0)
    assert singletons(given, columns, valid, "zero", by_turn=True) is given
    same(
        singletons(given, columns, torch.tensor([False, True, False, False]), "zero", by_turn=True),
        [9, 0, 9, 9],
    )


@pytest.mark.parametrize(
    ("rule", "expected"),
    [("null", [0.5, -0.5, 3.0, 4.0, 5.0, 6.0]), ("zero", [0.5, -0.5, 3.0, 0.0, 0.0, 6.0])],
)
def test_rows_without_a_reward(rule, expected):
    same(missing_rewards(ORIGINAL, GROUP, VALID, rule), expected)


def test_the_first_group_may_lack_a_reward_too():
    valid = torch.tensor([False, True, True, True, True, False])
    same(missing_rewards(ORIGINAL, GROUP, valid, "zero"), [0.0, -0.5, 3.0, 4.0, 5.0, 6.0])


@pytest.mark.parametrize(
    ("valid", "said"),
    [
        (VALID, "2 rewards are missing (first: row 4), expected a finite number; try --missing null or zero"),
        (
            torch.tensor([True, True, True, True, False, False]),
            "1 reward is missing (first: row 5), expected a finite number; try --missing null or zero",
        ),
    ],
)
def test_rows_without_a_reward_are_an_error_where_that_is_asked_for(valid, said):
    with pytest.raises(DataError) as caught:
        missing_rewards(ORIGINAL, GROUP, valid, "error")
    assert str(caught.value) == said


def test_no_error_where_nothing_is_missing():
    valid = torch.tensor([True, True, True, True, True, False])
    assert missing_rewards(ORIGINAL, GROUP, valid, "error") is ORIGINAL


def bound(advantages, rewards, group, valid):
    columns = {"group": torch.tensor(group), "rewards": torch.tensor(rewards, dtype=torch.float64)}
    found, said = bounded(torch.tensor(advantages, dtype=torch.float64), columns, torch.tensor(valid))
    return found.tolist(), [str(remark) for remark in said]


def test_infinite_advantages_become_undefined():
    found, said = bound([math.inf, 1.0, -math.inf, NAN], [1.0] * 4, [0, 0, 1, 1], [True] * 4)
    assert found == pytest.approx([NAN, 1.0, NAN, NAN], nan_ok=True)
    # What was undefined before is no number that a float cannot hold.
    assert said == ["2 advantages are too large for a float: null"]
    assert bound([math.inf], [1.0], [0], [True])[1] == ["1 advantage is too large for a float: null"]


@pytest.mark.parametrize(
    ("reward", "valid", "many"),
    [
        # The square of 2^511 is a float, that of 2^512 is not; nor is that of a reward which nobody computed with.
        (2.0**511, True, 0),
        (sys.float_info.max**0.5, True, 0),
        (2.0**512, True, 2),
        (-(2.0**512), True, 2),
        (2.0**512, False, 0),
    ],
)
def test_what_comes_of_a_reward_without_a_square(reward, valid, many):
    # In group 1 two valid rows are undefined; group 0 is undefined too, for another reason; the last has no group.
    found, said = bound(
        [NAN, 1.0, NAN, NAN, NAN, NAN],
        [0.0, 1.0, reward, 1.0, NAN, 1.0],
        [0, 0, 1, 1, 1, -1],
        [True, True, valid, True, False, False],
    )
    assert found == pytest.approx([NAN, 1.0, NAN, NAN, NAN, NAN], nan_ok=True)
    assert said == ([f"{many} advantages are too large for a float: null"] if many else [])


def test_a_large_reward_in_the_first_group_says_nothing_of_rows_without_a_group():
    found, said = bound(
        [NAN, 2.0, NAN, 1.0], [1e200, 1.0, 1.0, 1.0], [0, 0, -1, 1], [True, True, False, True]
    )
    assert found == pytest.approx([NAN, 2.0, NAN, 1.0], nan_ok=True)
    assert said == ["1 advantage is too large for a float: null"]


def test_nothing_is_copied_where_all_is_finite():
    advantages = torch.tensor([1.0, NAN])
    found, said = bounded(
        advantages, {"group": torch.tensor([0, 0]), "rewards": torch.ones(2)}, torch.ones(2) > 0
    )
    assert found is advantages
    assert said == ()
