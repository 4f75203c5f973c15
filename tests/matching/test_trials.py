"""How well advantages fit a log: every figure by hand."""

import math

import pytest
import torch
from searched import problem

from advcli.engine.run import run
from advcli.matching.trials import judge, predict, tried

NAN = math.nan
GROUP = [0, 0, 1, 1]


def centred(c):
    return (c.framework, c.estimator, c.scale) == (None, "grpo", "none")


def trial(predicted, logged, rewards=(0.0, 1.0, 0.0, 1.0), group=GROUP):
    given = problem(list(rewards), group, logged, only=centred)
    part = given.whole(given.partitions[0])
    return judge(given.candidates[0], given.partitions[0], part, torch.tensor(predicted).double())


def test_all_rows_fit():
    seen = trial([-0.5, 0.5, -0.5, 0.5], [-0.5, 0.5, -0.5, 0.5])
    assert (seen.explained, seen.share, seen.misses, seen.max_abs) == (True, 1.0, 0, 0.0)
    assert seen.complete


def test_rows_that_do_not_fit_are_counted():
    seen = trial([-0.5, 0.5, -0.5, 0.75], [-0.5, 0.5, -0.25, 0.5])
    assert (seen.explained, seen.share, seen.misses, seen.max_abs) == (False, 0.5, 2, 0.25)


THIRDS = [-1 / 3, 2 / 3, -2 / 3, 1 / 3]


@pytest.mark.parametrize(
    ("off", "fits", "share"), [(1e-7, True, 1.0), (3e-6, False, 1.0), (1e-4, False, 0.75)]
)
def test_a_row_fits_as_float32_does_and_nearly_as_a_hundred_thousandth(off, fits, share):
    seen = trial([THIRDS[0] + off, *THIRDS[1:]], THIRDS)
    assert (seen.explained, seen.share) == (fits, share)


def test_a_row_fits_as_the_digits_of_the_log_do():
    assert trial(THIRDS, [round(a, 2) for a in THIRDS]).explained
    assert not trial([THIRDS[0] + 0.01, *THIRDS[1:]], [round(a, 2) for a in THIRDS]).explained


def test_a_small_group_beside_a_large_one_is_compared_by_its_own_size():
    big = [-1e6 / 3, 1e6 / 3, -1 / 3, 1 / 3]
    assert trial([big[0] + 0.03, *big[1:]], big).explained
    assert not trial([*big[:3], big[3] + 0.03], big).explained


def test_a_rule_without_an_advantage_where_the_log_has_one_does_not_fit():
    seen = trial([NAN, 0.5, -0.5, 0.5], [-0.5, 0.5, -0.5, 0.5])
    assert not seen.explained
    assert (seen.misses, seen.max_abs) == (1, 0.0)


def test_rows_without_a_logged_advantage_are_not_compared_but_counted():
    seen = trial([NAN, 0.5, 9.0, 0.5], [NAN, 0.5, NAN, 0.5])
    assert seen.explained
    assert seen.nulls == 0.5


@pytest.mark.parametrize(
    ("logged", "core"),
    [
        ([-0.5, 0.5, -0.5, 0.5, 0.25, -0.25, 0.0], True),
        ([-0.5, 0.5, -0.5, 0.5, 0.31, -0.31, 0.11], False),
    ],
)
def test_the_core_fits_but_for_zeros(logged, core):
    predicted = [-0.5, 0.5, -0.5, 0.5, 0.25, -0.25, 0.125]
    assert trial(predicted, logged, rewards=[0.0] * 7, group=[0] * 7).core is core


def test_the_core_fits_but_for_the_bounds():
    predicted, logged = [-2.0, -0.5, 0.25, 0.5, 3.0], [-1.0, -0.5, 0.25, 0.5, 1.0]
    seen = trial(predicted, logged, rewards=[0.0] * 5, group=[0] * 5)
    assert seen.core
    assert not seen.explained


# A float32 mean of three times 0.1 is off by 2^-27: over a std of 0 and 1e-9 that is 7.45, over that of three such rows 0.7359.
@pytest.mark.parametrize(
    ("carries", "fits"),
    [(0.731234567, False), (0.7358554241652437, True), (7.450580597, True), (1e-3, False)],
)
def test_a_dead_group_carries_what_float32_leaves_and_nothing_else(carries, fits):
    given = problem(
        [0.1] * 3, [0] * 3, [carries] * 3, only=lambda c: (c.framework, c.eps) == ("openrlhf", 1e-9)
    )
    part = given.whole(given.partitions[0])
    seen = judge(given.candidates[0], given.partitions[0], part, torch.zeros(3).double())
    assert seen.explained is fits


def test_the_same_computation_runs_once(monkeypatch):
    given = problem([0.0, 1.0, 0.0, 1.0], GROUP, [0.0] * 4, only=centred)
    part = given.whole(given.partitions[0])
    first = predict(given.candidates[0], part)
    assert first.tolist() == [-0.5, 0.5, -0.5, 0.5]
    assert predict(given.candidates[0], part) is first


def test_brief_leaves_out_the_kin_of_a_rule_with_other_signs():
    rewards = [float(row % 2) for row in range(160)]
    turned = [0.5 - reward for reward in rewards]

    def grpo(c):
        return (c.framework, c.estimator, c.scale) == (None, "grpo", "group")

    given = problem(rewards, [row // 4 for row in range(160)], turned, only=grpo)
    part = given.whole(given.partitions[0])
    everything = list(tried(given.partitions[0], given.candidates, part))
    brief = list(tried(given.partitions[0], given.candidates, part, brief=True))
    assert len(everything) == len(given.candidates) > 1
    assert len(brief) == 1


@pytest.mark.parametrize("name", ["grpo", "rloo", "batch_norm", "gdpo", "passk", "asymre"])
def test_what_is_filled_in_is_what_the_whole_rule_gives(name):
    rewards, group = [0.5, NAN, 0.25, 1.0, 2.0, 0.0, 3.0], [0, 0, 0, 1, 2, 2, 3]
    given = problem(
        rewards,
        group,
        [0.0] * 7,
        singletons=True,
        missing=True,
        only=lambda c: (c.framework, c.estimator) == (None, name),
    )
    part, filled = given.whole(given.partitions[0]), 0
    for one in given.candidates:
        filled += one.unfilled is not one
        whole = run(one.plan, part.columns).processed.double()
        torch.testing.assert_close(predict(one, part), whole, rtol=0, atol=0, equal_nan=True)
    assert filled
