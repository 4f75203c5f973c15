"""Rollouts of several rows: which row stands for them, what it gets, and what the others get, by hand and by plain loops."""

import math
import random
from dataclasses import replace

import pytest
import torch

from advcli import DataError, UsageError, compute_advantages
from advcli.engine.plan import Plan
from advcli.engine.rollouts import Rollouts, divided
from advcli.engine.run import run
from advcli.records.settings import AdvantageTable, Settings

NAN = float("nan")
# A published log of such a dump: rows of a solved rollout count three times.
GROUPS = ["p"] * 7
ROLLOUTS = ["a", "a", "a", "b", "c", "d", "d"]
REWARDS = [1, 1, 1, 0, 0, 1, 1]
HALF = 3**0.5 / 2


def of(names, turns=None):
    codes = {name: code for code, name in enumerate(dict.fromkeys(names))}
    index = torch.tensor([codes[name] for name in names])
    return Rollouts.of(index, None if turns is None else torch.tensor(turns, dtype=torch.float64))


def test_some_of_the_rollouts_are_counted_as_those():
    some = torch.tensor([3, 7, 7])
    found = Rollouts.of(some)
    assert (found.count, found.index.tolist(), found.last.tolist()) == (2, [0, 1, 1], [0, 2])


def test_statistics_run_over_rollouts_and_all_rows_get_the_advantage():
    found = compute_advantages(REWARDS, GROUPS, rollouts=ROLLOUTS)
    assert found.original.tolist() == pytest.approx([HALF] * 3 + [-HALF] * 2 + [HALF] * 2)
    assert found.per_rollout.original.tolist() == pytest.approx([HALF, -HALF, -HALF, HALF])


def test_rows_count_where_that_is_asked_for():
    found = compute_advantages(REWARDS, GROUPS, rollouts=ROLLOUTS, count="rows")
    plain = compute_advantages(REWARDS, GROUPS)
    assert found.original.tolist() == plain.original.tolist()
    assert found.per_rollout is None


@pytest.mark.parametrize(
    ("rewards", "how", "expected"),
    [
        ([0.2, NAN, 1.0, 0.0], None, 1.0),
        ([0.2, 0.4, NAN, 0.0], None, 0.4),
        ([NAN, NAN, NAN, 0.0], None, NAN),
        ([0.2, NAN, 1.0, 0.0], "first", 0.2),
        ([NAN, 0.5, 1.0, 0.0], "first", 0.5),
        ([0.2, NAN, 1.0, 0.0], "sum", 1.2),
        ([NAN, NAN, NAN, 0.0], "sum", NAN),
        ([0.5, math.inf, 1.0, 0.0], "sum", NAN),
    ],
)
def test_the_reward_of_a_rollout(rewards, how, expected):
    found = compute_advantages(
        rewards, ["p"] * 4, estimator="reinforce", rollouts=["a", "a", "a", "b"], rollout_reward=how
    )
    assert found.original.tolist() == pytest.approx([expected] * 3 + [0.0], nan_ok=True)


def test_turns_tell_which_row_is_the_last():
    rewards, turns = [1.0, 0.25, 0.0], [1, 0, 0]
    given = {"rollouts": ["a", "a", "b"], "estimator": "reinforce"}
    assert compute_advantages(rewards, ["p"] * 3, **given).original.tolist() == [0.25, 0.25, 0.0]
    assert compute_advantages(rewards, ["p"] * 3, turns=turns, **given).original.tolist() == [1.0, 1.0, 0.0]


def test_rows_that_disagree_are_said_and_never_averaged():
    found = compute_advantages([0.0, 1.0, 0.0, 0.0], ["p"] * 4, rollouts=["a", "a", "b", "c"])
    assert found.warnings == ("1 rollout has rows with different rewards: the last turn's counts",)
    assert not compute_advantages(REWARDS, GROUPS, rollouts=ROLLOUTS).warnings
    summed = compute_advantages(
        [0.0, 1.0, 0.0, 0.0], ["p"] * 4, rollouts=["a", "a", "b", "c"], rollout_reward="sum"
    )
    assert not summed.warnings


def test_equal_names_in_two_groups_and_no_name_are_rollouts_of_their_own():
    rewards, groups = [1.0, 0.0, 1.0, 0.0], ["p", "p", "q", "q"]
    for rollouts in ([0, 1, 0, 1], [None] * 4, [NAN] * 4):
        found = compute_advantages(rewards, groups, rollouts=rollouts)
        assert found.original.tolist() == compute_advantages(rewards, groups).original.tolist()
        assert found.per_rollout is None


