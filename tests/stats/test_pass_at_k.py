"""pass@k against every set of k rows, and its interval by simulation."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from advcli.stats.pass_at_k import interval, pass_at_k


@pytest.mark.parametrize(("rows", "right"), [(1, 0), (1, 1), (5, 2), (6, 6), (6, 0), (7, 1)])
@pytest.mark.parametrize("k", [1, 2, 4, 6])
def test_it_is_the_share_of_sets_with_a_right_row(rows, right, k):
    (found,) = pass_at_k(np.array([rows]), np.array([right]), k)
    sets = list(combinations([1] * right + [0] * (rows - right), k))
    assert found == pytest.approx(np.mean([any(one) for one in sets])) if sets else np.isnan(found)


def test_for_one_row_the_interval_is_that_of_wilson():
    low, high = interval(np.array([10]), np.array([3]), 1)
    known = stats.binomtest(3, 10).proportion_ci(method="wilson")
    assert (low[0], high[0]) == pytest.approx((known.low, known.high))
    assert np.isnan(interval(np.array([3]), np.array([3]), 4)).all()


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("chance", [0.1, 0.4, 0.7])
def test_the_interval_covers(chance, k):
    right = np.random.default_rng(5).binomial(16, chance, 4000)
    low, high = interval(np.full(4000, 16), right, k)
    truth = 1 - (1 - chance) ** k
    assert ((low <= truth) & (truth <= high)).mean() >= 0.92
