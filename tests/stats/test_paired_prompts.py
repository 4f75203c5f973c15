"""Prompts of two data sets, by hand and against a plain loop."""

import math
import random
import statistics

import pytest
import torch

from advcli.stats.paired_prompts import PromptMeans, coverage, most_changed, moves, paired

NAN = math.nan


def means(a, b, count):
    """From (prompt, reward) of each row."""
    sides = [
        (
            torch.tensor([reward for _, reward in side], dtype=torch.float64),
            torch.tensor([prompt for prompt, _ in side], dtype=torch.int64),
        )
        for side in (a, b)
    ]
    return PromptMeans.of(*sides, count)


# Prompt 0: 0.5 → 1; 1: only in A; 2: only in B; 3: without a reward in A; 4: 2 → 1; 5: the same.
A = [(0, 0), (0, 1), (1, 1), (3, NAN), (4, 2), (4, 2), (-1, 9), (5, 0.5)]
B = [(0, 1), (2, 0), (3, 1), (4, 0), (4, 2), (4, 1), (5, 0.5), (5, 0.5)]


def test_means_by_hand():
    found = means(A, B, 6)
    assert found.met_a.tolist() == [2, 1, 0, 1, 2, 1]
    assert found.rows_a.tolist() == [2, 1, 0, 0, 2, 1]
    assert found.rows_b.tolist() == [1, 0, 1, 1, 3, 2]
    assert found.mean_a.tolist() == pytest.approx([0.5, 1, NAN, NAN, 2, 0.5], nan_ok=True)
    assert found.difference().tolist() == pytest.approx([0.5, NAN, NAN, NAN, -1, 0], nan_ok=True)


def test_paired_by_hand():
    found = paired(means(A, B, 6), resamples=200, seed=0)
    assert (found.prompts, found.up, found.down, found.same) == (3, 1, 1, 1)
    # Means of the prompts 0, 4 and 5: A 0.5, 2, 0.5; B 1, 1, 0.5.
    assert (found.mean_a, found.mean_b) == pytest.approx((1.0, 2.5 / 3))
    assert found.difference == pytest.approx(-0.5 / 3)
    # All of 0.5, -1, 0 are likely to be drawn three times in 200 resamples.
    assert (found.low, found.high) == pytest.approx((-1, 0.5))
    # Ranks 1.5, 3, 1.5 and 2.5, 2.5, 1, about their mean 2: (-0.25 + 0.5 + 0.5) / 1.5.
    assert found.rank_agreement == pytest.approx(0.5)
    assert (found.resamples, found.seed) == (200, 0)


def test_a_prompt_weighs_as_much_as_another_however_many_rows_it_has():
    found = paired(means([(0, 0)] * 9 + [(1, 0)], [(0, 1)] * 9 + [(1, 0)], 2), resamples=9, seed=0)
    assert found.difference == 0.5


def test_against_a_plain_loop():
    dice = random.Random(1)
    sides = [[(dice.randrange(30), dice.choice([0, 0.1, 0.3, 1, NAN])) for _ in range(200)] for _ in range(2)]
    gaps = []
    for prompt in range(30):
        rewards = [[r for p, r in side if p == prompt and r == r] for side in sides]
        if all(rewards):
            gaps.append(statistics.fmean(rewards[1]) - statistics.fmean(rewards[0]))
    found = paired(means(*sides, 30), resamples=100, seed=0)
    assert found.prompts == len(gaps) > 20
    assert found.difference == pytest.approx(statistics.fmean(gaps))
    assert (found.up, found.down) == (sum(gap > 1e-12 for gap in gaps), sum(gap < -1e-12 for gap in gaps))
    assert found.low < found.difference < found.high


def test_no_prompt_in_both_is_no_difference():
    alone = means([(0, 1.0), (0, 2.0)], [(1, 1.0)], 2)
    assert paired(alone, resamples=9, seed=0) is None
    assert most_changed(alone, 5) == []
    assert paired(means([], [], 0), resamples=9, seed=0) is None


def test_one_prompt_has_no_interval():
    found = paired(means([(0, 1.0)], [(0, 3.0)], 1), resamples=9, seed=0)
    assert (found.prompts, found.difference) == (1, 2)
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert math.isnan(found.rank_agreement)


def test_coverage_by_hand():
    found = coverage(means(A, B, 6), (4, 1, 0), 2)
    assert (found.prompts_both, found.prompts_a, found.prompts_b) == (4, 1, 1)
    # All rows of A but that of prompt 1 and the one that is left out; of B but that of prompt 2.
    assert (found.rows_a, found.rows_b) == (6, 7)
    assert (found.steps_both, found.steps_a, found.steps_b, found.other_steps) == (4, 1, 0, 2)
    assert coverage(means(A, B, 6)).steps_both is None


def test_most_changed():
    assert most_changed(means(A, B, 6), 5) == [4, 0]
    assert most_changed(means(A, B, 6), 1) == [4]
    assert most_changed(means(A, B, 6), 0) == []
    tied = means([(p, 0) for p in range(4)], [(0, 1), (1, -2), (2, 2), (3, 1)], 4)
    assert most_changed(tied, 9) == [1, 2, 0, 3]


def test_sums_that_were_rounded_differently_are_the_same():
    first, second = [0.1, 0.2, 0.3], [0.3, 0.2, 0.1]
    one, two = 0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1
    assert one != two
    assert moves(torch.tensor([one], dtype=torch.float64), torch.tensor([two], dtype=torch.float64)) == 0
    found = means([(0, r) for r in first], [(0, r) for r in second], 1)
    assert paired(found, resamples=9, seed=0).same == 1
    # Small rewards are not rounding.
    small = torch.tensor([1e-15, 0.0, -1e-300], dtype=torch.float64)
    assert moves(small, small * 2).tolist() == [1, 0, -1]
