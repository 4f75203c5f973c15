"""The figures of prompts against plain loops."""

import numpy as np
import pytest
import torch

from advcli.records.results.prompts import STATES
from advcli.records.table import Rows
from advcli.stats.prompts import PromptCounts, PromptFigures, in_order, mean_of, two_values


def rows_of(*prompts):
    """Rows from (prompt, step, rewards) of each group."""
    group, prompt, step, rewards = [], [], [], []
    for number, (name, at, values) in enumerate(prompts):
        group += [number] * len(values)
        prompt += [name] * len(values)
        step += [at] * len(values)
        rewards += values
    lengths = torch.arange(1.0, len(group) + 1).double()
    rows = Rows(
        torch.tensor(rewards).double(), torch.tensor(group), len(prompts), torch.tensor(step), lengths
    )
    return rows, torch.tensor(prompt)


def figures_of(rows, prompt, count, threshold=None):
    counts = PromptCounts.of(rows, prompt, count, threshold=threshold)
    return PromptFigures.of(counts, two_values(rows.rewards[rows.rewards.isfinite()]))


NAN = float("nan")
ROWS, PROMPT = rows_of(
    (0, 0, [0.0] * 16),
    (0, 1, [1.0] * 16),
    (1, 0, [1.0] * 16),
    (1, 1, [0.0] * 15 + [NAN]),
    (2, 0, [0.0, 1.0]),
    (2, 1, [1.0, 0.0]),
    (3, 0, [0.0, 0.0]),
    (4, 1, [1.0, 1.0, 1.0]),
    (5, 1, [0.0, 1.0]),
)
FOUND = figures_of(ROWS, PROMPT, 6, threshold=1.0)


def test_states():
    assert [STATES[place] for place in FOUND.state] == [
        "learned",
        "forgotten",
        "flat",
        "never",
        "always",
        "one step",
    ]
    assert FOUND.states() == dict.fromkeys(STATES, 1)


def test_counts_means_and_lengths():
    figures = FOUND.figures
    assert figures["rows"].tolist() == [32, 32, 4, 2, 3, 2]
    assert figures["rewarded"].tolist() == [32, 31, 4, 2, 3, 2]
    assert figures["first_mean"].tolist() == [0, 1, 0.5, 0, 1, 0.5]
    assert figures["last_mean"].tolist() == [1, 0, 0.5, 0, 1, 0.5]
    assert figures["groups"].tolist() == [2, 2, 2, 1, 1, 1]
    assert figures["live_share"].tolist() == [0, 0, 1, 0, 0, 1]
    assert figures["length_right"][0] == np.mean(range(17, 33))
    assert figures["length_wrong"][0] == np.mean(range(1, 17))
    assert np.isnan(figures["length_right"][3])


def test_bands_hold_every_prompt_once():
    bands = FOUND.bands()
    assert [(band.low, band.high, band.prompts) for band in bands] == [
        (0, 0, 1),
        (0, 0.25, 0),
        (0.25, 0.5, 0),
        (0.5, 0.75, 4),
        (0.75, 1, 0),
        (1, 1, 1),
    ]
    assert sum(band.rows for band in bands) == 74


def test_other_rewards_are_solved_between_the_lowest_and_the_highest():
    rows, prompt = rows_of((0, 0, [-1.0, 0.0]), (1, 0, [3.0, 3.0]), (2, 0, [-1.0, -1.0]), (3, 0, [NAN]))
    found = figures_of(rows, prompt, 4)
    assert found.solved[:3].tolist() == [0.125, 1, 0]
    assert [STATES[place] for place in found.state[:3]] == ["one step", "always", "never"]
    assert sum(found.states().values()) == 3
    with pytest.raises(ValueError, match="right or wrong"):
        found.pass_at(1)


def test_the_order():
    table = {"p": [1.0, 0.01, 0.01, NAN], "change": [0.0, 0.2, -0.5, NAN], "mean": [0.5, NAN, 0.7, 0.1]}
    assert in_order(table, None, 9) == (2, 1, 0, 3)
    assert in_order(table, "mean", 9) == (2, 0, 3, 1)
    assert in_order(table, "-mean", 2) == (3, 0)


def test_a_mean_without_values_or_differences():
    assert mean_of(np.array([NAN])).count == 0
    one = mean_of(np.array([0.5, 0.5, NAN]))
    assert (one.count, one.mean) == (2, 0.5)
    assert np.isnan(one.low)


def test_two_rewards():
    assert two_values(torch.tensor([0.0, 0.5, 1.0])) is None
    assert two_values(torch.tensor([])) is None
    assert two_values(torch.tensor([0.2, 1.2])) == pytest.approx((0.2, 1.2))


def test_parts_with_whole_prompts_make_the_whole():
    """Prompts 0, 2 and 4 in one place, the others in another; the places list them in another order."""
    places = [[4, 0, 2], [1, 5, 3]]
    parts = []
    for place in places:
        number = torch.full((6,), -1)
        number[torch.tensor(place)] = torch.arange(3)
        here = number[PROMPT] >= 0
        groups, group = torch.unique(ROWS.group[here], return_inverse=True)
        rows = Rows(ROWS.rewards[here], group, len(groups), ROWS.step[here], ROWS.lengths[here])
        parts.append(PromptCounts.of(rows, number[PROMPT][here], 3, threshold=1.0))
    order = np.argsort(np.concatenate(places))
    found = PromptFigures.of(PromptCounts.joined(parts, order), (0.0, 1.0))
    for name, values in FOUND.figures.items():
        np.testing.assert_array_equal(found.figures[name], values, err_msg=name)
    assert found.state.tolist() == FOUND.state.tolist()
    assert [found.curve(at) for at in range(6)] == [FOUND.curve(at) for at in range(6)]
    assert found.pass_at(2)[0].tolist() == pytest.approx(FOUND.pass_at(2)[0].tolist(), nan_ok=True)


def test_a_group_of_one_is_neither_live_nor_dead():
    rows, prompt = rows_of(
        (0, 0, [0.0, 1.0]), (0, 1, [1.0]), (1, 0, [1.0]), (2, 0, [1.0, NAN]), (2, 1, [0.0, 0.0])
    )
    found = figures_of(rows, prompt, 3)
    assert found.figures["groups"].tolist() == [2, 1, 2]
    assert found.figures["live_share"].tolist() == [1, pytest.approx(NAN, nan_ok=True), 0]
