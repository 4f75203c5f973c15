"""Weights and rejection by the importance ratio, against plain loops."""

import math

import pytest
import torch

from advcli.errors import UsageError
from advcli.filters.off_policy import mis, opsm, reject, tis
from advcli.off_policy.tokens import LogProbs

# log ratios: row 0 has ln 4 and ln 1/2, row 1 has ln 1/8, row 2 has 0 and a token that is not trained on.
RATIOS = [[4.0, 0.5], [0.125], [1.0, 9.0]]
MASK = [[1, 1], [1], [1, 0]]
FLAT = torch.tensor([math.log(x) for row in RATIOS for x in row]).double()
TOKENS = LogProbs.of(
    torch.full((5,), -3.0).double(),
    FLAT - 3,
    torch.tensor([2, 1, 2]),
    torch.tensor([m for row in MASK for m in row]),
)
PRODUCT = [2.0, 0.125, 1.0]
GEOMETRIC = [math.sqrt(2.0), 0.125, 1.0]


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("token", [4.0, 0.5, 0.25, 1.0]),
        ("sequence", [2.0, 2.0, 0.25, 1.0]),
        ("geometric", [2**0.5, 2**0.5, 0.25, 1.0]),
    ],
)
def test_truncated_weights(level, expected):
    found = tis(TOKENS, level=level, low=0.25, high=5.0)
    assert found.weights[:4].tolist() == pytest.approx(expected)
    assert found.mask.tolist() == [1, 1, 1, 1, 0]
    assert tis(TOKENS, high=3.0).weights[0] == 3.0


@pytest.mark.parametrize(
    ("level", "mask", "weights"),
    [
        ("token", [0, 1, 0, 1, 0], [4.0, 0.5, 0.125, 1.0]),
        ("sequence", [1, 1, 0, 1, 0], [2.0, 2.0, 0.125, 1.0]),
        ("geometric", [1, 1, 0, 1, 0], [2**0.5, 2**0.5, 0.125, 1.0]),
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
        ({"high": 1.9}, [0, 0, 0, 1, 0]),
        ({"level": "geometric", "high": 1.9}, [1, 1, 0, 1, 0]),
        ({"level": "token"}, [0, 1, 0, 1, 0]),
        ({"low": 0.01, "high": 9.0, "veto": 0.6}, [0, 0, 0, 1, 0]),
        ({"low": 0.01, "high": 9.0, "veto": 0.4}, [1, 1, 0, 1, 0]),
    ],
)
def test_rejection(knobs, mask):
    found = reject(TOKENS, **knobs)
    assert found.mask.tolist() == mask
    assert found.weights is None


def test_off_policy_sequence_mask():
    # Means of rollout minus trainer: -ln 2 / 2, ln 8, 0.
    found = opsm(TOKENS, torch.tensor([-1.0, -1.0, -1.0]), delta=0.1)
    assert found.mask.tolist() == [1, 1, 0, 1, 0]
    assert opsm(TOKENS, torch.tensor([-1.0, 0.0, -1.0]), delta=0.1).mask.tolist() == [1, 1, 1, 1, 0]


@pytest.mark.parametrize("function", [tis, mis, reject])
def test_bounds_in_the_wrong_order(function):
    with pytest.raises(UsageError, match="low is 2 and high is 1, expected low below high"):
        function(TOKENS, low=2.0, high=1.0)
