"""One assumption more at a time, and where to stop."""

import numpy as np
import pytest
from logged_tables import table

from advcli.matching import explanations
from advcli.matching.match import match

GROUPS, SIZE = 24, 6


def log():
    draw = np.random.default_rng(1)
    x = draw.random((GROUPS, SIZE))
    logged = ((x - x.mean(1, keepdims=True)) / (x.std(1, ddof=1, keepdims=True) + 1e-6)).reshape(-1)
    return draw, x.reshape(-1, 1), np.repeat(np.arange(GROUPS), SIZE), logged


def test_the_plain_rule_needs_no_assumption(monkeypatch):
    _, rewards, group, logged = log()
    monkeypatch.setattr(explanations, "_ATTEMPTS", (lambda *given: pytest.fail("not needed"),))
    assert match(table(rewards, group, group // 8, logged)).found


def test_rows_left_out_before_the_statistics():
    _, rewards, group, _ = log()
    x = rewards.reshape(GROUPS, SIZE)
    logged = np.zeros_like(x)
    kept = x[:, : SIZE - 2]
    logged[:, : SIZE - 2] = (kept - kept.mean(1, keepdims=True)) / (kept.std(1, ddof=1, keepdims=True) + 1e-6)
    outcome = match(table(rewards, group, group // 8, logged.reshape(-1)))
    assert outcome.found
    assert outcome.after["filtered_before"] == 2 * GROUPS


def test_of_shuffled_rows_no_filter_is_looked_for(monkeypatch):
    draw, rewards, group, logged = log()
    logged[draw.choice(len(logged), 30, replace=False)] = 0.0
    rewards[:12] = 1.0
    logged[:12] = 0.0
    x = rewards.reshape(GROUPS, SIZE)
    logged = (x - x.mean(1, keepdims=True)) / (x.std(1, ddof=1, keepdims=True) + 1e-6)
    monkeypatch.setattr(explanations, "_FARTHER", (lambda *given: pytest.fail("not worth while"),))
    outcome = match(table(rewards, group, 0 * group, draw.permutation(logged.reshape(-1))))
    assert "shuffled: over all rows" in outcome.sentence
