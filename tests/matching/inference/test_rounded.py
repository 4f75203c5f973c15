"""Digits of the rewards that only the log shows."""

import random

import pytest
from searched import by_group, mean, problem

from advcli.matching.inference.rounded import hidden_digits
from advcli.matching.search import search

GROUP = [row // 8 for row in range(240)]


def centred(r):
    return [x - mean(r) for x in r]


def seen(rewards, logged):
    searched = problem(rewards, GROUP, logged, only=lambda c: c.estimator == "grpo" and c.scale == "none")
    trial = search(searched, nearest=True).trials[0]
    return hidden_digits(searched.whole(trial.partition), trial.predicted)


def rewards():
    draw = random.Random(3)
    return [draw.random() for _ in GROUP]


def test_rewards_that_were_rounded_after_the_advantages():
    true = rewards()
    assert seen([round(r, 2) for r in true], by_group(true, GROUP, centred))


@pytest.mark.parametrize("rule", [lambda a: a - a**3 / 8, lambda a: 1.01 * a])
def test_a_function_of_the_rewards_shows_no_hidden_digits(rule):
    shown = [round(r, 2) for r in rewards()]
    assert not seen(shown, [rule(a) for a in by_group(shown, GROUP, centred)])


def test_one_row_that_is_off_shows_none():
    shown = [round(r, 2) for r in rewards()]
    logged = by_group(shown, GROUP, centred)
    logged[5] += 0.004
    assert not seen(shown, logged)
