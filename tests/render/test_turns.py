"""Rollouts of several rows on the screen, from records made by hand."""

import math
from dataclasses import replace

from advcli.records.results.inspection import ByTurns, Turns
from advcli.render import turns

TURNS = Turns(
    rollouts=4,
    rows=7,
    turns_mean=1.75,
    turns_max=3,
    several_steps=1,
    differ=2,
    largest_share_of_rows=3 / 7,
    its_share_of_rollouts=0.25,
    reward_by_rollouts=0.5,
    reward_by_rows=3 / 7,
    by_turns=(ByTurns(1, 2, 0.5), ByTurns(2, 1, 1.0), ByTurns(3, 1, math.nan)),
)


def test_the_figures_in_one_line():
    header, [cells] = turns.figures(TURNS)
    assert dict(zip(header, cells, strict=True)) == {
        "rollouts": "4",
        "turns: mean": "1.75",
        "max": "3",
        "several steps": "1",
        "rewards differ": "2",
        "reward": "0.5",
        "by rows": "0.4286",
    }


def test_the_weight_of_the_longest_rollout():
    assert list(turns.weight(TURNS)) == [
        "counted by rows, one rollout is 42.9% of its group; by rollouts, 25.0%"
    ]
    assert not list(turns.weight(replace(TURNS, largest_share_of_rows=math.nan)))


def test_rewards_by_the_number_of_turns():
    _, lines = turns.by_turns(TURNS)
    assert [line[:3] for line in lines] == [("1", "2", "0.5"), ("2", "1", "1"), ("3", "1", "–")]


def test_long_rollouts_are_one_line():
    many = tuple(ByTurns(number, number, float(number > 10)) for number in range(1, 13))
    _, lines = turns.by_turns(replace(TURNS, by_turns=many))
    assert len(lines) == 11
    assert lines[-1][:3] == ("11 or more", "23", "1")
