"""Tokens whose row has several turns: numbers that the trainers' code gave, and by hand."""

import pytest
import torch

from advcli import DataError, UsageError, compute_advantages
from advcli.frameworks.arithmetic.per_token import (
    gae_through_gaps,
    greedy_baseline,
    less_kl,
    returns,
    token_baseline,
    whitened,
)

# Rewards 1 and 0; values as below, every token trained.
NEMO = {"like": "nemo-rl", "estimator": "gae", "values": [[0.1, 0.2, 0.3, 0.4], [0.5, 0.25]]}


@pytest.mark.parametrize(
    ("given", "advantages", "returns"),
    [
        (
            {"lam": 0.95},
            [0.8098, 0.6973, 0.5790, 0.4543, -1.4816, -1.0588],
            [0.8997, 0.9365, 0.97, 1, 0.0125, 0],
        ),
        (
            {"lam_value": 1.0, "alpha": 0.5},
            [0.2141, 0.3568, 0.6422, 1.2130, -1.2130, -1.2130],
            [1, 1, 1, 1, 0, 0],
        ),
        (
            {"lam_value": 1.0, "alpha": 0.5, "whiten": 0},
            [0.25, 0.3, 0.4, 0.6, -0.25, -0.25],
            [1, 1, 1, 1, 0, 0],
        ),
        (
            {"lam_value": 1.0, "alpha": 0.05},
            [0.1067, 0.1067, 0.1067, 1.7066, -1.0133, -1.0133],
            [1, 1, 1, 1, 0, 0],
        ),
    ],
)
def test_nemo_rl_has_a_lambda_for_the_policy_and_one_for_the_critic(given, advantages, returns):
    found = compute_advantages([1, 0], [0, 1], **NEMO, **given)
    assert found.tokens.tolist() == pytest.approx(advantages, abs=6e-5)
    assert found.returns.tolist() == pytest.approx(returns, abs=6e-5)


def test_what_a_tool_wrote_carries_on_what_comes_after():
    """Not whitened, λ 1: A = 1 − V at trained tokens, 0 at the tool's; its return is its value and the next A."""
    found = compute_advantages(
        [1],
        [0],
        like="nemo-rl",
        estimator="gae",
        values=[[0.5, 0.9, 0.25]],
        mask=[[1, 0, 1]],
        lam=1.0,
        whiten=0,
    )
    assert found.tokens.tolist() == pytest.approx([0.5, 0, 0.75])
    assert found.returns.tolist() == pytest.approx([1, 0.9 + 0.75, 1])
    assert found.original.tolist() == pytest.approx([0.625])


def test_a_batch_that_no_policy_wrote_has_advantages_of_0():
    found = compute_advantages([1], [0], like="nemo-rl", estimator="gae", values=[[0.5, 0.25]], mask=[[0, 0]])
    assert found.tokens.tolist() == [0, 0]
    assert found.returns.tolist() == [0.5, 0.25]


def test_nothing_is_carried_from_row_to_row():
    # The tool's token at the end of the first row has its own value, and none of the second row's −½.
    given = {"like": "nemo-rl", "estimator": "gae", "lam": 1.0, "whiten": 0}
    found = compute_advantages([1, 0], [0, 0], values=[[0.5, 0.25], [0.5]], mask=[[1, 0], [1]], **given)
    assert found.returns.tolist() == [1, 0.25, 0]


def test_equal_returns_are_whitened_to_0():
    row, zero = torch.tensor([0, 1]), torch.zeros(2, dtype=torch.int64)
    assert returns(torch.ones(2), row, zero, zero).tolist() == [0, 0]


def test_openrlhf_whitens_with_ddof_0():
    found = compute_advantages([1, 0], [0, 0], like="openrlhf", estimator="reinforce", kl=[[0.0], [0.0]])
    assert found.tokens.tolist() == pytest.approx([1, -1])


def test_ragen_estimates_turns_first():
    """Ends at the second and the fourth token, V 0.5: U 1.45 and 0.5, so A 1.45 1.45 0.5 0.5 and returns 1.95 and 1."""
    given = {
        "like": "ragen",
        "estimator": "bi_level_gae",
        "values": [[0.5] * 4],
        "token_rewards": [[0, 1, 0, 1]],
    }
    found = compute_advantages([2], [0], **given)
    # Whitened: mean 0.975, deviation 0.475 · √(4/3).
    size = (3 / 4) ** 0.5
    assert found.tokens.tolist() == pytest.approx([size, size, -size, -size], abs=1e-5)
    assert found.returns.tolist() == pytest.approx([1.95, 1.95, 1, 1], abs=1e-6)


