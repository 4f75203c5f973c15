"""Two parts make the whole."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from advcli.stats.summaries.moments import CoMoments, Moments


def test_by_hand():
    moments = Moments.of(torch.tensor([1.0, 2.0, 6.0]))
    assert (moments.count, moments.mean, moments.squares, moments.low, moments.high) == (
        3,
        3.0,
        14.0,
        1.0,
        6.0,
    )
    assert moments.std(ddof=1) == pytest.approx(math.sqrt(7))
    weighted = Moments.of(torch.tensor([1.0, 4.0]), torch.tensor([2.0, 1.0]))
    assert (weighted.weight, weighted.mean, weighted.squares) == (3.0, 2.0, 6.0)


def test_nothing():
    nothing = Moments.of(torch.zeros(0))
    assert math.isnan(nothing.mean)
    assert math.isnan(nothing.std(ddof=1))
    one = Moments.of(torch.tensor([5.0]))
    assert nothing + one == one
    assert one + nothing == one
    assert math.isnan(one.std(ddof=1))
    weightless = Moments.of(torch.tensor([5.0]), torch.tensor([math.nan]))
    assert (weightless + one).mean == 5.0
    assert (weightless + one).count == 2


@settings(deadline=None, max_examples=60, derandomize=True)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30), st.integers(0, 30), st.booleans())
def test_parts_are_as_numpy_has_the_whole(values, cut, weigh):
    v = np.array(values)
    w = np.arange(1.0, len(v) + 1) if weigh else np.ones(len(v))
    first, second = (slice(None, cut), slice(cut, None))
    parts = [
        Moments.of(torch.from_numpy(v[s]), torch.from_numpy(w[s]) if weigh else None) for s in (first, second)
    ]
    whole = parts[0] + parts[1]
    mean = np.average(v, weights=w)
    assert whole.count == len(v)
    assert whole.mean == pytest.approx(mean, rel=1e-12, abs=1e-9)
    assert whole.squares == pytest.approx(np.sum(w * (v - mean) ** 2), rel=1e-9, abs=1e-6)
    assert (whole.low, whole.high) == (v.min(), v.max())


def test_the_largest_rewards_have_no_mean_and_warn_of_nothing():
    found = Moments.of(torch.tensor([1.7e308, 1.7e308, 1.6e308], dtype=torch.float64))
    assert (found.count, found.low, found.high) == (3, 1.6e308, 1.7e308)
    assert not math.isfinite(found.mean)
    assert not math.isfinite(found.std(ddof=0))


@pytest.mark.parametrize("odd", [[], [math.nan, math.inf, -math.inf], [2.5]])
def test_a_column_beside_itself_is_a_column_beside_its_copy(odd):
    values = torch.tensor([0.1, 0.7, -3.0, 1e-9, *odd], dtype=torch.float64)
    assert CoMoments.of(values, values) == CoMoments.of(values, values.clone())
    for nothing in (torch.zeros(0), torch.tensor([math.nan])):
        assert CoMoments.of(nothing, nothing) == CoMoments(0, 0.0, 0.0, 0.0, 0.0, 0.0)
