"""The bootstrap interval: against all resamples there are, against a plain loop, and by how often it is right."""

import itertools
import math
import random
import statistics

import numpy as np
import pytest
import torch

from advcli.stats import bootstrap
from advcli.stats.bootstrap import interval


def drawn(values, **given):
    return interval(torch.tensor(values, dtype=torch.float64), **{"resamples": 2000, "seed": 0, **given})


def test_three_values_against_all_27_resamples():
    values = [0.0, 1.0, 5.0]
    means = sorted(statistics.fmean(sample) for sample in itertools.product(values, repeat=3))
    # 1 of 27 is (0, 0, 0) and 1 is (5, 5, 5): 3.7 % each, so the ends of the middle 95 % are these.
    assert (means[0], means[-1]) == (0, 5)
    assert drawn(values, resamples=20_000) == (0, 5)


def test_ten_values_against_a_plain_loop():
    values = [0.3, -0.2, 0.9, 0.1, 0.0, 0.4, -0.5, 1.2, 0.6, 0.2]
    dice = random.Random(7)
    means = sorted(statistics.fmean(dice.choices(values, k=10)) for _ in range(40_000))
    low, high = drawn(values, resamples=40_000)
    # Two sets of draws: the ends differ by their own error only.
    assert low == pytest.approx(means[1000], abs=0.01)
    assert high == pytest.approx(means[39_000], abs=0.01)


def test_it_holds_the_true_mean_about_19_times_in_20():
    draws = np.random.default_rng(3)
    samples = draws.normal(1.0, 0.5, size=(400, 60))
    inside = [
        low <= 1.0 <= high for low, high in (drawn(sample, resamples=400) for sample in samples.tolist())
    ]
    # 400 trials have a standard error of 1.1 %.
    assert 0.90 <= statistics.fmean(inside) <= 0.98


def test_a_seed_gives_one_interval_whatever_the_order():
    values = [0.1 * k * k for k in range(9)]
    assert drawn(values) == drawn(values[::-1])
    assert drawn(values) != drawn(values, seed=1)


def test_what_is_held_at_once_is_of_no_account(monkeypatch):
    values = [0.1 * k * k for k in range(9)]
    whole = drawn(values, resamples=101)
    monkeypatch.setattr(bootstrap, "_CHUNK", 20)
    assert drawn(values, resamples=101) == whole


@pytest.mark.parametrize("values", [[], [1.0]])
def test_fewer_than_two_values_have_none(values):
    assert all(math.isnan(end) for end in drawn(values))


def test_equal_values_are_certain():
    assert drawn([0.25] * 5) == (0.25, 0.25)
