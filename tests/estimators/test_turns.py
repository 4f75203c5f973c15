"""Estimators of turns against plain loops, on drawn rollouts: interleaved, of several lengths, with gaps and dead groups."""

import math
import random

import pytest
import references_turns as plain
import torch
from repeated import over

from advcli import DataError, UsageError, compute_advantages


def dump(seed, *, scores=False):
    """Rewards, groups, rollouts, turns and states, shuffled; some turns have no reward, one group is dead."""
    draw = random.Random(seed)
    rows = []
    for group in range(5):
        for rollout in range(draw.choice([2, 3, 5])):
            for turn in range(draw.choice([1, 2, 4, 7])):
                reward = None if draw.random() < 0.2 and turn else draw.choice([0.0, 0.25, 1.0, -0.5])
                reward = 0.1 if group == 3 and not scores else reward
                state = None if draw.random() < 0.1 else f"s{draw.randrange(3)}"
                rows.append((reward, f"g{group}", (group, rollout), turn, state))
    draw.shuffle(rows)
    return tuple(map(list, zip(*rows, strict=True)))


def compute(rows, estimator, **knobs):
    rewards, groups, rollouts, turns, anchors = rows
    found = compute_advantages(
        rewards,
        groups,
        rollouts=[str(name) for name in rollouts],
        turns=turns,
        anchors=anchors,
        estimator=estimator,
        **knobs,
    )
    return found.original.tolist()


def close(found, expected):
    assert found == pytest.approx(expected, abs=1e-10, nan_ok=True)


@over(seed=range(6))
@pytest.mark.parametrize("gamma", [1.0, 0.95, 0.5])
def test_gigpo(seed, gamma):
    rows = dump(seed)
    close(compute(rows, "gigpo", gamma=gamma), plain.gigpo(*rows, gamma=gamma))
    close(
        compute(rows, "gigpo", gamma=gamma, scale="none", weight=0.5),
        plain.gigpo(*rows, gamma=gamma, weight=0.5, divide=False),
    )


@over(seed=range(6))
@pytest.mark.parametrize("history", [0, 2, 4])
def test_hgpo(seed, history):
    rows = dump(seed)
    rows[4][:] = [state or "s9" for state in rows[4]]
    close(compute(rows, "hgpo", history=history, alpha=0.5), plain.hgpo(*rows, history=history, alpha=0.5))


@over(seed=range(6))
def test_turn_return(seed):
    rows = dump(seed)
    close(compute(rows, "turn_return", gamma=0.9), plain.turn_return(*rows[:4], gamma=0.9))


@over(seed=range(6))
@pytest.mark.parametrize("gamma", [0.0, 0.9])
def test_turn_loo(seed, gamma):
    rows = dump(seed)
    close(compute(rows, "turn_loo", gamma=gamma), plain.turn_loo(*rows[:4], gamma=gamma))


@over(seed=range(6))
def test_mt_grpo(seed):
    rows = dump(seed)
    close(compute(rows, "mt_grpo", weight=0.5), plain.mt_grpo(*rows[:4], weight=0.5))


@over(seed=range(6))
@pytest.mark.parametrize("gamma", [0.0, 0.9, 1.0])
def test_turn_credit(seed, gamma):
    rows = dump(seed, scores=True)
    final = {name: float(hash(name) % 2) for name in rows[2]}
    episodes = [final[name] for name in rows[2]]
    expected = plain.turn_credit(*rows[:4], episodes, gamma=gamma, beta=2.0)
    close(compute(rows, "turn_credit", gamma=gamma, beta=2.0, roles={"episode": episodes}), expected)


def test_the_example_of_the_gigpo_paper_by_hand():
    """Two rollouts, 1 and 0: first term ±1/√2 each. From s0 the returns are 0.5 and 0, from s1 one turn alone."""
    found = compute_advantages(
        [0, 1, 0],
        ["p"] * 3,
        rollouts=["a", "a", "b"],
        anchors=["s0", "s1", "s0"],
        estimator="gigpo",
        gamma=0.5,
    )
    half = math.sqrt(0.5)
    assert found.original.tolist() == pytest.approx([2 * half, half, -2 * half])


