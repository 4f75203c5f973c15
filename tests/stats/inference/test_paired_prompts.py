"""Prompts of two data sets, by hand and against a plain loop."""

import math
import random
import statistics

import pytest
import torch
from scipy import stats

from advcli.stats.inference.paired_prompts import (
    PromptMeans,
    Rewarded,
    coverage,
    each_run,
    most_changed,
    moves,
    paired,
)

NAN = math.nan


def means(a, b, count):
    """From (prompt, reward) of each row."""
    sides = [
        Rewarded(
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
    assert found.rows_a.tolist() == [[2, 1, 0, 0, 2, 1]]
    assert found.rows_b.tolist() == [[1, 0, 1, 1, 3, 2]]
    assert found.mean_a.tolist() == pytest.approx([0.5, 1, NAN, NAN, 2, 0.5], nan_ok=True)
    assert found.difference().tolist() == pytest.approx([0.5, NAN, NAN, NAN, -1, 0], nan_ok=True)


def test_paired_by_hand():
    found = paired(means(A, B, 6))
    assert (found.prompts, found.up, found.down, found.same) == (3, 1, 1, 1)
    # Means of the prompts 0, 4 and 5: A 0.5, 2, 0.5; B 1, 1, 0.5.
    assert (found.mean_a, found.mean_b) == pytest.approx((1.0, 2.5 / 3))
    assert found.difference == pytest.approx(-0.5 / 3)
    assert found.unclear == "no interval: 3 prompts, and it takes 6 or more"
    assert all(math.isnan(value) for value in (found.low, found.high, found.p, found.detectable))
    assert (found.prompts_needed, found.runs_needed, found.mcnemar) == (None, None, None)
    # Ranks 1.5, 3, 1.5 and 2.5, 2.5, 1, about their mean 2: (-0.25 + 0.5 + 0.5) / 1.5.
    assert found.rank_agreement == pytest.approx(0.5)


def test_a_prompt_weighs_as_much_as_another_however_many_rows_it_has():
    found = paired(means([(0, 0)] * 9 + [(1, 0)], [(0, 1)] * 9 + [(1, 0)], 2))
    assert found.difference == 0.5


def test_against_a_plain_loop():
    dice = random.Random(1)
    sides = [[(dice.randrange(30), dice.choice([0, 0.1, 0.3, 1, NAN])) for _ in range(200)] for _ in range(2)]
    gaps = []
    for prompt in range(30):
        rewards = [[r for p, r in side if p == prompt and r == r] for side in sides]
        if all(rewards):
            gaps.append(statistics.fmean(rewards[1]) - statistics.fmean(rewards[0]))
    found = paired(means(*sides, 30))
    assert found.prompts == len(gaps) > 20
    assert found.difference == pytest.approx(statistics.fmean(gaps))
    assert (found.up, found.down) == (sum(gap > 1e-12 for gap in gaps), sum(gap < -1e-12 for gap in gaps))
    assert found.low < found.difference < found.high


def test_no_prompt_in_both_is_no_difference():
    alone = means([(0, 1.0), (0, 2.0)], [(1, 1.0)], 2)
    assert paired(alone) is None
    assert most_changed(alone, 5) == []
    assert paired(means([], [], 0)) is None


def test_one_prompt_has_no_interval():
    found = paired(means([(0, 1.0)], [(0, 3.0)], 1))
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
    assert paired(found).same == 1
    # Small rewards are not rounding.
    small = torch.tensor([1e-15, 0.0, -1e-300], dtype=torch.float64)
    assert moves(small, small * 2).tolist() == [1, 0, -1]


def runs_of(cells):
    """From a reward per (run, prompt); None where the run does not have the prompt."""
    there = [
        (reward, prompt, run)
        for run, row in enumerate(cells)
        for prompt, reward in enumerate(row)
        if reward is not None
    ]
    reward, prompt, run = (list(column) for column in zip(*there, strict=True))
    return Rewarded(
        torch.tensor(reward, dtype=torch.float64), torch.tensor(prompt), torch.tensor(run), len(cells)
    )


@pytest.mark.parametrize(
    ("gained", "lost", "unclear"),
    [
        (0, 0, "no interval: too few prompts change (none of 40 prompts change)"),
        (1, 0, "no interval: too few prompts change (1 of 40 prompts changes)"),
        (2, 2, "no interval: too few prompts change (4 of 40 prompts change)"),
        (3, 2, ""),
        (
            38,
            0,
            "no interval: too few prompts change (2 of 40 prompts change by another amount than the rest)",
        ),
    ],
)
def test_too_few_changes_are_said(gained, lost, unclear):
    kinds = [(0, 1)] * gained + [(1, 0)] * lost + [(1, 1)] * (40 - gained - lost)
    found = paired(
        means([(p, a) for p, (a, _) in enumerate(kinds)], [(p, b) for p, (_, b) in enumerate(kinds)], 40)
    )
    assert found.unclear == unclear
    assert math.isnan(found.low) == bool(unclear)
    # McNemar's test is exact with any number of changes.
    if not gained + lost:
        assert found.mcnemar is None
        return
    expected = stats.binomtest(min(gained, lost), gained + lost).pvalue
    assert (found.mcnemar.gained, found.mcnemar.lost) == (gained, lost)
    assert found.mcnemar.p == pytest.approx(expected)


def test_mcnemar_is_for_one_row_of_two_rewards():
    two = means([(0, 0), (1, 0), (1, 1)], [(0, 1), (1, 1)], 2)
    assert paired(two).mcnemar is None
    three = means([(0, 0), (1, 0.5)], [(0, 1), (1, 1)], 2)
    assert paired(three).mcnemar is None


def test_several_runs_weigh_alike_whatever_their_rows():
    a = Rewarded(
        torch.tensor([0.0, 0.0, 0.0, 1.0, 0.5, 0.5], dtype=torch.float64),
        torch.tensor([0, 0, 0, 0, 1, 1]),
        torch.tensor([0, 0, 0, 1, 0, 1]),
        2,
    )
    b = runs_of([[1, 1]])
    found = paired(PromptMeans.of(a, b, 2))
    assert (found.runs_a, found.runs_b, found.mean_a, found.mean_b) == (2, 1, 0.5, 1)


def test_only_prompts_of_every_run_count():
    a = runs_of([[0, 0, 0], [0, None, 0]])
    b = runs_of([[1, 1, 1], [1, 1, 3]])
    means_ = PromptMeans.of(a, b, 3)
    assert means_.everywhere().tolist() == [True, False, True]
    found = paired(means_)
    assert (found.prompts, found.difference) == (2, 1.5)
    # The table of prompts has what there is.
    assert means_.difference().tolist() == [1, 1, 2]


def test_runs_of_b_against_a_baseline_against_scipy():
    dice = random.Random(5)
    base = [dice.gauss(0, 1) for _ in range(60)]
    a = [base]
    b = [[x + dice.gauss(shift, 0.5) for x in base] for shift in (0.0, 0.1, 0.3)]
    found = each_run(PromptMeans.of(runs_of(a), runs_of(b), 60), ("a",), ("x", "y", "z"))
    assert [(one.side, one.run, one.rows, one.prompts) for one in found] == [
        ("A", "a", 60, 60),
        ("B", "x", 60, 60),
        ("B", "y", 60, 60),
        ("B", "z", 60, 60),
    ]
    assert math.isnan(found[0].difference)
    for one, row in zip(found[1:], b, strict=True):
        expected = stats.ttest_rel(row, base)
        assert one.difference == pytest.approx(statistics.fmean(row) - statistics.fmean(base))
        # The wider of two intervals, and one of them is that of this test.
        assert expected.pvalue - 1e-9 <= one.p <= expected.pvalue * 1.6
        low, high = expected.confidence_interval(0.95)
        assert one.low <= low + 1e-6
        assert one.high >= high - 1e-6
    assert min(one.p_holm for one in found[1:]) == pytest.approx(3 * min(one.p for one in found[1:]))


def test_one_run_a_side_has_no_table_of_runs():
    assert each_run(means([(0, 1.0)], [(0, 1.0)], 1), ("",), ("",)) == ()
