"""Intervals of a mean: against SciPy, by inverting their own p-value, and by how often they hold the truth."""

import math

import numpy as np
import pytest
from scipy import stats

from advcli.stats.inference.intervals import ENOUGH, Variances, of_mean, unlike

TRIALS = 1000


def binary(up, down):
    def draw(dice, n):
        return dice.choice([1.0, -1.0, 0.0], size=n, p=[up, down, 1 - up - down])

    return up - down, draw


def sparse(share, mean, std):
    def draw(dice, n):
        return np.where(dice.random(n) < share, dice.normal(mean, std, n), 0.0)

    return share * mean, draw


def rollouts(k):
    """B − A of k rewards of 0 and 1 a side, where a prompt is solved with any probability; B as often as A."""

    def draw(dice, n):
        rate = dice.random(n)
        return (dice.binomial(k, rate) - dice.binomial(k, rate)) / k

    return 0.0, draw


POPULATIONS = {
    "normal": (0.3, lambda dice, n: dice.normal(0.3, 1.0, n)),
    "uniform": (0.5, lambda dice, n: dice.random(n)),
    "skewed": (1.0, lambda dice, n: dice.exponential(1.0, n)),
    "binary": binary(0.3, 0.2),
    "binary, one way": binary(0.2, 0.02),
    "8 rollouts": rollouts(8),
    "sparse": sparse(0.1, 0.5, 0.5),
    "sparse, both ways": sparse(0.1, 0.0, 1.0),
    "a third": sparse(0.3, 0.5, 0.5),
}


@pytest.mark.parametrize("prompts", [6, 10, 20, 50, 200])
@pytest.mark.parametrize("name", POPULATIONS)
def test_an_interval_holds_the_truth_about_19_times_in_20(name, prompts):
    truth, draw = POPULATIONS[name]
    dice = np.random.default_rng(prompts)
    shown = held = 0
    for _ in range(TRIALS):
        values = draw(dice, prompts)
        if unlike(values) >= ENOUGH:
            found = of_mean(values)
            shown += 1
            held += found.low <= truth <= found.high
    # Where hardly any sample has enough changes, those that have are no sample of the population.
    if shown >= TRIALS / 4:
        slack = 3 * math.sqrt(0.95 * 0.05 / shown)
        assert 0.93 - slack <= held / shown <= 0.99 + slack
    else:
        # What is not shown is not wrong.
        assert (shown - held) / TRIALS <= 0.02


def test_the_percentile_bootstrap_was_too_narrow():
    """What is to be avoided: 86 % over 6 prompts."""
    dice = np.random.default_rng(0)
    samples = dice.normal(size=(400, 6))
    draws = samples[:, dice.integers(6, size=(500, 6))].mean(-1)
    low, high = np.percentile(draws, [2.5, 97.5], axis=1)
    assert ((low <= 0) & (high >= 0)).mean() < 0.91


@pytest.mark.parametrize("count", [6, 17, 200])
def test_symmetric_values_have_the_interval_of_student(count):
    values = np.random.default_rng(count).normal(size=count)
    values = np.concatenate([values, -values]) + 0.3
    found = of_mean(values)
    expected = stats.ttest_1samp(values, 0)
    low, high = expected.confidence_interval(0.95)
    assert found.low <= low + 1e-9
    assert found.high >= high - 1e-9
    assert found.p == pytest.approx(expected.pvalue, rel=0.1, abs=1e-3)


@pytest.mark.parametrize("seed", range(20))
def test_p_is_below_5_percent_where_the_interval_leaves_0_out(seed):
    dice = np.random.default_rng(seed)
    values = dice.exponential(1.0, 12) - dice.uniform(0, 1.5)
    found = of_mean(values)
    assert (found.p < 0.05) == (found.low > 0 or found.high < 0)
    # A truth at either end would have been surprising to 5 %.
    assert of_mean(values - found.low).p == pytest.approx(0.05, abs=1e-6)
    assert of_mean(values - found.high).p == pytest.approx(0.05, abs=1e-6)


