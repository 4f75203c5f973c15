"""An eps that no one has, read off a log that a plain loop made."""

import random

import pytest
from advcli.matching.infer_eps import fitted
from searched import by_group, mean, problem, std

GROUP = [row // 6 for row in range(240)]


def made(eps, ddof):
    draw = random.Random(4)
    # Groups of many widths: a constant next to the std shows.
    rewards = [draw.random() * 2.0 ** -(g % 6) for g in GROUP]
    return rewards, by_group(rewards, GROUP, lambda r: [(x - mean(r)) / (std(r, ddof) + eps) for x in r])


@pytest.mark.parametrize(("eps", "ddof"), [(0.05, 1), (0.0123, 1), (0.37, 0)])
def test_an_odd_eps_comes_back(eps, ddof):
    rewards, logged = made(eps, ddof)
    found, spreads = fitted(problem(rewards, GROUP, logged))
    assert found.explained
    assert spreads >= 20
    best = found.trials[0].candidate
    assert (best.estimator, best.scale, best.ddof) == ("grpo", "group", ddof)
    assert best.eps == eps


def test_there_is_none_where_the_log_is_no_such_thing():
    draw = random.Random(5)
    rewards = [draw.random() for _ in GROUP]
    assert fitted(problem(rewards, GROUP, [draw.gauss(0, 1) for _ in GROUP])) is None


def test_it_is_not_tried_where_grpo_was_not_asked_for():
    rewards, logged = made(0.05, 1)
    assert fitted(problem(rewards, GROUP, logged, only=lambda c: c.estimator == "rloo")) is None


def test_how_many_different_spreads_speak_for_it_is_counted():
    rewards = [float(row % 3 == 0) for row in range(30)]
    group = [row // 3 for row in range(30)]
    logged = by_group(rewards, group, lambda r: [(x - mean(r)) / (std(r) + 0.4) for x in r])
    assert fitted(problem(rewards, group, logged))[1] == 1
