"""Who speaks for a rule, and when that is not enough, counted by hand."""

import random

import pytest
from searched import by_group, mean, problem, std

from advcli.matching.evidence import doubt, evidence
from advcli.matching.inference.fit_options import inferred
from advcli.matching.search import search

# Three live groups of two kinds (1 of 3 is 2 of 3 with the signs turned), one dead group.
REWARDS = [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]
GROUP = [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]


def grpo(r):
    return [(x - mean(r)) / (std(r) + 1e-6) for x in r]


def best(rewards, group, logged):
    searched = problem(rewards, group, logged)
    return searched, search(searched).trials[0]


def test_rows_of_dead_groups_say_nothing():
    found = evidence(*best(REWARDS, GROUP, by_group(REWARDS, GROUP, grpo)))
    assert (found.rows, found.compared, found.groups, found.live, found.patterns) == (9, 12, 3, 3, 1)


def test_groups_of_more_kinds_are_more_patterns():
    rewards, group = [1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0], [0, 0, 0, 0, 1, 1, 1, 1]
    assert evidence(*best(rewards, group, by_group(rewards, group, grpo))).patterns == 2


def test_of_raw_rewards_all_groups_show_the_same_number():
    rewards, group = [1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0], [0, 0, 0, 0, 1, 1, 1, 1]
    assert evidence(*best(rewards, group, rewards)).patterns == 1


@pytest.mark.parametrize(
    ("free", "told"), [(0, ""), (1, "1 number was fitted and the live groups are of 1 kind only")]
)
def test_what_was_fitted_has_to_be_fewer_than_the_patterns(free, told):
    assert doubt(*best(REWARDS, GROUP, by_group(REWARDS, GROUP, grpo)), free).startswith(told)


def test_one_decimal_may_fit_by_chance():
    rewards, group = [1.0, 0.0] * 6, [row // 2 for row in range(12)]
    # A median over a MAD is 0.674, grpo 0.707: one decimal is 0.7 of both.
    logged = [0.7 if r else -0.7 for r in rewards]
    assert "1 decimal" in doubt(*best(rewards, group, logged))
    assert doubt(*best(rewards, group, [0.71 if r else -0.71 for r in rewards])) == ""


def test_digits_that_hide_every_difference_are_named():
    # 13 of 24 are right: less the mean of all, 0.54, they are ±0.5 to one decimal.
    rewards = [1.0, 0.0] * 11 + [1.0, 1.0]
    found = doubt(*best(rewards, [row // 4 for row in range(24)], [r - 0.5 for r in rewards]))
    assert found == "no row distinguishes rules: the log has 1 decimal only"


@pytest.mark.parametrize(("steps", "told"), [(1, "in 1 step only: any factor fits as well"), (3, "")])
def test_one_std_of_a_step_is_a_factor(steps, told):
    """An eps beside the std of a step can make it any number."""
    draw = random.Random(2)
    group = [row // 4 for row in range(48)]
    step = [one * steps // 12 for one in group]
    rewards = [draw.random() * (1 + at) for at in step]
    logged = []
    for at in range(steps):
        own = [r for r, where in zip(rewards, step, strict=True) if where == at]
        inside = [g for g, where in zip(group, step, strict=True) if where == at]
        divisor = std(own, 1) + 0.07
        logged += by_group(own, inside, lambda r, divisor=divisor: [(x - mean(r)) / divisor for x in r])
    asked = problem(rewards, group, logged, step=step, only=lambda rule: rule.estimator == "grpo")
    found = inferred(asked, only=("eps",))
    best = next(trial for trial in found.found.trials if trial.candidate.estimator == "grpo")
    assert (best.candidate.scale, best.candidate.eps) == ("batch", 0.07)
    said = doubt(found.problem, best, found.fitted, spare=2)
    assert told in said
    assert bool(told) == bool(said)