def test_equal_states_are_compared_by_value():
    one, two = torch.tensor([1, 2]), torch.tensor([1, 2])
    states = ([one, two, {"x": 1}, {"x": 1}], [[1, 2], [1, 2], "b", "b"])
    found = [
        compute_advantages(
            [0, 1, 1, 0], [0] * 4, rollouts=[0, 1, 2, 3], anchors=anchors, estimator="gigpo"
        ).original.tolist()
        for anchors in states
    ]
    assert found[0] == pytest.approx(found[1])
    assert found[0][0] == pytest.approx(-2 * found[0][1] / 2)


def test_a_group_of_one_rollout_has_nothing_to_compare_with():
    given = {"rollouts": ["a", "a"], "anchors": ["s", "s"], "estimator": "gigpo"}
    assert compute_advantages([0, 1], [0, 0], **given).original.isnan().all()
    assert compute_advantages([0, 1], [0, 0], singleton="zero", **given).original.tolist() == [0, 0]
    with pytest.raises(DataError, match="1 group has one valid row"):
        compute_advantages([0, 1], [0, 0], singleton="error", **given)


def test_a_rollout_without_any_reward_has_no_advantage():
    found = compute_advantages(
        [None, None, 0, 1], ["p"] * 4, rollouts=["a", "a", "b", "c"], estimator="turn_return"
    ).original.tolist()
    assert math.isnan(found[0])
    assert math.isnan(found[1])
    assert found[2:] == pytest.approx([-math.sqrt(0.5), math.sqrt(0.5)])


def test_lists_of_rewards_give_the_same_as_rows():
    rows = dump(1)
    order = sorted(range(len(rows[0])), key=lambda row: (str(rows[2][row]), rows[3][row]))
    rewards, groups, rollouts, turns, anchors = ([column[row] for row in order] for column in rows)
    by_row = compute_advantages(
        rewards, groups, rollouts=list(map(str, rollouts)), turns=turns, anchors=anchors, estimator="gigpo"
    )
    names = list(dict.fromkeys(rollouts))
    of = {name: [row for row in range(len(rewards)) if rollouts[row] == name] for name in names}
    lists = [[rewards[row] for row in of[name]] for name in names]
    found = compute_advantages(
        [sum(reward or 0.0 for reward in one) for one in lists],
        [groups[of[name][0]] for name in names],
        turn_rewards=lists,
        anchors=[[anchors[row] for row in of[name]] for name in names],
        estimator="gigpo",
    )
    close(found.turns.tolist(), by_row.original.tolist())
    assert found.turn_counts.tolist() == [len(one) for one in lists]
    close(
        found.original.tolist(),
        [part.mean().item() for part in found.turns.split(found.turn_counts.tolist())],
    )


def test_per_turn_rules_say_how_many_rollouts_reach_each_turn():
    rows = ([1, 0, 1], ["p"] * 3)
    found = compute_advantages(*rows, rollouts=["a", "a", "b"], estimator="turn_loo")
    assert found.warnings[-1].endswith("rollouts that reach each: 2 turn 0, 1 turn 1")
    assert not compute_advantages(*rows, rollouts=["a", "b", "c"], estimator="turn_loo").warnings


def test_what_turns_need():
    with pytest.raises(DataError, match="needs the turns of each rollout"):
        compute_advantages([0, 1], [0, 0], estimator="turn_return")
    with pytest.raises(DataError, match="needs the state before each turn"):
        compute_advantages([0, 1], [0, 0], rollouts=[0, 1], estimator="gigpo")
    with pytest.raises(UsageError, match="there is no role 'episodes'"):
        compute_advantages([0, 1], [0, 0], rollouts=[0, 1], roles={"episodes": [0, 1]}, estimator="mt_grpo")
    with pytest.raises(UsageError, match="so --count does not apply"):
        compute_advantages([0, 1], [0, 0], rollouts=[0, 1], count="rows", estimator="turn_loo")
    with pytest.raises(UsageError, match="keep ratios need one advantage per row"):
        compute_advantages([0, 1], [0, 0], turn_rewards=[[0], [1]], keep_pos=0.5, estimator="turn_loo")
