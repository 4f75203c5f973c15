"""McNemar's test against SciPy's binomial test, Holm's correction against the paper's procedure step by step."""

import math
import random

import numpy as np
import pytest
from scipy import stats

from advcli.stats.inference.significance import false_discovery, holm, mcnemar


@pytest.mark.parametrize(
    ("gained", "lost"), [(5, 0), (0, 5), (10, 3), (3, 3), (1000, 900), (100_000, 99_000), (2000, 0)]
)
def test_mcnemar(gained, lost):
    expected = stats.binomtest(min(gained, lost), gained + lost, 0.5).pvalue
    assert mcnemar(gained, lost) == pytest.approx(expected, rel=1e-8)


def test_mcnemar_without_a_change():
    assert mcnemar(0, 0) == 1


def rejected(p, level):
    """Holm 1979: from the smallest p on, until one is above level / (those that are left)."""
    order = sorted(range(len(p)), key=p.__getitem__)
    found = set()
    for rank, place in enumerate(order):
        if p[place] > level / (len(p) - rank):
            break
        found.add(place)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_holm_rejects_what_the_procedure_rejects(seed):
    dice = random.Random(seed)
    p = [dice.random() ** 3 for _ in range(7)]
    for level in (0.01, 0.05, 0.2, 0.5):
        assert {place for place, one in enumerate(holm(p)) if one <= level} == rejected(p, level)


def test_undefined_p_values_are_not_counted():
    found = holm([0.02, math.nan, 0.03])
    assert (found[0], found[2]) == (0.04, 0.04)
    assert math.isnan(found[1])
    assert holm([]) == []


def test_false_discovery_is_that_of_scipy():
    p = np.random.default_rng(6).random(50) ** 3
    assert false_discovery(p) == pytest.approx(stats.false_discovery_control(p))
    assert np.isnan(false_discovery(np.array([np.nan, 0.5]))).tolist() == [True, False]
