"""Percentiles by hand, and of nothing."""

import math

import numpy as np
import pytest

from advcli.stats.figures import PERCENTILES
from advcli.stats.summaries.percentiles import percentiles

PERCENTS = [*PERCENTILES.values(), 0, 100, 12.5, 99.9]


def test_by_hand():
    values = np.array([4.0, -2.0, 0.0, 1.0, 3.0])
    assert percentiles(values, [0, 25, 50, 75, 100]) == [-2.0, 0.0, 1.0, 3.0, 4.0]
    assert percentiles(values, [10, 90]) == pytest.approx([-1.2, 3.6], abs=1e-15)


def test_of_nothing():
    assert all(math.isnan(one) for one in percentiles(np.zeros(0), PERCENTS))


def test_what_is_given_stays_as_it_is():
    values = np.array([3.0, 1.0, 2.0])
    percentiles(values, PERCENTS)
    assert values.tolist() == [3.0, 1.0, 2.0]
