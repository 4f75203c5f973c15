"""What names say, for names that are in no list."""

import pytest

from advcli.io.columns import names


@pytest.mark.parametrize(
    "name", ["reward", "totalScore", "final_reward", "episode_reward", "reward_sum", "scores"]
)
def test_a_total(name):
    assert names.is_total(name)


@pytest.mark.parametrize(
    "name", ["reward_mean", "scoreStd", "max_score", "reward_id", "reward_valid", "t_ms", "rank"]
)
def test_never_a_reward(name):
    assert names.never_reward(name)


@pytest.mark.parametrize("name", ["accuracy", "format_reward", "length_reward", "helpful", "rewards.style"])
def test_may_be_a_reward(name):
    assert not names.never_reward(name)
    assert not names.is_measure(name)


@pytest.mark.parametrize(
    "name", ["update", "policy_step", "globalStep", "iter", "ckpt", "trainer.step", "global_steps"]
)
def test_a_step(name):
    assert names.is_step(name)


@pytest.mark.parametrize(
    "name", ["num_steps", "max_step", "env_step", "steps", "update_time", "step_reward", "epoch"]
)
def test_no_step(name):
    assert not names.is_step(name)


@pytest.mark.parametrize(
    ("several", "told"),
    [
        (["reward_0", "reward_1", "reward_2"], True),
        (["score1", "score2"], True),
        (["chosen_reward", "rejected_reward"], True),
        (["reward_a", "reward_b"], False),
        (["reward_format", "reward_accuracy"], False),
        (["format_reward", "reward_2"], False),
    ],
)
def test_rewards_of_several_answers(several, told):
    assert names.of_several_answers(several) is told
