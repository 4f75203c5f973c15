"""Rules in which the order of the rows counts, against plain loops."""

import random

import pytest
import torch

from advcli import compute_advantages
from advcli.frameworks.arithmetic.in_order import kalman, posterior, posterior_from_scores, running_baseline


def filtered(rewards, process, noise):
    """The filter of the paper, one row after the other."""
    state, variance, found = 0.0, 1.0, []
    for reward in rewards:
        prior = variance + process
        gain = prior / (prior + noise)
        state += gain * (reward - state)
        variance = (1 - gain) * prior
        found.append((reward - state) / (variance**0.5 + 1e-8))
    return found


@pytest.mark.parametrize(
    "knobs", [{"process_var": 1e-5, "meas_var": 1e-2}, {"process_var": 0.1, "meas_var": 0.5}]
)
def test_kalman_is_the_loop_over_each_group(knobs):
    draw = random.Random(4)
    group = [draw.randrange(4) for _ in range(30)]
    rewards = [round(draw.random(), 2) for _ in group]
    found = kalman(torch.tensor(rewards), torch.tensor(group), eps=1e-8, dtype="float64", **knobs)
    for label in set(group):
        own = [reward for reward, g in zip(rewards, group, strict=True) if g == label]
        expected = filtered(own, *knobs.values())
        assert found[torch.tensor(group) == label].tolist() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("rewards", "expected"),
    [
        # The numbers that the repository of KRPO gave.
        ([1, 0, 0, 0], [0.0995, -7.0481, -5.7514, -4.9725]),
        ([0, 0, 0, 1], [0, 0, 0, 14.9873]),
        ([1, 1, 1, 1], [0.0995, 0.0705, 0.0575, 0.0497]),
    ],
)
def test_kalman_gives_the_noted_numbers(rewards, expected):
    found = compute_advantages(rewards, [0] * 4, like="krpo").original
    assert found.tolist() == pytest.approx(expected, abs=5e-5)


def beliefs(steps, rho, start):
    """Rewards by prompt, step after step, with a Beta belief per prompt."""
    state, found = {prompt: list(pair) for prompt, pair in start.items()}, []
    for rewards in steps:
        off = [r - state[p][0] / sum(state[p]) for p, r in rewards]
        mean = sum(off) / len(off)
        std = (sum((x - mean) ** 2 for x in off) / (len(off) - 1)) ** 0.5
        found += [(x - mean) / (std + 1e-8) for x in off]
        for p, r in rewards:
            state[p] = [rho * state[p][0] + r, rho * state[p][1] + 1 - r]
    return found


STEPS = [[(0, 1.0), (1, 0.0), (2, 1.0)], [(2, 0.0), (0, 1.0)], [(1, 1.0), (2, 0.0), (0, 0.5)]]


@pytest.mark.parametrize("rho", [0.875, 0.5, 1.0])
def test_a_prompt_is_followed_over_its_steps(rho):
    rows = [row for step in STEPS for row in step]
    given = {
        "rewards": torch.tensor([reward for _, reward in rows]),
        "group": torch.tensor([prompt for prompt, _ in rows]),
        "step": torch.tensor([number for number, step in enumerate(STEPS) for _ in step]),
    }
    half = dict.fromkeys(range(3), (0.5, 0.5))
    found = posterior(**given, rho=rho, alpha0=0.5, beta0=0.5, dtype="float64")
    assert found.tolist() == pytest.approx(beliefs(STEPS, rho, half), rel=1e-6)
    solved = {0: 2 / 8, 1: 1.0, 2: 0.0}
    start = {p: (8 * (8 * s + 0.5) / 9, 8 * (8 - 8 * s + 0.5) / 9) for p, s in solved.items()}
    baselines = torch.tensor([solved[prompt] for prompt, _ in rows])
    columns = given["rewards"], baselines, given["group"], given["step"]
    found = posterior_from_scores(*columns, scores=8.0, clip_lower=0.875, rho=rho)
    assert found.tolist() == pytest.approx(beliefs(STEPS, rho, start), rel=1e-4)


def test_a_running_baseline_by_hand():
    assert running_baseline(torch.tensor([1.0, 1.0, 0.0])).tolist() == pytest.approx([1, 0.95, -0.0975])
