"""Logs that no rule reproduces, and what is said of them."""

import numpy as np
from logged_tables import table

from advcli.matching.match import match

GROUPS, SIZE = 24, 6


def log(seed=0):
    draw = np.random.default_rng(seed)
    rewards = draw.random((GROUPS * SIZE, 1))
    group = np.repeat(np.arange(GROUPS), SIZE)
    x = rewards.reshape(GROUPS, SIZE)
    logged = ((x - x.mean(1, keepdims=True)) / (x.std(1, ddof=1, keepdims=True) + 1e-6)).reshape(-1)
    return draw, rewards, group, group // 8, logged


def test_one_bad_row_is_named():
    _, rewards, group, step, logged = log()
    logged[37] += 0.5
    outcome = match(table(rewards, group, step, logged))
    assert not outcome.found
    assert "everywhere but in 1 row, in 1 group of 24" in outcome.sentence
    assert "f:38 (logged" in outcome.sentence


def test_a_log_of_zeros_tells_no_rule():
    _, rewards, group, step, logged = log()
    outcome = match(table(rewards, group, step, 0 * logged))
    assert not outcome.found
    assert outcome.best is None
    assert "every logged advantage in 'a' is 0" in outcome.sentence


def test_shuffled_rows_of_weighed_parts_sum_to_nothing_in_their_steps_only():
    draw = np.random.default_rng(3)
    parts, group = draw.random((GROUPS * SIZE, 2)), np.repeat(np.arange(GROUPS), SIZE)
    total = (parts @ [1.0, 0.3]).reshape(GROUPS, SIZE)
    logged = ((total - total.mean(1, keepdims=True)) / total.std(1, ddof=1, keepdims=True)).reshape(-1)
    step = group // 8
    for value in np.unique(step):
        rows = np.flatnonzero(step == value)
        logged[rows] = logged[draw.permutation(rows)]
    outcome = match(table(parts, group, step, logged))
    assert not outcome.found
    assert "and those of every step do: rows and advantages are shuffled, or" in outcome.sentence


def test_rewards_that_were_rounded():
    _, rewards, group, step, logged = log()
    outcome = match(table(rewards.round(4), group, step, logged))
    assert outcome.found
    assert "rewards that the dump has rounded to 0.0001" in outcome.sentence
