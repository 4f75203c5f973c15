"""Advantages of a rule in another order than the rewards."""

import numpy as np
import pytest
from logged_tables import table

from advcli.matching.match import match

GROUPS, SIZE = 24, 6


def shuffled(index, values, draw):
    values = values.copy()
    for value in np.unique(index):
        rows = np.flatnonzero(index == value)
        values[rows] = values[draw.permutation(rows)]
    return values


def log(size=SIZE, *, ddof=1, eps=1e-6, spread=1.0):
    """Rewards, groups and GRPO's advantages by numpy; every group has its own spread."""
    draw = np.random.default_rng(0)
    x = draw.random((GROUPS, size)) * np.geomspace(spread, 1, GROUPS)[:, None]
    logged = (x - x.mean(1, keepdims=True)) / (x.std(1, ddof=ddof, keepdims=True) + eps)
    return draw, x.reshape(-1, 1), np.repeat(np.arange(GROUPS), size), logged.reshape(-1)


@pytest.mark.parametrize(("scope", "words"), [("group", "within each group"), ("step", "within each step")])
def test_another_order_is_called_shuffled(scope, words):
    draw, rewards, group, logged = log()
    step = group // 8
    outcome = match(
        table(rewards, group, step, shuffled({"group": group, "step": step}[scope], logged, draw))
    )
    assert not outcome.found
    assert f"shuffled: {words}, the logged advantages are those of" in outcome.sentence
    assert outcome.causes == (outcome.causes[0],), "sums over the groups of shuffled rows tell nothing"


def test_another_order_over_all_rows():
    draw, rewards, group, logged = log()
    outcome = match(table(rewards, group, 0 * group, draw.permutation(logged)))
    assert "shuffled: over all rows" in outcome.sentence


def test_the_eps_is_looked_for_too():
    # Spreads from 0.003 to 0.3: with another eps the advantages are others.
    draw, rewards, group, logged = log(eps=1e-3, spread=0.01)
    outcome = match(table(rewards, group, group // 8, shuffled(group // 8, logged, draw)))
    assert "shuffled: within each step" in outcome.sentence


def test_pairs_over_the_std_of_all():
    draw, rewards, group, logged = log(2, ddof=0, eps=1e-4)
    outcome = match(table(rewards, group, group // 8, shuffled(group // 8, logged, draw)))
    assert "shuffled: within each step" in outcome.sentence


def test_a_few_shuffled_steps_are_named():
    draw, rewards, group, logged = log()
    step = group // 2
    late = np.flatnonzero(step >= 10)
    logged[late] = shuffled(step[late], logged[late], draw)
    outcome = match(table(rewards, group, step, logged))
    assert "shuffled: within each step" in outcome.sentence
    assert "in 4 groups of 24 of steps 10, 11" in " ".join(outcome.causes)


def test_noise_is_no_rule_in_another_order():
    draw, rewards, group, _ = log()
    outcome = match(table(rewards, group, group // 8, draw.normal(size=len(group))))
    assert not outcome.found
    assert "shuffled" not in outcome.sentence
