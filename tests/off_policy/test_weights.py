"""Weights and rejection by the importance ratio, against plain loops."""

import math

import pytest
import torch
from off_policy.ratios import tokens

from advcli.common.errors import UsageError
from advcli.off_policy.tokens import LogProbs
from advcli.off_policy.weights import mis, opsm, reject, tis

# Ratios: row 0 has 3 and 0.6, row 1 has 1/8, row 2 has 1 and a token that is not trained on.
RATIOS = [[3.0, 0.6], [0.125], [1.0, 9.0]]
MASK = [[1, 1], [1], [1, 0]]
FLAT = torch.tensor([math.log(x) for row in RATIOS for x in row], dtype=torch.float64)
TOKENS = LogProbs.of(
    torch.full((5,), -3.0, dtype=torch.float64),
    FLAT - 3,
    torch.tensor([2, 1, 2]),
    torch.tensor([m for row in MASK for m in row]),
)


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("token", [3.0, 0.6, 0.25, 1.0]),
        ("sequence", [1.8, 1.8, 0.25, 1.0]),
        ("geometric", [1.8**0.5, 1.8**0.5, 0.25, 1.0]),
    ],
)
def test_truncated_weights(level, expected):
    found = tis(TOKENS, level=level, low=0.25, high=5.0)
    assert found.weights[:4].tolist() == pytest.approx(expected)
    assert found.mask.tolist() == [1, 1, 1, 1, 0]
    assert tis(TOKENS, high=2.5).weights[0] == 2.5


@pytest.mark.parametrize(
    ("level", "mask", "weights"),
    [
        ("token", [0, 1, 0, 1, 0], [3.0, 0.6, 0.125, 1.0]),
        ("sequence", [1, 1, 0, 1, 0], [1.8, 1.8, 0.125, 1.0]),
        ("geometric", [1, 1, 0, 1, 0], [1.8**0.5, 1.8**0.5, 0.125, 1.0]),
    ],
)
def test_masked_weights(level, mask, weights):
    found = mis(TOKENS, level=level)
    assert found.mask.tolist() == mask
    assert found.weights[:4].tolist() == pytest.approx(weights)


@pytest.mark.parametrize(
    ("knobs", "mask"),
    [
        ({}, [1, 1, 0, 1, 0]),
        ({"high": 1.7}, [0, 0, 0, 1, 0]),
        ({"level": "geometric", "high": 1.7}, [1, 1, 0, 1, 0]),
        ({"level": "token"}, [0, 1, 0, 1, 0]),
        ({"low": 0.01, "high": 9.0, "veto": 0.7}, [0, 0, 0, 1, 0]),
        ({"low": 0.01, "high": 9.0, "veto": 0.4}, [1, 1, 0, 1, 0]),
    ],
)
def test_rejection(knobs, mask):
    found = reject(TOKENS, **knobs)
    assert found.mask.tolist() == mask
    assert found.weights is None


def test_off_policy_sequence_mask():
    # Means of rollout minus trainer: -ln 1.8 / 2, ln 8, 0.
    found = opsm(TOKENS, torch.tensor([-1.0, -1.0, -1.0]), delta=0.1)
    assert found.mask.tolist() == [1, 1, 0, 1, 0]
    assert opsm(TOKENS, torch.tensor([-1.0, 0.0, -1.0]), delta=0.1).mask.tolist() == [1, 1, 1, 1, 0]


@pytest.mark.parametrize("function", [tis, mis, reject])
def test_bounds_in_the_wrong_order(function):
    name = function.__name__
    with pytest.raises(UsageError, match=f"^{name}: low is 2 and high is 1, expected low below high"):
        function(TOKENS, low=2.0, high=1.0)
    with pytest.raises(UsageError, match=f"^{name}: low is 1 and high is 1"):
        function(TOKENS, low=1.0, high=1.0)


def test_what_is_done_without_a_knob():
    rows = tokens([2.5], [0.25], [1.5])
    assert tis(rows).weights.tolist() == pytest.approx([2.0, 0.25, 1.5])
    assert mis(rows).mask.tolist() == reject(rows).mask.tolist() == [0, 0, 1]
    assert mis(tokens([2.5, 0.4])).mask.tolist() == [0, 0]


@pytest.mark.parametrize("function", [mis, reject])
@pytest.mark.parametrize("bounds", [{"low": 1.0}, {"high": 1.0}])
def test_a_bound_lies_inside(function, bounds):
    assert function(tokens([1.0]), **bounds).mask.tolist() == [1]


def test_a_ratio_at_the_veto_is_none():
    assert reject(tokens([1.0]), veto=1.0).mask.tolist() == [1]
