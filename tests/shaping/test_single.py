"""Rules of one row and of equal rows, against numbers of the frameworks and numbers made by hand."""

import math

import pytest
import torch

from advcli import UsageError, compute_advantages
from advcli.shaping.single import duplicate, effort


def shaped(step, rewards, **given):
    found = compute_advantages(rewards, [0] * len(rewards), estimator="reinforce", shaping=step, **given)
    return found.original.tolist()


REWARDS, LENGTHS = [1.0, 1.0, 1.0, 0.0], [100, 200, 400, 300]


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("cosine:max=300,clamp=1", [0.875, 0.625, 0.5, -0.5]),
        ("cosine:max=300", [0.875, 0.625, 0.625, -0.5]),
        ("cosine:max=300,short_wrong=-0.5,long_wrong=0", [0.875, 0.625, 0.625, 0]),
        ("overlong:max=300,buffer=100,cap=1", [1, 1, 0, -1]),
        ("overlong:max=300,buffer=100", [1, 1, -1, -1]),
        ("overlong:max=300,buffer=100,factor=0.5,cap=1", [1, 1, 0.5, -0.5]),
        ("effort:low=effort,weight=0.5,bound=300", [4 / 3, 7 / 6, 5 / 6, 0]),
        ("effort:low=effort,weight=0", [1, 1, 1, 0]),
        ("stop_properly:truncated=cut,coef=0.5", [1, 1, 1, 0]),
        ("stop_properly:truncated=not cut,coef=0.5", [0.5, 0.5, 0.5, 0]),
        ("duplicate:response=text", [0.5, 0.5, 1, 0]),
        ("duplicate:response=text,alpha=0.5", [math.sqrt(0.5), math.sqrt(0.5), 1, 0]),
    ],
)
def test_one_group_through_every_rule(step, expected):
    columns = {"effort": [1, 1, 1, 0], "cut": [False, False, False, True], "text": ["a", "a", "b", "c"]}
    found = shaped([step], REWARDS, lengths=LENGTHS, columns=columns)
    assert found == pytest.approx(expected, abs=1e-9)


def test_correct_may_be_told_by_a_column():
    found = shaped(
        ["cosine:max=100,correct=judge == 'yes'"],
        [0.2, 0.9],
        lengths=[0, 0],
        columns={"judge": ["yes", "no"]},
    )
    assert found == [1.0, -1.0]


def test_equal_responses_of_another_group_or_without_a_reward_do_not_count():
    found = compute_advantages(
        [1.0, 1.0, 1.0, math.nan],
        [0, 0, 1, 1],
        estimator="reinforce",
        shaping=["duplicate:response=text"],
        columns={"text": ["a", "a", "a", "a"]},
    )
    assert found.original.tolist() == pytest.approx([0.5, 0.5, 1.0, math.nan], nan_ok=True)


def test_a_response_that_is_not_there_equals_none():
    assert shaped(["duplicate:response=text"], [1.0, 1.0], columns={"text": [None, None]}) == [1.0, 1.0]


def test_lists_of_messages_are_compared_whole():
    column = {
        "text": [
            [{"role": "a", "content": "x"}],
            [{"role": "a", "content": "x"}],
            [{"role": "a", "content": "y"}],
        ]
    }
    assert shaped(["duplicate:response=text"], [1.0, 1.0, 1.0], columns=column) == [0.5, 0.5, 1.0]


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(UsageError, match="the shaping names 'text', but there is no such column"):
        shaped(["duplicate:response=text"], [1.0])


def test_no_rows_have_no_duplicates():
    none = torch.zeros(0)
    assert duplicate(none, none.long(), none).tolist() == []


def test_a_row_that_does_not_say_whether_low_effort_is_asked_is_not_asked():
    found = effort(torch.ones(3), torch.zeros(3), torch.tensor([1.0, math.nan, 0.0]), weight=0.5)
    assert found.tolist() == [1.5, 1, 1]
