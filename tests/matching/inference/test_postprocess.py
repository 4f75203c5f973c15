"""What happened to advantages after a rule, on logs that were changed by hand."""

import random

import pytest
from searched import by_group, mean, problem, std

from advcli.matching.inference.postprocess import after, recomputed
from advcli.matching.search import search

GROUPS, SIZE = 24, 10
GROUP = [row // SIZE for row in range(GROUPS * SIZE)]


def grpo(r):
    return [(x - mean(r)) / (std(r) + 1e-4) for x in r]


def rewards(seed=0):
    draw = random.Random(seed)
    return [draw.random() for _ in GROUP]


def of_trl(c):
    return (c.framework, c.version, c.estimator, c.scale) == ("trl", ">=1.6", "grpo", "group")


def explained(given, logged):
    searched = problem(given, GROUP, logged, only=of_trl)
    return after(searched, list(search(searched, nearest=True).trials))


@pytest.mark.parametrize(
    ("low", "high"), [(-1.0, 1.0), (-0.5, 0.5), (-0.8, 1.2), (-1.0, float("inf")), (-float("inf"), 1.0)]
)
def test_a_clamp_is_read_off(low, high):
    given = rewards()
    logged = [min(max(a, low), high) for a in by_group(given, GROUP, grpo)]
    done = explained(given, logged)
    assert done.clip == (low, high)
    assert done.filtered == 0
    assert done.trials[0].explained


def test_rows_at_zero_are_counted():
    given = rewards()
    logged = by_group(given, GROUP, grpo)
    for row in range(0, len(logged), 7):
        logged[row] = 0.0
    done = explained(given, logged)
    assert done.filtered == len(range(0, len(logged), 7))
    assert done.clip is None
    assert done.keep is None


def kept(advantages, positive, negative):
    """The rows that keep ratios leave: the furthest from 0 of each sign, at least one."""
    out = set()
    for sign, ratio in ((1, positive), (-1, negative)):
        rows = [row for row, a in enumerate(advantages) if a * sign > 0]
        rows.sort(key=lambda row: -advantages[row] * sign)
        out |= set(rows[: max(1, int(len(rows) * ratio))])
    return out


@pytest.mark.parametrize(("positive", "negative"), [(0.5, 0.3), (1.0, 0.5), (0.3, 1.0)])
def test_keep_ratios_are_read_off(positive, negative):
    given = rewards(1)

    def rule(r):
        a = grpo(r)
        left = kept(a, positive, negative)
        return [x if row in left else 0.0 for row, x in enumerate(a)]

    done = explained(given, by_group(given, GROUP, rule))
    assert done.keep == (positive, negative)
    assert all(least <= ratio <= most for ratio, (least, most) in zip(done.keep, done.range_, strict=True))


def test_kept_rows_that_were_computed_again():
    given = rewards(2)

    def rule(r):
        left = sorted(kept(grpo(r), 0.5, 0.5))
        again = dict(zip(left, grpo([r[row] for row in left]), strict=True))
        return [again.get(row, 0.0) for row in range(len(r))]

    done = recomputed(problem(given, GROUP, by_group(given, GROUP, rule)))
    assert done.recomputed
    assert done.keep == (0.5, 0.5)
    assert done.trials[0].candidate.eps == 1e-4


def test_another_change_is_not_explained():
    given = rewards()
    logged = by_group(given, GROUP, grpo)
    logged[3] += 0.1
    assert explained(given, logged) is None
    assert recomputed(problem(given, GROUP, logged)) is None
