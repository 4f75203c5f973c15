"""Estimators with one advantage per token, against plain loops written from the papers."""

import math
import random

import pytest
import references_tokens as plain
import torch
from repeated import over

from advcli.estimators import tokens
from advcli.estimators.batch import reinforce_plus_plus as outcome_plus_plus
from advcli.estimators.batch import remax as outcome_remax


def ragged(seed, longest=9):
    """Lists per row: rewards of tokens, values, log-probs, Σπ², and group and step of the row."""
    draw = random.Random(seed)
    rows = []
    for row in range(draw.randint(1, 12)):
        length = draw.randint(1, longest)
        numbers = [[draw.uniform(-1, 1) for _ in range(length)] for _ in range(2)]
        log_probs = [-draw.uniform(0.01, 3) for _ in range(length)]
        squares = [math.exp(2 * lp) + draw.uniform(0, 0.1) for lp in log_probs]
        group = row // 3
        rows.append((*numbers, log_probs, squares, group, group % 2))
    return rows


def flat(rows):
    """The same as [T] tensors."""
    columns = [torch.tensor([x for row in rows for x in row[k]], dtype=torch.float64) for k in range(4)]
    labels = [torch.tensor([row[k] for row in rows for _ in row[0]]) for k in (4, 5)]
    index = torch.tensor([i for i, row in enumerate(rows) for _ in row[0]])
    return (*columns, index, *labels)


def close(found, expected):
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64), rtol=1e-12, atol=1e-12)


def white(values, step, ddof, eps):
    """(x − mean) / √(variance + eps) of the tokens of each step."""
    out = []
    for x, s in zip(values, step, strict=True):
        own = [v for v, t in zip(values, step, strict=True) if t == s]
        mean = math.fsum(own) / len(own)
        variance = math.fsum((v - mean) ** 2 for v in own) / (len(own) - ddof)
        out.append((x - mean) / math.sqrt(variance + eps))
    return out


@over(seed=range(12))
@pytest.mark.parametrize(("gamma", "lam"), [(1.0, 1.0), (0.99, 0.95), (0.9, 0.0), (0.0, 1.0)])
def test_gae_is_the_recursion_of_the_paper(seed, gamma, lam):
    rows = ragged(seed)
    lists = [list(column) for column in zip(*rows, strict=True)][:2]
    expected = [a for own in plain.gae(*lists, gamma=gamma, lam=lam) for a in own]
    r, v, _, _, row, _, step = flat(rows)
    close(tokens.gae(r, v, row, step, gamma=gamma, lam=lam), expected)
    if all(step.tolist().count(s) > 1 for s in step.tolist()):
        whitened = tokens.gae(r, v, row, step, gamma=gamma, lam=lam, scale="batch", eps=1e-8)
        close(whitened, white(expected, step.tolist(), 1, 1e-8))


@over(seed=range(6))
def test_gae_with_lambda_1_is_return_minus_value(seed):
    r, v, _, _, row, _, step = flat(ragged(seed))
    returns = tokens.remax(r, torch.zeros_like(r), row, gamma=0.9)
    torch.testing.assert_close(tokens.gae(r, v, row, step, gamma=0.9), returns - v)


@over(seed=range(12))
@pytest.mark.parametrize("gamma", [1.0, 0.9, 0.0])
def test_returns(seed, gamma):
    rows = ragged(seed)
    returns = [
        math.fsum(gamma**k * x for k, x in enumerate(rewards[t:]))
        for rewards, *_ in rows
        for t in range(len(rewards))
    ]
    r, _, _, _, row, _, step = flat(rows)
    close(tokens.remax(r, torch.full_like(r, 0.25), row, gamma=gamma), [x - 0.25 for x in returns])
    if all(step.tolist().count(s) > 1 for s in step.tolist()):
        close(tokens.reinforce_plus_plus(r, row, step, gamma=gamma), white(returns, step.tolist(), 1, 1e-8))


def test_without_discount_and_kl_a_token_has_what_its_row_has():
    lengths, rewards = torch.tensor([3, 1, 4]), torch.tensor([1.0, 0.0, 0.5], dtype=torch.float64)
    row = torch.repeat_interleave(torch.arange(3), lengths)
    laid_out = torch.zeros(8, dtype=torch.float64)
    laid_out[lengths.cumsum(0) - 1] = rewards
    one_step = torch.zeros(3, dtype=torch.int64)
    rows = outcome_plus_plus(rewards, one_step, lengths)
    torch.testing.assert_close(tokens.reinforce_plus_plus(laid_out, row, one_step[row]), rows[row])
    greedy = torch.tensor([0.5, 0.25, 0.0], dtype=torch.float64)
    torch.testing.assert_close(tokens.remax(laid_out, greedy[row], row), outcome_remax(rewards, greedy)[row])


@over(seed=range(20))
@pytest.mark.parametrize("eps", [0.0, 1e-8, 0.5])
def test_optimal_token_baseline_is_a_loop_over_positions(seed, eps):
    rows = ragged(seed)
    rewards, _, log_probs, squares, groups, _ = map(list, zip(*rows, strict=True))
    loop = plain.optimal_token_baseline(rewards, log_probs, squares, groups, eps=eps)
    expected = [a for own in loop for a in own]
    r, _, lp, s, row, group, _ = flat(rows)
    found = tokens.optimal_token_baseline(r, lp, s, row, group, eps=eps)
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64), rtol=1e-9, atol=1e-9)


def test_optimal_token_baseline_of_a_dead_group_is_0():
    # 0.1 has no exact float; a mean of equal returns is off by one unit in the last place.
    row = torch.repeat_interleave(torch.arange(7), 2)
    r = torch.tensor([0.0, 0.1] * 7, dtype=torch.float64)
    lp, group = torch.linspace(-3, -0.1, 14, dtype=torch.float64), torch.zeros(14, dtype=torch.int64)
    assert (tokens.optimal_token_baseline(r, lp, lp.exp() ** 2, row, group) == 0).all()


def test_optimal_token_baseline_without_weight_is_the_return():
    # Probability 1 at every token: no gradient, nothing to weigh by.
    r, row, group = torch.tensor([1.0, 0.0]), torch.tensor([0, 1]), torch.tensor([0, 0])
    found = tokens.optimal_token_baseline(r, torch.zeros(2), torch.ones(2), row, group)
    assert found.tolist() == [1.0, 0.0]


def test_no_token_at_all():
    none, nobody = torch.zeros(0), torch.zeros(0, dtype=torch.int64)
    assert tokens.gae(none, none, nobody, nobody, scale="batch").tolist() == []
    assert tokens.optimal_token_baseline(none, none, none, nobody, nobody).tolist() == []


def test_lambda_may_depend_on_the_length():
    # α ½: one token has λ 1 − 1/max(1, ½) = 0, four have 1 − 1/2; all values 0, so A_t is the last reward times λ^k.
    row, r = torch.tensor([0, 1, 1, 1, 1]), torch.tensor([1.0, 0.0, 0.0, 0.0, 1.0])
    found = tokens.gae(r, torch.zeros(5), row, torch.zeros_like(row), alpha=0.5)
    assert found.tolist() == [1.0, 0.125, 0.25, 0.5, 1.0]
