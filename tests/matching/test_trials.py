"""How well advantages fit a log: every figure by hand."""

import math

import numpy as np
import pytest
import torch
from searched import problem

from advcli.matching.trials import judge, predict, tried

NAN = math.nan
GROUP = [0, 0, 1, 1]


def centred(c):
    return (c.framework, c.estimator, c.scale) == (None, "grpo", "none")


def trial(predicted, logged, rewards=(0.0, 1.0, 0.0, 1.0), group=GROUP):
    given = problem(list(rewards), group, logged, only=centred)
    part = given.whole(given.partitions[0])
    return judge(given.candidates[0], given.partitions[0], part, torch.tensor(predicted).double())


def test_all_rows_fit():
    seen = trial([-0.5, 0.5, -0.5, 0.5], [-0.5, 0.5, -0.5, 0.5])
    assert (seen.explained, seen.share, seen.misses, seen.max_abs) == (True, 1.0, 0, 0.0)
    assert seen.complete


def test_rows_that_do_not_fit_are_counted():
    seen = trial([-0.5, 0.5, -0.5, 0.75], [-0.5, 0.5, -0.25, 0.5])
    assert (seen.explained, seen.share, seen.misses, seen.max_abs) == (False, 0.5, 2, 0.25)


@pytest.mark.parametrize(("off", "fits"), [(0.9, True), (1.1, False)])
def test_the_tolerance_is_that_of_the_log(off, fits):
    # Thirds are stored with all digits; halves could be rounded to one decimal, and a rule then may be off by that.
    logged = [-1 / 3, 1 / 3, -2 / 3, 2 / 3]
    tolerance = 1e-5 * 2 / 3 + 1e-6
    seen = trial([logged[0] + off * tolerance, *logged[1:]], logged)
    assert (seen.share, seen.misses) == ((1.0, 0) if fits else (0.75, 1))
    assert not seen.explained


def test_a_rule_without_an_advantage_where_the_log_has_one_does_not_fit():
    seen = trial([NAN, 0.5, -0.5, 0.5], [-0.5, 0.5, -0.5, 0.5])
    assert not seen.explained
    assert (seen.misses, seen.max_abs) == (1, 0.0)


def test_rows_without_a_logged_advantage_are_not_compared_but_counted():
    seen = trial([NAN, 0.5, 9.0, 0.5], [NAN, 0.5, NAN, 0.5])
    assert seen.explained
    assert seen.nulls == 0.5


@pytest.mark.parametrize(
    ("logged", "core"),
    [
        ([-0.5, 0.5, -0.5, 0.5, 0.25, -0.25, 0.0], True),
        ([-0.5, 0.5, -0.5, 0.5, 0.31, -0.31, 0.1], False),
    ],
)
def test_the_core_fits_but_for_zeros(logged, core):
    predicted = [-0.5, 0.5, -0.5, 0.5, 0.25, -0.25, 0.125]
    assert trial(predicted, logged, rewards=[0.0] * 7, group=[0] * 7).core is core


def test_the_core_fits_but_for_the_bounds():
    predicted, logged = [-2.0, -0.5, 0.25, 0.5, 3.0], [-1.0, -0.5, 0.25, 0.5, 1.0]
    seen = trial(predicted, logged, rewards=[0.0] * 5, group=[0] * 5)
    assert seen.core
    assert not seen.explained


def test_float32_noise_of_dead_groups_is_allowed_and_nothing_else():
    one = np.float32(0.1)
    total = np.float32(0)
    for _ in range(8):
        total += one
    off = abs(float(one) - float(total / np.float32(8)))
    assert off > 0
    # About a mean in float64 the standard deviation is 0.
    for first, explained in ((off / 1e-9, True), (1e-3, False)):
        logged = [first, *[0.0] * 7]
        given = problem([0.1] * 8, [0] * 8, logged, only=lambda c: (c.framework, c.eps) == ("openrlhf", 1e-9))
        part = given.whole(given.partitions[0])
        seen = judge(given.candidates[0], given.partitions[0], part, torch.zeros(8).double())
        assert seen.explained is explained


def test_the_same_computation_runs_once(monkeypatch):
    given = problem([0.0, 1.0, 0.0, 1.0], GROUP, [0.0] * 4, only=centred)
    part = given.whole(given.partitions[0])
    first = predict(given.candidates[0], part)
    assert first.tolist() == [-0.5, 0.5, -0.5, 0.5]
    assert predict(given.candidates[0], part) is first


def test_brief_leaves_out_the_kin_of_a_rule_with_other_signs():
    rewards = [float(row % 2) for row in range(160)]
    turned = [0.5 - reward for reward in rewards]

    def grpo(c):
        return (c.framework, c.estimator, c.scale) == (None, "grpo", "group")

    given = problem(rewards, [row // 4 for row in range(160)], turned, only=grpo)
    part = given.whole(given.partitions[0])
    everything = list(tried(given.partitions[0], given.candidates, part))
    brief = list(tried(given.partitions[0], given.candidates, part, brief=True))
    assert len(everything) == len(given.candidates) > 1
    assert len(brief) == 1