def test_unlike_counts_rounding_as_alike():
    assert unlike(np.array([0.1 + 0.2, 0.3, 0.3, 0.5])) == 1
    assert unlike(np.array([1.0, 1.0, 1.0])) == 0
    assert unlike(np.zeros(3)) == 0
    assert unlike(np.zeros(0)) == 0


@pytest.mark.parametrize("spreads", [(0, 1, 1), (0.3, 0.3, 1), (1, 0.3, 0.3), (0, 0, 1)])
@pytest.mark.parametrize("runs", [(1, 3), (2, 2), (3, 3), (2, 6)])
@pytest.mark.parametrize("prompts", [6, 200])
def test_seeds_are_covered(prompts, runs, spreads):
    of_run, of_prompt, of_cell = spreads
    dice = np.random.default_rng(0)
    held, trials = 0, 600
    for _ in range(trials):
        a, b = (
            dice.normal(0, of_run, (count, 1)) + dice.normal(0, of_cell, (count, prompts)) for count in runs
        )
        b = b + dice.normal(0.5, of_prompt, prompts)
        found = Variances.of(a, b).interval(float(b.mean() - a.mean()), prompts, runs)
        held += found.low <= 0.5 <= found.high
    slack = 3 * math.sqrt(0.95 * 0.05 / trials)
    assert 0.93 - slack <= held / trials <= 0.975 + slack


def test_variances_are_those_they_were_drawn_with():
    dice = np.random.default_rng(1)
    a, b = (dice.normal(0, 0.5, (200, 1)) + dice.normal(0, 2.0, (200, 400)) for _ in range(2))
    found = Variances.of(a, b + dice.normal(0.3, 0.7, 400))
    assert found.run == pytest.approx(0.25, rel=0.2)
    assert found.prompt == pytest.approx(0.49, rel=0.2)
    assert found.cell == pytest.approx(4.0, rel=0.02)


def test_one_run_a_side_is_the_paired_t_test():
    dice = np.random.default_rng(2)
    a, b = dice.normal(size=(2, 15))
    found = Variances.of(a[None], b[None]).interval(float((b - a).mean()), 15, (1, 1))
    expected = stats.ttest_rel(b, a)
    low, high = expected.confidence_interval(0.95)
    assert (found.low, found.high, found.p) == pytest.approx((low, high, expected.pvalue), abs=1e-7)


def power(difference, std, prompts):
    """The chance that a two-sided t test at 5 % is significant in the direction of the truth (noncentral t)."""
    bound = stats.t.ppf(0.975, prompts - 1)
    return stats.nct.sf(bound, prompts - 1, difference / (std / math.sqrt(prompts)))


@pytest.mark.parametrize("prompts", [10, 30, 200])
def test_a_detectable_difference_is_found_four_times_in_five(prompts):
    parts = Variances(prompt=0.16, run=math.nan, cell=0.0)
    found = parts.detectable(prompts, (1, 1))
    assert power(found, 0.4, prompts) == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize("difference", [0.03, -0.1, 0.5])
def test_so_many_prompts_are_enough_and_one_less_is_not(difference):
    parts = Variances(prompt=0.16, run=math.nan, cell=0.0)
    needed = parts.prompts_for(difference, (1, 1))
    assert parts.detectable(needed, (1, 1)) <= abs(difference) < parts.detectable(needed - 1, (1, 1))
    assert power(abs(difference), 0.4, needed) > 0.78
    assert power(abs(difference), 0.4, needed - 2) < 0.81
    assert parts.runs_for(difference, 50) is None


def test_more_prompts_cannot_make_up_for_runs_that_differ():
    parts = Variances(prompt=0.16, run=0.04, cell=0.0)
    assert parts.prompts_for(0.05, (3, 3)) is None
    runs = parts.runs_for(0.15, 400)
    assert parts.detectable(400, (runs, runs)) <= 0.15 < parts.detectable(400, (runs - 1, runs - 1))
    assert parts.prompts_for(0.0, (3, 3)) is None