def test_keep_ratios_and_lengths_count_rollouts():
    found = compute_advantages(REWARDS, GROUPS, rollouts=ROLLOUTS, keep_pos=0.5)
    assert found.kept.tolist() == [True] * 3 + [True] * 2 + [False] * 2
    # OPO weighs a rollout by the tokens of all its turns: (3 · 1 + 1 · 0) / 4.
    found = compute_advantages(
        [1, 1, 0], ["p"] * 3, estimator="opo", rollouts=["a", "a", "b"], lengths=[1, 2, 1]
    )
    assert found.original.tolist() == pytest.approx([0.25, 0.25, -0.75])


def test_parts_are_taken_from_the_same_turn():
    found = compute_advantages(
        torch.tensor([[1.0, 0.5], [0.0, NAN], [0.0, 0.0]]),
        ["p"] * 3,
        estimator="gdpo",
        rollouts=["a", "a", "b"],
        rollout_reward="sum",
    )
    # Sums of the turns: (1, 0.5) and (0, 0); each is ±1/√2 of its part, and the two add up.
    one = compute_advantages(
        torch.tensor([[1.0, 0.5], [0.0, 0.0]]), ["p"] * 2, estimator="gdpo"
    ).original.tolist()
    assert found.original.tolist() == pytest.approx([one[0], one[0], one[1]])


def test_the_same_as_a_loop_over_rollouts():
    draw = random.Random(3)
    rows = [
        (group, rollout, turn)
        for group in range(6)
        for rollout in range(draw.randint(2, 5))
        for turn in range(draw.randint(1, 4))
    ]
    draw.shuffle(rows)
    rewards = [draw.random() for _ in rows]
    groups, rollouts, turns = zip(*rows, strict=True)
    found = compute_advantages(rewards, groups, rollouts=rollouts, turns=turns)
    last = {(g, r): max(t for a, b, t in rows if (a, b) == (g, r)) for g, r, _ in rows}
    reward = {(g, r): rewards[rows.index((g, r, turn))] for (g, r), turn in last.items()}
    for row, (group, rollout, _) in enumerate(rows):
        others = [value for (g, _), value in reward.items() if g == group]
        mean = sum(others) / len(others)
        std = math.sqrt(sum((value - mean) ** 2 for value in others) / (len(others) - 1))
        assert found.original[row].item() == pytest.approx((reward[group, rollout] - mean) / std)


def test_tokens_of_the_turns_lie_behind_each_other():
    rollouts = of(["a", "b", "a"])
    columns = {
        "tokens": torch.tensor([2, 1, 1]),
        "mask": torch.tensor([1.0, 2.0, 3.0, 4.0]),
        "rewards": torch.zeros(3),
        "turn": torch.zeros(3),
        "rollout": rollouts.index,
    }
    found = rollouts.collapsed(columns, "last")
    assert set(found) == {"tokens", "mask", "rewards"}
    assert found["tokens"].tolist() == [3, 1]
    assert found["mask"].tolist() == [1, 2, 4, 3]


@pytest.mark.parametrize("like", ["miles", "ms-swift", "agent-lightning"])
def test_a_trainer_that_refuses_rows_that_disagree(like):
    with pytest.raises(
        DataError,
        match=r"refuses rollouts whose rows differ in their reward: 1 rollout \(first: row 1\); try --count rows$",
    ):
        compute_advantages([0.0, 1.0, 0.0], ["p"] * 3, like=like, rollouts=["a", "a", "b"])
    compute_advantages([0.0, 1.0, 0.0], ["p"] * 3, like=like, rollouts=["a", "a", "b"], count="rows")


