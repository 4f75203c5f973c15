"""Percentiles of many numbers are those of numpy, which puts them in order."""

import math
import random

import numpy as np
import pytest

from advcli.stats import percentiles as module
from advcli.stats.figures import PERCENTILES
from advcli.stats.percentiles import percentiles

PERCENTS = [*PERCENTILES.values(), 0, 100, 12.5, 99.9]


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(module, "_MANY", 1)
    monkeypatch.setattr(module, "_PIECE", 7)


def drawn(kind, count, chance):
    make = {
        "normal": lambda: chance.gauss(0, 1),
        "few": lambda: chance.choice([-1.5, 0.0, -0.0, 0.25, 0.2500001, 3.0]),
        "one": lambda: -2.5,
        "wide": lambda: chance.choice([-1, 1]) * 10.0 ** chance.uniform(-320, 308),
        "close": lambda: 1.0 + chance.random() * 1e-15,
        "negative": lambda: -chance.random(),
    }[kind]
    return np.array([make() for _ in range(count)])


@pytest.mark.parametrize("kind", ["normal", "few", "one", "wide", "close", "negative"])
@pytest.mark.parametrize("count", [1, 2, 3, 10, 101, 500])
def test_as_numpy(kind, count):
    values = drawn(kind, count, random.Random(count))
    before = values.copy()
    assert percentiles(values, PERCENTS) == np.percentile(values, PERCENTS).tolist()
    assert np.array_equal(values, before)


def test_by_hand():
    values = np.array([4.0, -2.0, 0.0, 1.0, 3.0])
    assert percentiles(values, [0, 25, 50, 75, 100]) == [-2.0, 0.0, 1.0, 3.0, 4.0]
    assert percentiles(values, [10, 90]) == pytest.approx([-1.2, 3.6], abs=1e-15)


def test_of_nothing():
    assert all(math.isnan(one) for one in percentiles(np.zeros(0), PERCENTS))


def test_values_that_lie_apart_in_the_memory():
    values = np.arange(40.0).reshape(20, 2)[:, 1]
    assert percentiles(values, PERCENTS) == np.percentile(values, PERCENTS).tolist()