def test_ragen_stops_at_a_row_that_does_not_end_with_a_reward():
    with pytest.raises(DataError, match="row 2: its last token that the policy wrote has reward 0"):
        compute_advantages(
            [1, 1],
            [0, 0],
            like="ragen",
            estimator="bi_level_gae",
            values=[[0.5], [0.5, 0.5]],
            token_rewards=[[1], [1, 0]],
        )


@pytest.mark.parametrize(
    ("mask", "segment", "expected"),
    [
        pytest.param([[1, 1, 0, 1], [1, 1]], 1, [-0.5, -0.5, -1, -1, 0, 0], id="the result comes first"),
        # Segments of the first row: 0 to 4, of which 3 is the result that counts.
        pytest.param([[1, 0, 1, 0, 1], [1]], 3, [-0.5] * 3 + [-1] * 2 + [0], id="it comes late"),
    ],
)
def test_mt_grpo_splits_at_the_result_of_a_tool(mask, segment, expected):
    """Turn rewards 1, 0 and outcomes 0, 1: z is ±0.7070; the second rollout used no tool, both together are equal."""
    found = compute_advantages(
        [[1, 0, 1], [0, 1, 1]],
        [0, 0],
        weights=[1, 1, 1],
        like="multi-turn-rl-agent",
        estimator="mt_grpo",
        mask=mask,
        roles={"segment": [segment, -1]},
        weight=0.5,
    )
    z = 0.5 / (0.5**0.5 + 1e-4)
    assert found.tokens.tolist() == pytest.approx([share * z for share in expected], abs=1e-6)


def test_mt_grpo_takes_three_rewards():
    with pytest.raises(UsageError) as caught:
        compute_advantages(
            [[1, 0], [0, 1]],
            [0, 0],
            weights=[1, 1],
            like="multi-turn-rl-agent",
            estimator="mt_grpo",
            mask=[[1], [1]],
            roles={"segment": [1, -1]},
        )
    assert str(caught.value) == (
        "mt_grpo takes three rewards (of the turn, of the outcome, and both combined), not 2; "
        "try --reward TURN --reward OUTCOME --reward BOTH"
    )


def test_the_mean_alone_is_taken_off():
    zero = torch.tensor([0, 0, 0])
    found = whitened(torch.tensor([1.0, 3.0, 8.0]), zero, torch.arange(3), zero, ddof=0, divide=False)
    assert found.tolist() == [-3.0, -1.0, 4.0]


def test_no_token_has_no_baseline():
    none, nobody = torch.zeros(0), torch.zeros(0, dtype=torch.int64)
    assert token_baseline(none, none, none, nobody, nobody, nobody).tolist() == []


def test_the_greedy_reward_is_taken_off_an_undiscounted_return():
    found = greedy_baseline(torch.tensor([0.5, 1.0, 2.0]), torch.full((3,), 0.25), torch.tensor([0, 0, 1]))
    assert found.tolist() == [1.25, 0.75, 1.75]


def test_a_row_without_others_keeps_its_reward_where_the_rule_says_so():
    # 1 and 3 at two tokens each, mean 2, variance 4 / 3.
    row = torch.tensor([0, 0, 1, 1])
    zero = torch.zeros(4)
    knobs = {"centre": "mean", "single": "raw", "eps": 0.0}
    found = less_kl(
        torch.tensor([0.0, 1, 0, 3]), zero, row, torch.tensor([0, 1, 0, 1]), row, zero.long(), **knobs
    )
    assert found.tolist() == pytest.approx([-(0.75**0.5)] * 2 + [0.75**0.5] * 2)


def test_gaps_are_gone_over_in_the_dtype_of_the_trainer():
    row = torch.tensor([0, 0])
    wide, there = torch.tensor([0.1, 0.2], dtype=torch.float64), torch.tensor([True, True])
    found = gae_through_gaps(
        wide, wide, row, torch.arange(2), row, there, gamma=1.0, lam=1.0, eps=0.0, whiten=False
    )
    assert found.dtype == torch.float32
