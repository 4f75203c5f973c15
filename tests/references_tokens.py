"""Plain loops for tokens, from the papers. Nothing here imports advcli.

Every function takes a list of tokens per row and gives one; undefined is NaN. Sources: gae: arXiv:1506.02438;
bi_level_gae: arXiv:2504.20073 and RAGEN's core_algos.py; optimal_token_baseline: verl's core_algos.py.
"""

import math

NAN = math.nan


def on_the_last(rewards, lists):
    """The reward of each row at its last token, 0 at the others."""
    return [[0.0] * (len(own) - 1) + [reward] for reward, own in zip(rewards, lists, strict=True)]


def gae(token_rewards, values, *, gamma=1.0, lam=1.0):
    return [
        _backwards(rewards, own, gamma, gamma * lam)
        for rewards, own in zip(token_rewards, values, strict=True)
    ]


def _backwards(rewards, values, gamma, decay):
    following, running, found = 0.0, 0.0, []
    for reward, value in zip(reversed(rewards), reversed(values), strict=True):
        running = reward + gamma * following - value + decay * running
        following = value
        found.append(running)
    return found[::-1]


def bi_level_gae(token_rewards, values, *, gamma=1.0, lam=1.0, high_gamma=0.95):
    found = []
    for rewards, own in zip(token_rewards, values, strict=True):
        ends = [place for place, reward in enumerate(rewards) if reward != 0]
        ups = _backwards([rewards[e] for e in ends], [own[e] for e in ends], high_gamma, high_gamma * lam)
        given = [0.0] * len(own)
        for end, up in zip(ends, ups, strict=True):
            given[end] = up + own[end]
        row, start = [], 0
        for end in [*ends, len(own) - 1]:
            row += _backwards(given[start : end + 1], own[start : end + 1], gamma, gamma * lam)
            start = end + 1
        found.append(row)
    return found


def optimal_token_baseline(token_rewards, log_probs, squares, groups, *, eps=0.0):
    returns = [[math.fsum(own[t:]) for t in range(len(own))] for own in token_rewards]
    norms = [
        [1 - 2 * math.exp(log_prob) + square for log_prob, square in zip(own, own_squares, strict=True)]
        for own, own_squares in zip(log_probs, squares, strict=True)
    ]
    weights = [[math.fsum(own[: t + 1]) for t in range(len(own))] for own in norms]
    found = []
    for i, own in enumerate(returns):
        found.append([])
        for t, value in enumerate(own):
            peers = [j for j in range(len(returns)) if groups[j] == groups[i] and len(returns[j]) > t]
            total = math.fsum(weights[j][t] for j in peers) + eps
            mean = math.fsum(weights[j][t] * returns[j][t] for j in peers) / total
            found[-1].append(value - mean if len(peers) > 1 else value)
    return found