def test_a_trainer_that_refuses_rollouts_of_several_rows():
    given = {"like": "skyrl", "estimator": "reinforce++", "lengths": [1, 1, 1]}
    with pytest.raises(
        DataError, match="skyrl:reinforce\\+\\+ refuses rollouts of several rows; try --count rows"
    ):
        compute_advantages([1, 1, 0], ["p"] * 3, rollouts=["a", "a", "b"], **given)
    compute_advantages([1, 1, 0], ["p"] * 3, rollouts=["a", "b", "c"], **given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rollouts": ["a"]}, "rollouts have 1 values, expected one per reward: 2"),
        ({"rollouts": [["a"], ["b"]]}, "rollouts cannot be compared"),
        ({"count": "turns"}, "unknown count rule 'turns'; try rollouts or rows"),
        ({"rollout_reward": "mean"}, "unknown rollout reward rule 'mean'; try last, first or sum"),
    ],
)
def test_arguments_that_make_no_sense(given, said):
    with pytest.raises(UsageError, match=said):
        compute_advantages([1, 0], ["p"] * 2, **given)


def test_each_row_is_a_rollout_where_none_is_named():
    # Over its tokens and the two rows of the step.
    given = {"like": "agent-lightning@1.0.0", "scale": "none", "token_norm": 1}
    found = compute_advantages([1, 0], [0, 0], lengths=[2, 4], **given)
    assert found.original.tolist() == pytest.approx([0.5 / 4, -0.5 / 8])
    with pytest.raises(DataError, match=r"^agent-lightning:grpo needs the tokens of each row, but there is"):
        compute_advantages([1, 0], [0, 0], **given)


def test_a_rollout_whose_last_turn_has_no_token_is_trained_on_with_0():
    # verl reads the advantage at the first token of the last turn; ±1/√2 of two rollouts.
    given = {"rollouts": ["a", "a", "b"], "like": "verl"}
    half = 0.5**0.5
    found = compute_advantages([1, 1, 0], ["p"] * 3, lengths=[2, 3, 1], **given)
    assert found.original.tolist() == pytest.approx([half, half, -half], abs=1e-5)
    found = compute_advantages([1, 1, 0], ["p"] * 3, lengths=[2, 0, 1], **given)
    assert found.original.tolist() == pytest.approx([0, NAN, -half], abs=1e-5, nan_ok=True)
    assert found.kept.tolist() == [True, False, True]
    found = compute_advantages([1, 1, 0], ["p"] * 3, lengths=[2, 0, 1], keep_neg=0, **given)
    assert found.processed.tolist() == pytest.approx([0, NAN, 0], nan_ok=True)
    assert found.kept.tolist() == [True, False, False]


def test_the_advantage_of_a_rollout_is_divided_by_its_rows():
    given = {"like": "trinity-rft", "estimator": "step_wise_grpo", "rollouts": ["a", "a", "b"]}
    half = 0.5**0.5
    found = compute_advantages([1, 1, 0], ["p"] * 3, step_norm=1, **given)
    assert found.original.tolist() == pytest.approx([half / 2, half / 2, -half], abs=1e-5)
    assert found.per_rollout.original.tolist() == pytest.approx([half / 2, -half], abs=1e-5)


def test_rollouts_of_one_row_are_rows():
    columns = {
        "rewards": torch.tensor([1.0, 0.0], dtype=torch.float64),
        "group": torch.zeros(2, dtype=torch.int64),
        "step": torch.zeros(2, dtype=torch.int64),
        "rollout": torch.tensor([0, 1]),
    }
    found = run(Plan.of(Settings(scale="none")), columns)
    assert (found.original.tolist(), found.per_rollout) == ([0.5, -0.5], None)


def test_everything_is_divided():
    table = AdvantageTable(torch.tensor([2.0, 4.0]), torch.tensor([2.0, 0.0]), torch.tensor([True, False]))
    table = replace(table, weighted=torch.tensor([6.0, 8.0]))
    found = divided(table, Rollouts.of(torch.tensor([0, 0])), {}, "rows")
    assert [found.original.tolist(), found.processed.tolist(), found.weighted.tolist()] == [
        [1, 2],
        [1, 0],
        [3, 4],
    ]
    both = torch.tensor([2.0, 4.0])
    found = divided(AdvantageTable(both, both, both > 0), Rollouts.of(torch.tensor([0, 0])), {}, "rows")
    assert found.processed is found.original


def test_a_turn_without_a_reward_disagrees_with_none():
    rewards = torch.tensor([NAN, 1.0, 1.0, math.inf, 0.5, 1.0], dtype=torch.float64)
    assert of(["a", "a", "b", "b", "c", "c"]).disagree(rewards).tolist() == [False, False, True]
    assert of(["a", "a", "b", "b", "c", "c"]).disagree(rewards, 0.5).tolist() == [False] * 3
