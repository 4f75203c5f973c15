"""GRPO with numpy's sums: the digits of a group that is nearly dead depend on them."""

import numpy as np
import pytest
import torch

from advcli import compute_advantages
from advcli.frameworks.arithmetic.numpy_sums import standardised


def test_two_passes_are_those_of_numpy():
    rewards = np.random.default_rng(0).normal(1000, 0.01, (3, 7)).astype(np.float32)
    group = torch.arange(3).repeat_interleave(7)
    found = standardised(torch.from_numpy(rewards).flatten(), group, one_pass=False, eps=1e-8)
    expected = np.concatenate([(row - row.mean()) / (row.std() + 1e-8) for row in rewards])
    assert np.array_equal(found.numpy(), expected)


@pytest.mark.parametrize(
    ("estimator", "first", "last"), [("grpo", -2.5e6, 7.5e6), ("agentic_grpo", -0.5763, 1.7331)]
)
def test_the_two_ways_of_areno_differ_on_a_nearly_constant_group(estimator, first, last):
    # The numbers that its own functions gave.
    found = compute_advantages([1000.1] * 3 + [1000.2], [0] * 4, like="areno", estimator=estimator).original
    assert found.tolist() == pytest.approx([first] * 3 + [last], rel=0.03)
    assert compute_advantages([0.3], [0], like="areno", estimator=estimator).original.tolist() == [0]


def test_the_largest_rewards_warn_of_nothing():
    rewards = torch.tensor([1.7e308, 1.7e308, 1.0, 0.0], dtype=torch.float64)
    found = standardised(rewards, torch.tensor([0, 0, 1, 1]), one_pass=False, eps=0.0, dtype="float64")
    assert not found[:2].isfinite().any()
    assert found[2:].tolist() == [1.0, -1.0]


def test_the_smallest_rewards_warn_of_nothing():
    # Their squares are 0 in float32, and so is what is divided by.
    found = standardised(torch.tensor([1e-30, 3e-30]), torch.tensor([0, 0]), one_pass=False, eps=0.0)
    assert found.tolist() == [float("-inf"), float("inf")]
