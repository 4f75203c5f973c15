"""Length rules: the numbers of the frameworks, worked out by their code or by hand, and plain loops for odd groups."""

import math

import pytest
import torch

from advcli import compute_advantages
from advcli.shaping import lengths

# One group through every rule; values to four digits.
REWARDS = [1.0, 1.0, 1.0, 0.0]
LENGTHS = [100.0, 200.0, 400.0, 300.0]
COLUMNS = {"inputs": [50, 50, 100, 100], "turns": [1, 2, 4, 2]}


def shaped(*steps, rewards=REWARDS, of=LENGTHS, groups=None, **given):
    found = compute_advantages(
        rewards,
        groups or [0] * len(rewards),
        lengths=of,
        shaping=list(steps),
        columns=COLUMNS if len(rewards) == len(REWARDS) else None,
        **{"estimator": "reinforce", **given},
    )
    return found.original.tolist()


CENTRED = {"estimator": "grpo", "scale": "none"}


@pytest.mark.parametrize(
    ("step", "given", "expected"),
    [
        ("linear:input_tokens=inputs,num_turns=turns", CENTRED, [0.3625, 0.2969, 0.1281, -0.7875]),
        ("length_limit:max=1000", CENTRED, [0.2781, 0.2594, 0.2219, -0.7594]),
        ("length_limit:max=1000,gated=1", CENTRED, [0.2641, 0.2453, 0.2078, -0.7172]),
        ("length_limit:max=1000", {"estimator": "opo"}, [0.3375, 0.3187, 0.2812, -0.7000]),
        ("efficiency", CENTRED, [0.6429, 0.2143, 0.0714, -0.9286]),
        ("efficiency:cost=turns", CENTRED, [0.6429, 0.2143, 0.0714, -0.9286]),
        ("gr3:alpha=0.33", CENTRED, [0.3011, 0.2089, 0.0722, -0.5822]),
        ("slack", {}, [1, 0.9873, 0.8540, 0]),
        ("grpo_lead", {}, [1, 1, 1, 0]),
        ("grpo_lead:length=50*response_length", {}, [1.0446, 1.0110, 0.9469, 0]),
        ("pass_rate_length:weight=0.5", {}, [0.9062, 0.8125, 0.6250, 0]),
        ("group_length:coef=0.5", {}, [1.2222, 1.0556, 0.7222, 0]),
        ("alp:beta=1e-3", {}, [0.9250, 0.8500, 0.7000, -0.2250]),
        ("shortest", {}, [1.5, 1, 1, 0]),
    ],
)
def test_one_group_through_every_rule(step, given, expected, monkeypatch):
    monkeypatch.setitem(COLUMNS, "response_length", LENGTHS)
    assert shaped(step, **given) == pytest.approx(expected, abs=6e-5)


def test_kimi_is_a_term_that_is_added():
    expected = [0.5, 1 / 6, -0.5, -1 / 6]
    assert shaped("kimi:weight=2") == pytest.approx(
        [r + 2 * x for r, x in zip(REWARDS, expected, strict=True)]
    )


