"""Options that a run set, read off logs that plain loops made."""

import math
import random

import pytest
import torch
from searched import by_group, mean, problem, std

from advcli.matching.inference.fit_options import inferred, set_alike
from advcli.matching.search import search

GROUP = [row // 6 for row in range(240)]
LENGTHS = [50 + 37 * row % 411 for row in range(240)]


def drawn(seed=4, narrowing=6):
    draw = random.Random(seed)
    # Groups of many widths: a constant next to the std shows.
    return [draw.random() * 2.0 ** -(g % narrowing) for g in GROUP]


def options(found, estimator, framework=None):
    """The options of a rule among those that explain the log."""
    return next(
        dict(trial.candidate.options)
        for trial in found.found.trials
        if trial.explained
        and (trial.candidate.framework, trial.candidate.estimator) == (framework, estimator)
    )


def searched(rewards, logged, **given):
    found = problem(rewards, GROUP, logged, **given)
    lengths = torch.tensor(LENGTHS, dtype=torch.float64)
    return found.but(columns={**found.columns, "lengths": lengths})


@pytest.mark.parametrize(("eps", "ddof"), [(0.05, 1), (0.0123, 1), (0.37, 0)])
def test_an_odd_eps_comes_back(eps, ddof):
    rewards = drawn()
    logged = by_group(rewards, GROUP, lambda r: [(x - mean(r)) / (std(r, ddof) + eps) for x in r])
    found = inferred(problem(rewards, GROUP, logged))
    assert found.fitted == 1
    best = found.found.trials[0].candidate
    assert (best.scale, best.ddof, best.eps) == ("group", ddof, eps)
    assert options(found, "grpo") == {"eps": eps, **({} if ddof else {"ddof": 0})}


@pytest.mark.parametrize("shift", [0.3, -0.25, -0.017])
def test_a_shift_comes_back_under_every_name(shift):
    rewards = drawn()
    found = inferred(searched(rewards, by_group(rewards, GROUP, lambda r: [x - mean(r) - shift for x in r])))
    assert options(found, "asymre", "trinity-rft") == {"baseline_shift": shift}
    assert options(found, "asymre") == {"shift": shift}


@pytest.mark.parametrize("longest", [8192.0, 1000.0, 65536.0])
def test_the_length_that_advantages_are_divided_by_comes_back(longest):
    rewards = drawn(narrowing=1)
    z = by_group(rewards, GROUP, lambda r: [(x - mean(r)) / (std(r) + 1e-8) for x in r])
    logged = [one * tokens / longest for one, tokens in zip(z, LENGTHS, strict=True)]
    found = inferred(searched(rewards, logged))
    assert (found.fitted, options(found, "drgrpo", "xtuner")) == (1, {"max_length": longest})


@pytest.mark.parametrize("tau", [0.2, 0.6])
def test_a_word_and_a_number_come_back_together(tau):
    def soft(r):
        return [x - tau * math.log(mean([math.exp(one / tau) for one in r])) for x in r]

    rewards = drawn(narrowing=1)
    found = inferred(searched(rewards, by_group(rewards, GROUP, soft)))
    assert options(found, "opmd", "trinity-rft") == {"opmd_baseline": "logavgexp", "tau": tau}
    assert options(found, "opmd") == {"tau": tau}


def test_a_limit_is_no_number_that_a_run_set():
    """The best reward of the group is what a soft maximum comes to, whatever small tau."""
    rewards = drawn(narrowing=1)
    found = inferred(searched(rewards, by_group(rewards, GROUP, lambda r: [x - max(r) for x in r])))
    assert all(trial.candidate.framework is None for trial in found.found.trials if trial.explained)


@pytest.mark.parametrize("k", [3, 5])
def test_a_whole_number_is_no_fitted_one(k):
    def sets(r):
        n, right = len(r), sum(one > 0 for one in r)
        solved = 1 - math.comb(n - right, k) / math.comb(n, k)
        if solved in (0, 1):
            return [0.0] * n
        up = math.sqrt((1 - solved) / solved)
        return [up if one > 0 else -right / (n - right) * up for one in r]

    draw = random.Random(9)
    rewards = [float(draw.random() < 0.15 * (1 + group % 5)) for group in GROUP]
    found = inferred(searched(rewards, by_group(rewards, GROUP, sets)))
    assert (found.fitted, options(found, "passk")) == (0, {"k": k})


def test_there_is_none_where_the_log_is_no_such_thing():
    draw = random.Random(5)
    assert inferred(searched(drawn(), [draw.gauss(0, 1) for _ in GROUP])) is None


def test_nothing_is_tried_that_was_not_asked_for():
    rewards = drawn()
    logged = by_group(rewards, GROUP, lambda r: [(x - mean(r)) / (std(r) + 0.05) for x in r])
    assert inferred(problem(rewards, GROUP, logged, only=lambda c: c.estimator == "rloo")) is None
    assert inferred(problem(rewards, GROUP, logged), only=("shift",)) is None


def test_a_rule_whose_configuration_may_set_the_same_is_named_too():
    rewards = drawn()
    z = by_group(rewards, GROUP, lambda r: [(x - mean(r)) / (std(r) + 1e-4) for x in r])
    logged = torch.tensor(z).double().tolist()
    asked = problem(rewards, GROUP, logged)
    trials = search(asked).trials
    also = {(t.candidate.framework, t.candidate.estimator) for t in set_alike(asked, trials)}
    assert trials[0].candidate.framework == "trl"
    assert {("xtuner", "grpo"), ("trinity-rft", "grpo_verl")} <= also
    assert all(trial.candidate.options == {"eps": 1e-4} for trial in set_alike(asked, trials))
