"""NeMo-RL's arithmetic against loops in float64."""

import math
import random

import pytest
import torch
from repeated import over

from advcli.frameworks.arithmetic.one_pass import one_pass, one_pass_parts

SIZES = (4, 2, 1, 3, 5)


def draw(seed):
    rng = random.Random(seed)
    groups = [group for group, size in enumerate(SIZES) for _ in range(size)]
    rng.shuffle(groups)
    return [rng.choice([0.0, 0.25, 1.0, rng.gauss(0, 1)]) for _ in groups], groups


def loop(rewards, groups, *, others, divide=True, eps=1e-6):
    """Mean and standard deviation of the rows that count, two-pass; not divided where they are equal."""
    out = []
    for row, reward in enumerate(rewards):
        members = [r for j, r in enumerate(rewards) if groups[j] == groups[row] and not (others and j == row)]
        if groups.count(groups[row]) == 1:
            out.append(0.0)
            continue
        mean = sum(members) / len(members)
        std = 0.0
        if len(members) > 1 and max(members) != min(members):
            std = math.sqrt(sum((r - mean) ** 2 for r in members) / (len(members) - 1))
        out.append((reward - mean) / (std + eps) if divide and std else reward - mean)
    return out


@pytest.mark.parametrize("others", [True, False])
@pytest.mark.parametrize("divide", [True, False])
@over(seed=range(5))
def test_grpo(others, divide, seed):
    rewards, groups = draw(seed)
    found = one_pass(
        torch.tensor(rewards), torch.tensor(groups), others=others, divide=divide, dtype="float64"
    )
    assert found.tolist() == pytest.approx(loop(rewards, groups, others=others, divide=divide), abs=1e-5)


@pytest.mark.parametrize("others", [True, False])
@over(seed=range(5))
def test_gdpo(others, seed):
    first, groups = draw(seed)
    second = draw(seed + 100)[0]
    steps = [group % 2 for group in groups]
    a, b = (loop(part, groups, others=others) for part in (first, second))
    total = [x + 0.5 * y for x, y in zip(a, b, strict=True)]
    expected = []
    for row, value in enumerate(total):
        batch = [t for t, step in zip(total, steps, strict=True) if step == steps[row]]
        mean = sum(batch) / len(batch)
        expected.append((value - mean) / math.sqrt(sum((t - mean) ** 2 for t in batch) / (len(batch) - 1)))
    found = one_pass_parts(
        torch.tensor([first, second]).T,
        torch.tensor([1.0, 0.5]),
        torch.tensor(groups),
        torch.tensor(steps),
        others=others,
        dtype="float64",
    )
    assert found.tolist() == pytest.approx(expected, abs=1e-4)


def test_a_batch_without_spread_is_only_centred():
    parts = torch.tensor([[1.0, 0.5]] * 4)
    found = one_pass_parts(
        parts, torch.ones(2), torch.tensor([0, 0, 1, 1]), torch.zeros(4, dtype=torch.int64)
    )
    assert found.tolist() == [0.0] * 4


def test_a_batch_of_one_row():
    found = one_pass_parts(
        torch.tensor([[1.0, 0.5]]), torch.ones(2), torch.tensor([0]), torch.zeros(1, dtype=torch.int64)
    )
    assert found.tolist() == [0.0]


@pytest.mark.parametrize("lone", [0.0, 2.0])
def test_equal_others_are_seen_in_spite_of_rounding(lone):
    rewards = torch.tensor([0.3] * 7 + [lone])
    found = one_pass(rewards, torch.zeros(8, dtype=torch.int64))
    assert found[7].item() == pytest.approx(lone - 0.3, abs=1e-6)


def test_groups_of_equal_rewards_beside_each_other():
    rewards = torch.tensor([0.3] * 7 + [0.7] * 7)
    found = one_pass(rewards, torch.tensor([0] * 7 + [1] * 7), others=False)
    assert found.tolist() == pytest.approx([0] * 14, abs=1e-6)
