"""What is selected, against plain loops over every row, pair and set."""

from itertools import combinations

import numpy as np
import pytest

from advcli.stats.select import best, live_chance, pairs

DRAW = np.random.default_rng(7)
PROMPT = DRAW.integers(-1, 9, 120)
REWARDS = np.where(DRAW.random(120) < 0.1, np.nan, DRAW.integers(0, 4, 120) / 2)


def rows_of(prompt):
    return [row for row in range(120) if PROMPT[row] == prompt and not np.isnan(REWARDS[row])]


@pytest.mark.parametrize("least", [None, 1.5, 9])
def test_the_best_row_of_each_prompt(least):
    expected = []
    for prompt in range(9):
        rows = [row for row in rows_of(prompt) if least is None or REWARDS[row] >= least]
        expected += [min(rows, key=lambda row: (-REWARDS[row], row))] if rows else []
    assert best(REWARDS, PROMPT, least).tolist() == sorted(expected)


@pytest.mark.parametrize("margin", [0.0, 1.0])
def test_every_pair(margin):
    expected = [
        (high, low)
        for prompt in range(9)
        for high in rows_of(prompt)
        for low in rows_of(prompt)
        if REWARDS[high] - REWARDS[low] > 0 and REWARDS[high] - REWARDS[low] >= margin
    ]
    found = pairs(REWARDS, PROMPT, margin=margin, every=True)
    assert list(zip(*(one.tolist() for one in found), strict=True)) == sorted(expected)


def test_the_best_and_the_worst():
    high, low = pairs(REWARDS, PROMPT)
    for first, second in zip(high.tolist(), low.tolist(), strict=True):
        rows = rows_of(PROMPT[first])
        assert first == min(rows, key=lambda row: (-REWARDS[row], row))
        assert second == min(rows, key=lambda row: (REWARDS[row], row))
    assert [one.tolist() for one in pairs(np.array([1.0, 1.0]), np.array([0, 0]))] == [[], []]


@pytest.mark.parametrize("size", [2, 3, 20])
def test_the_chance_of_a_live_group(size):
    there = (PROMPT >= 0) & ~np.isnan(REWARDS)
    found = live_chance(REWARDS[there], PROMPT[there], 10, size)
    for prompt in range(9):
        rows = rows_of(prompt)
        sets = [len({REWARDS[row] for row in one}) > 1 for one in combinations(rows[:16], size)]
        if len(rows) > 16:
            continue
        assert found[prompt] == pytest.approx(np.mean(sets)) if sets else np.isnan(found[prompt])
    assert np.isnan(found[9])
