"""Columns for turns of any kind."""

import numpy as np
import pytest
import torch

from advcli import UsageError
from advcli.api.turns import turn_columns

GROUP = torch.tensor([0, 0])


def states(anchors, **given):
    return turn_columns(GROUP, 0.0, anchors, given.get("turn_rewards"), given.get("roles", {}))[
        "anchor"
    ].tolist()


@pytest.mark.parametrize(
    "same",
    [
        [np.array([1, 2]), np.array([1, 2])],
        [(1, 2), [1, 2]],
        [{"a": 1, "b": 2}, {"b": 2, "a": 1}],
        [{1, 2}, {2, 1}],
        [3, 3.0],
    ],
)
def test_states_are_equal_by_what_is_in_them(same):
    assert states(same) == [0, 0]


def test_tensors_and_nothing():
    assert states(torch.tensor([[1, 2], [1, 3]])) == [0, 1]
    assert states([None, float("nan")]) == [-1, -1]


def test_lists_of_turns():
    found = turn_columns(GROUP, 0.0, [["s", "t"], ["s"]], [[0.5, None], [1]], {"agent": ["x", "y"]})
    assert found["anchor"].tolist() == [0, 1, 0]
    assert found["turn_counts"].tolist() == [2, 1]
    assert found["turn_rewards"].isnan().tolist() == [False, True, False]
    assert found["agent"].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"anchors": ["s"]}, "anchors has 1 values, expected 2"),
        ({"turn_rewards": [[1]]}, "turn_rewards has 1 values, expected 2"),
        ({"turn_rewards": [["x"], [1]]}, "expected numbers"),
        ({"roles": {"valid": [1]}}, r"roles\['valid'\] has 1 values, expected 2"),
        ({"roles": {"valid": ["yes", 1]}}, "valid is .*, expected numbers"),
        ({"roles": {"state": [1, 1]}}, "there is no role 'state'"),
    ],
)
def test_what_makes_no_sense(given, said):
    with pytest.raises(UsageError, match=said):
        turn_columns(GROUP, 0.0, given.get("anchors"), given.get("turn_rewards"), given.get("roles", {}))