def test_the_rule_of_the_issue_is_an_expression():
    step = "r + 0.2*(mean(len)-len)/max(len) where turns <= 2"
    expected = [1 + 0.2 * 150 / 400, 1 + 0.2 * 50 / 400, 1, 0.2 * -50 / 400]
    assert shaped(step) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("step", "rewards", "of", "expected"),
    [
        # All wrong: nothing to scale a penalty by.
        ("linear:input=0,turns=0", [0, 0], [10, 20], [0, 0]),
        ("length_limit:max=100", [0, 0], [10, 20], [0, 0]),
        ("efficiency", [0, 0], [10, 20], [0, 0]),
        ("efficiency", [-1, 0], [10, 20], [-1, 0]),
        ("efficiency", [1, 1], [0, 0], [1, 1]),
        ("gr3:alpha=1", [1, 1], [0, 0], [1, 1]),
        # Largest length below 1.
        ("linear:output=0.5,input=0,turns=0", [1, 1], [0, 0], [1, 1]),
        # Never solved: at the rate of one of K.
        ("alp:beta=0.01", [0, 0, 0, 0], [10, 20, 30, 40], [-0.025, -0.05, -0.075, -0.1]),
        # One correct row has a std of 1, and its own mean.
        ("grpo_lead:above=0", [1, 0, 0], [10, 20, 30], [1, 0, 0]),
        # Fewer than three rows: always.
        ("grpo_lead", [1, 1], [10, 20], [math.exp(0.05 / math.sqrt(2)), math.exp(-0.05 / math.sqrt(2))]),
        ("kimi", [1, 0], [10, 10], [1, 0]),
        ("slack", [1, 0, 0], [1000, 1, 2], [1, 0, 0]),
        ("slack:cap=0.5", [1, 1], [10, 10000], [1, 0.8]),
        ("slack:threshold=0.5,floor=0.8", [0.6, 0.9], [10, 10000], [0.6, 0.8]),
        ("slack:absolute=0", [1, 1], [0, 0], [1, 1]),
        ("slack:absolute=0", [1, 1, 1], [0, 0, 50], [1, 1, 0.8]),
        # Rewards that are neither 0 nor 1.
        ("pass_rate_length:weight=0.5", [1, 0.5], [10, 20], [1, 0.5]),
        ("group_length:coef=0.5", [1, 1, 0.5], [10, 20, 30], [1, 1, 0.5]),
        ("pass_rate_length:weight=0.5", [1, 0], [10, 20], [0.75, 0]),
        ("pass_rate_length:weight=3", [1, 1], [10, 20], [0, 0]),
        ("pass_rate_length:weight=0.5", [1, 1], [0, 0], [1, 1]),
        ("group_length:coef=0.5", [1, 0], [10, 20], [1, 0]),
        ("group_length:coef=0.5", [1, 1], [10, 10], [1, 1]),
        ("group_length:coef=4", [1, 1], [10, 20], [3, 0]),
        # Of the lengths of wrong rows nothing is taken.
        ("group_length:coef=0.5", [1, 1, 0, 0], [10, 20, 5, 40], [1.25, 0.75, 0, 0]),
        # A reward that differs by 1e-6 is still 0.
        ("pass_rate_length:weight=0.5", [1, 1e-6], [10, 20], [0.75, 1e-6]),
        # The mean of the three shortest is on the bound, and not above it.
        ("grpo_lead:above=20", [1, 1, 1], [10, 20, 30], [1, 1, 1]),
        # The three shortest are short, whatever the fourth is.
        ("grpo_lead:above=100", [1, 1, 1, 1], [10, 20, 30, 1000], [1, 1, 1, 1]),
        ("pass_rate_length:weight=0.5", [1, 1], [0.5, 1], [0.75, 0.5]),
        # One success has no other to be compared with, however little slack there is.
        ("slack:relative=-0.5,absolute=0", [1, 0], [10, 20], [1, 0]),
        # A cost below 0 is a bonus of 1 at most.
        ("efficiency", [1, 1], [-1, 3], [2, 1]),
    ],
)
def test_odd_groups(step, rewards, of, expected):
    rewards = [float(reward) for reward in rewards]
    assert shaped(step, rewards=rewards, of=of) == pytest.approx(expected, abs=1e-6)


def test_a_missing_reward_and_a_missing_length_are_in_no_statistic():
    rewards, of = [1.0, 1.0, math.nan, 1.0], [10.0, math.nan, 1000.0, 30.0]
    found = lengths.gr3(torch.tensor(rewards), torch.zeros(4, dtype=torch.int64), torch.tensor(of), alpha=1.0)
    assert found.tolist() == pytest.approx([1 / 1.5, math.nan, math.nan, 1 / 2.5], nan_ok=True)


def test_groups_do_not_touch_each_other():
    both = shaped(
        "linear:input=0,turns=0", rewards=REWARDS * 2, of=[*LENGTHS, 1.0, 2, 3, 4], groups=[0] * 4 + [1] * 4
    )
    assert both[:4] == pytest.approx(shaped("linear:input=0,turns=0"))


def test_what_is_not_said_to_be_right_or_completed_is_not():
    ones, group, said = torch.ones(2), torch.zeros(2, dtype=torch.int64), torch.tensor([1.0, math.nan])
    assert lengths.right(ones, said).tolist() == [True, False]
    # Without the second there is one success, which nothing is taken off.
    found = lengths.slack(ones, group, torch.tensor([10.0, 1000.0]), said)
    assert found.tolist() == [1, 1]
