"""Baselines of turns in trainers, on numbers worked out by hand."""

import math

import pytest

from advcli import compute_advantages


def compute(like, estimator, rewards, rollouts, **given):
    groups = given.pop("groups", [0] * len(rewards))
    return compute_advantages(
        rewards, groups, rollouts=rollouts, like=like, estimator=estimator, **given
    ).original.tolist()


def test_atropos_counts_a_turn_that_was_not_taken_as_0():
    """Second turns 1 and 0 of three rollouts: 1, 0, 0 with mean 1/3 and std √2/3; outcomes are left out."""
    found = compute("atropos", "mt_grpo", [0, 1, 0, 0, 0], list("aabbc"), weight=0.0)
    assert found == pytest.approx([0, math.sqrt(2), 0, -math.sqrt(0.5), 0])


def test_pipelinerl_divides_by_the_std_of_the_whole_set():
    """Rewards 1, 0, 0, 0: 1 − 0 over 0.5 + 1e-4, and 0 − 1/3 over the same."""
    given = {"turns": [3] * 4}
    assert compute("pipelinerl", "loo_per_step", [1, 0, 0, 0], list("abcd"), **given) == pytest.approx(
        [1.9996, *[-0.66653] * 3], abs=1e-5
    )


def test_rlinf_compares_turns_or_the_means_of_trajectories():
    """Turns 1, 0, 0.5: mean 0.5, std 0.5. Trajectories 0.5 and 0.5 are equal."""
    rows = ([1, 0, 0.5], list("aab"))
    assert compute("rlinf", "grpo_dynamic", *rows) == pytest.approx([1, -1, 0], abs=1e-5)
    assert compute("rlinf", "grpo_dynamic", *rows, by="trajectory") == pytest.approx([0, 0, 0], abs=1e-5)


def test_prime_rls_length_penalty_is_a_share_of_the_groups_mean_reward():
    """Mean reward 0.5. a: 0.5 · 2/4, b: 0.5 · 4/4 for trained tokens; levels 0.75 and −0.5."""
    found = compute(
        "prime-rl",
        "turn_credit",
        [None, None],
        list("ab"),
        roles={"episode": [1, 0]},
        lengths=[2, 4],
        output_weight=1.0,
    )
    assert found == pytest.approx([0.625, -0.625])


def test_nemo_rl_adds_the_credit_of_a_turn_to_the_advantage_of_the_rollout():
    given = {"roles": {"macro": [0.5, 0.5, -0.5]}, "gamma": 0.5, "weight": 2.0, "macro_weight": 3.0}
    rows = ([1, 2, None], list("aab"))
    assert compute("nemo-rl", "turn_level_credit", *rows, **given) == pytest.approx([5.5, 5.5, -1.5])
    assert compute("nemo-rl", "turn_level_credit", *rows, **given, how="immediate") == pytest.approx(
        [3.5, 5.5, -1.5]
    )


def test_a_reward_that_is_missing_earned_nothing():
    assert compute("areal", "turn_discount", [1, None, 2], list("aaa"), gamma=0.5) == [1.5, 1.0, 2.0]
