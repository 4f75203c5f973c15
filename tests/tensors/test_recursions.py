"""Recursions over the rows of groups, against a loop over one group at a time."""

import random

import pytest
import torch
from repeated import over

from advcli.tensors.recursions import beta_means, kalman


@over(seed=range(5))
def test_kalman_filters_each_group_on_its_own(seed):
    draw = random.Random(seed)
    group = [draw.choice([0, 3, 4, 9]) for _ in range(25)]
    values = [draw.gauss(0, 1) for _ in group]
    left, std = kalman(
        torch.tensor(values, dtype=torch.float64), torch.tensor(group), process_var=0.1, meas_var=0.5
    )
    states: dict[int, tuple[float, float]] = {}
    for row, (value, label) in enumerate(zip(values, group, strict=True)):
        state, variance = states.get(label, (0.0, 1.0))
        prior = variance + 0.1
        gain = prior / (prior + 0.5)
        states[label] = state, variance = state + gain * (value - state), (1 - gain) * prior
        assert left[row].item() == pytest.approx(value - state, rel=1e-12)
        assert std[row].item() == pytest.approx(variance**0.5, rel=1e-12)


@over(seed=range(5))
def test_a_belief_is_that_before_the_step(seed):
    draw = random.Random(seed)
    rows = [(draw.randrange(5), draw.randrange(4), draw.random()) for _ in range(40)]
    prompt, step, rewards = (list(column) for column in zip(*rows, strict=True))
    start = {label: (draw.random() + 0.1, draw.random() + 0.1) for label in range(5)}
    alpha, beta = (torch.tensor([start[p][side] for p in prompt], dtype=torch.float64) for side in (0, 1))
    found = beta_means(
        torch.tensor(rewards, dtype=torch.float64),
        torch.tensor(prompt),
        torch.tensor(step),
        alpha,
        beta,
        rho=0.8,
    )
    state = {label: list(pair) for label, pair in start.items()}
    for number in range(4):
        own = [row for row in range(40) if step[row] == number]
        for row in own:
            a, b = state[prompt[row]]
            assert found[row].item() == pytest.approx(a / (a + b), rel=1e-12)
        for row in own:
            pair = state[prompt[row]]
            pair[:] = 0.8 * pair[0] + rewards[row], 0.8 * pair[1] + 1 - rewards[row]


def test_no_rows():
    none, numbers = torch.empty(0), torch.empty(0, dtype=torch.int64)
    assert [len(column) for column in kalman(none, numbers, process_var=1.0, meas_var=1.0)] == [0, 0]
    assert len(beta_means(none, numbers, numbers, none, none, rho=1.0)) == 0
