"""Which weights are believed, and which cannot be told."""

import random

import pytest
from searched import by_group, mean, problem, std

from advcli.matching.inference.weighing import weighed

GROUP = [row // 4 for row in range(96)]


def half_of_centred(rewards):
    return by_group(rewards, GROUP, lambda r: [0.5 * (x - mean(r)) for x in r])


def first(rewards, logged):
    return next(weighed(problem(rewards, GROUP, logged), lambda text: None, skip_missing_parts=False))


def test_a_factor_of_binary_rewards_cannot_be_told():
    draw = random.Random(1)
    rewards = [float(draw.random() < 0.5) for _ in GROUP]
    found = first(rewards, half_of_centred(rewards))
    assert found.found.explained
    assert "no group has more than two different rewards" in found.doubt


def test_a_factor_of_many_different_rewards_can():
    draw = random.Random(2)
    rewards = [draw.random() for _ in GROUP]
    found = first(rewards, half_of_centred(rewards))
    assert found.found.explained
    assert found.doubt == ""
    assert found.solution.weights.tolist() == [0.5]


def test_the_framework_of_the_dump_comes_before_rounder_weights():
    import torch

    draw = random.Random(3)
    rewards = [draw.random() for _ in GROUP]
    other = [draw.random() for _ in GROUP]
    totals = [0.1 * a + 0.03 * b for a, b in zip(rewards, other, strict=True)]
    logged = by_group(totals, GROUP, lambda r: [(x - mean(r)) / (std(r) + 1e-5) for x in r])
    given = problem(rewards, GROUP, logged)
    parts = torch.tensor([rewards, other], dtype=torch.float64).T.contiguous()
    columns = {**given.columns, "parts": parts, "weights": torch.ones(2, dtype=torch.float64)}
    able = {}
    for framework in ("areal", "trl"):
        asked = given.but(columns=columns, framework=framework)
        best = next(weighed(asked, lambda text: None, skip_missing_parts=False))
        able[framework] = best.solution.weights.tolist()
    # The same numbers: 1e-5 beside 0.1 and 0.03 is 1e-4 beside 1 and 0.3.
    assert able["areal"] == pytest.approx([0.1, 0.03])
    assert able["trl"] == pytest.approx([1.0, 0.3])
