"""What the engine makes of turns before an estimator sees them."""

import pytest
import torch

from advcli import DataError, compute_advantages
from advcli.engine.plan import Plan
from advcli.engine.run import run
from advcli.engine.turns import alike, completed
from advcli.records.settings import Settings


def columns(**given):
    return {
        "rewards": torch.tensor([0.0, torch.nan, 1.0, torch.nan], dtype=torch.float64),
        "group": torch.zeros(4, dtype=torch.int64),
        "rollout": torch.tensor([0, 0, 0, 1]),
        **given,
    }


def test_what_is_not_there_is_made_from_what_is():
    found = completed(columns(), ("episode", "valid", "env_step", "agent", "input_tokens"))
    assert found["turn"].tolist() == [0, 1, 2, 0]
    assert found["episode"].tolist()[:3] == [1, 1, 1]
    assert found["episode"].isnan().tolist() == [False, False, False, True]
    assert found["valid"].tolist() == [1, 1, 1, 1]
    assert found["env_step"].isnan().all()
    assert found["agent"].tolist() == found["input_tokens"].tolist() == [0, 0, 0, 0]


def test_what_is_there_stays():
    given = {"turn": torch.tensor([5.0, torch.nan, 7.0, 9.0]), "episode": torch.ones(4)}
    found = completed(columns(**given), ("episode",))
    assert found["turn"].tolist() == [5, 1, 7, 9]
    assert found["episode"] is given["episode"]
    assert "valid" not in found


def test_a_state_joins_the_first_that_is_like_it_in_its_group():
    # The third is like the second and not like the first, to which the second went: it begins a new state.
    texts = ["aaaaaaaaaa", "aaaaaaaabb", "aaaaaabbbb", None, "aaaaaaaaaa"]
    assert alike(texts, [0, 0, 0, 0, 1], 0.8).tolist() == [0, 0, 1, -1, 2]


@pytest.mark.parametrize(("rule", "expected"), [(None, [3, 2, 1]), ("last", [1, 1, 1])])
def test_the_reward_of_a_rollout_that_each_row_has_counts_once(rule, expected):
    found = compute_advantages(
        [1, 1, 1],
        [0] * 3,
        rollouts=["a"] * 3,
        like="areal",
        estimator="turn_discount",
        rollout_reward=rule,
    )
    assert found.original.tolist() == expected


def test_the_last_turn_is_told_by_its_number():
    given = {"like": "roll", "estimator": "step_reinforce", "rollout_reward": "last", "gamma": 0.5}
    # The reward comes with turn 1, the first row; turn 0 has half of it.
    found = compute_advantages([1, 1], [0, 0], rollouts=["a", "a"], turns=[1, 0], method="identity", **given)
    assert found.original.tolist() == [1, 0.5]


def test_equal_turns_need_their_numbers_and_no_rollouts():
    given = {
        "rewards": torch.tensor([1.0, 0, 0, 0], dtype=torch.float64),
        "group": torch.zeros(4, dtype=torch.int64),
        "step": torch.zeros(4, dtype=torch.int64),
        "turn": torch.tensor([0.0, 0, 1, 1], dtype=torch.float64),
    }
    found = run(Plan.of(Settings(like="pipelinerl", estimator="loo_per_step")), given)
    above = 1 / (0.5**0.5 + 1e-4)
    assert found.original.tolist() == pytest.approx([above, -above, 0, 0])
    with pytest.raises(
        DataError,
        match=r"^turn_loo needs the turns of each rollout, but no column says which rows they are; try --rollout-col COL, or",
    ):
        run(Plan.of(Settings("turn_loo")), given)


def test_the_turns_of_a_list_are_rows():
    given = {"like": "roll", "estimator": "step_reinforce", "method": "identity", "gamma": 0.5}
    found = compute_advantages([3, 3], [0, 0], turn_rewards=[[1, 2], [3]], **given)
    # 1 + 2 / 2, 2 and 3; the advantage of a rollout is the mean of its turns.
    assert (found.turns.tolist(), found.turn_counts.tolist()) == ([2, 2, 3], [2, 1])
    assert found.original.tolist() == found.processed.tolist() == [2, 3]
    assert found.kept.tolist() == [True, True]


def test_how_many_rollouts_get_to_each_turn_is_said():
    given = {"like": "pipelinerl", "estimator": "loo_per_step", "rollouts": list("aab")}
    found = compute_advantages([1, 0, 0], [0] * 3, turns=[0, 1, 0], **given)
    (said,) = found.warnings
    assert said == (
        "pipelinerl:loo_per_step compares equal turns, which is biased where the policy decides when to stop; "
        "rollouts that reach each: 2 turn 0, 1 turn 1"
    )
    assert (
        compute_advantages([1, 0], [0] * 2, turns=[0, 0], **{**given, "rollouts": list("ab")}).warnings == ()
    )
