"""Student's t against SciPy."""

import math

import pytest
from scipy import stats

from advcli.stats.inference.student import quantile, two_sided

FREE = [1, 1.3, 2, 3.7, 9, 30, 30.5, 100, 1e3, 1e5]


@pytest.mark.parametrize("df", FREE)
@pytest.mark.parametrize("t", [0, 0.1, 1, -2, 3, 5, 10, 40, 100])
def test_tails(t, df):
    assert two_sided(t, df) == pytest.approx(2 * stats.t.sf(abs(t), df), abs=1e-8)


@pytest.mark.parametrize("df", FREE)
@pytest.mark.parametrize("p", [0.5, 0.8, 0.975, 0.9995])
def test_quantiles(p, df):
    assert quantile(p, df) == pytest.approx(stats.t.ppf(p, df), rel=1e-6, abs=1e-8)


def test_what_is_undefined_stays_so():
    assert math.isnan(two_sided(math.nan, 3))
    assert math.isnan(two_sided(1.0, math.nan))
    assert two_sided(math.inf, 5) == pytest.approx(0, abs=1e-8)
