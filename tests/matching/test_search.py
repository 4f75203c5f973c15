"""The search on logs that plain loops made."""

import random

import numpy as np
import pytest
from searched import by_group, mean, named, partition, problem, std

from advcli.matching.search import indistinguishable, search

SIZE = 4


def drawn(groups, seed=0):
    draw = random.Random(seed)
    return [draw.random() for _ in range(groups * SIZE)], [row // SIZE for row in range(groups * SIZE)]


def grpo(eps, ddof):
    return lambda r: [(x - mean(r)) / (std(r, ddof) + eps) for x in r]


@pytest.mark.parametrize(
    ("groups", "eps", "ddof"), [(20, 1e-4, 1), (20, 0.0, 0), (20, 1e-3, 0), (2200, 1e-4, 1)]
)
def test_the_rule_is_found_among_all(groups, eps, ddof):
    rewards, group = drawn(groups)
    found = search(problem(rewards, group, by_group(rewards, group, grpo(eps, ddof))))
    assert found.explained
    assert (None, "grpo", "group", ddof, eps) in named(found.trials[:12])
    assert found.trials[0].complete
    assert found.trials[0].max_abs < 1e-5


def test_one_row_among_many_is_not_overlooked():
    rewards, group = drawn(2200)
    logged = by_group(rewards, group, grpo(1e-4, 1))
    logged[7001] += 0.01
    found = search(problem(rewards, group, logged), nearest=True)
    assert not found.explained
    assert found.trials[0].misses == 1
    assert found.trials[0].complete


def test_a_group_of_one_that_only_some_rules_treat_so_decides():
    rewards, group = drawn(2200)
    group[8001] = 9999
    logged = by_group(rewards, group, lambda r: grpo(1e-5, 0)(r) if len(r) > 1 else r)
    given = problem(rewards, group, logged, singletons=True)
    alike = indistinguishable(given, search(given).trials)
    assert alike
    assert {t.candidate.plan.settings.singleton for t in alike if t.candidate.framework is None} == {"raw"}


def test_a_rule_of_the_batch_is_found_in_large_steps():
    rewards, group = drawn(2200)
    step = [row // 4400 for row in range(8800)]
    spread = [std(rewards[:4400]), std(rewards[4400:])]
    logged = by_group(rewards, group, lambda r: [x - mean(r) for x in r])
    # As a trainer logs it, in float32.
    logged = [float(np.float32(a / (spread[s] + 1e-4))) for a, s in zip(logged, step, strict=True)]
    found = search(problem(rewards, group, logged, step))
    assert found.explained
    assert {("trl", "grpo", "batch", 1, 1e-4), (None, "grpo", "batch", 1, 1e-4)} <= set(named(found.trials))


def test_the_other_grouping_is_found():
    rewards, group = drawn(20)
    logged = by_group(rewards, group, grpo(1e-4, 1))
    wrong = problem(rewards, [row % 20 for row in range(80)], logged)
    both = wrong.but(partitions=[*wrong.partitions, partition(group, "by position")])
    assert not search(wrong).explained
    found = search(both)
    assert found.explained
    assert found.trials[0].partition.label == "by position"


def test_what_lacks_a_column_is_told():
    rewards, group = drawn(5)
    lacking = search(problem(rewards, group, rewards)).lacking
    assert lacking["opo"] == "lengths"
    assert lacking["remax"] == "baselines"
    assert "grpo" not in lacking


def test_equal_rules_are_in_the_order_of_belief():
    rewards, group = [0.0, 1.0] * 8, [row // 2 for row in range(16)]
    given = problem(rewards, group, [-0.5, 0.5] * 8)
    alike = indistinguishable(given, search(given).trials)
    assert [trial.candidate.order for trial in alike] == sorted(trial.candidate.order for trial in alike)
    assert (None, "grpo", "none", None, None) in named(alike)
    assert all(trial.max_abs <= given.logged.resolution for trial in alike)


def test_where_figures_are_those_of_a_part_it_is_known():
    rewards, group = drawn(33_000)
    found = search(problem(rewards, group, by_group(rewards, group, lambda r: [x - mean(r) for x in r])))
    assert found.explained
    assert found.trials[0].rows is None
    partly = {trial.rows for trial in found.trials if trial.explained} - {None}
    assert partly
    assert max(partly) < len(rewards)


def test_it_is_told_how_far_the_search_is():
    lines = []
    rewards, group = drawn(2200)
    search(problem(rewards, group, by_group(rewards, group, grpo(1e-4, 1))), lines.append)
    assert any("tried on a sample of the rows" in line for line in lines)
    assert any("left on a larger part of the rows" in line for line in lines)
