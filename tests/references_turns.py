"""Plain loops for turns, from the papers and from reading the trainers' code; lists in, lists out, float64."""

import math
from collections import defaultdict
from statistics import fmean


def returns(rewards, rollouts, turns, gamma):
    """R_t = r_t + γ R_{t+1} within each rollout."""
    found = [0.0] * len(rewards)
    for name in set(rollouts):
        rows = sorted((row for row, of in enumerate(rollouts) if of == name), key=lambda row: turns[row])
        after = 0.0
        for row in reversed(rows):
            after = (rewards[row] or 0.0) + gamma * after
            found[row] = after
    return found


def std(values, ddof):
    mean = fmean(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - ddof))


def z(values, keys, *, ddof=1, eps=0.0, alone=math.nan, divide=True):
    """Each value against those of the same key; 0 where all are equal."""
    of = defaultdict(list)
    for value, key in zip(values, keys, strict=True):
        of[key].append(value)
    found = []
    for value, key in zip(values, keys, strict=True):
        peers = of[key]
        if len(peers) == 1:
            found.append(alone)
            continue
        spread = std(peers, ddof) + eps if divide else 1.0
        found.append((value - fmean(peers)) / spread if spread and len(set(peers)) > 1 else 0.0)
    return found


def episode_z(groups, rollouts, episodes, **how):
    """Each rollout once, and its value on all its rows."""
    first = {}
    for row, name in enumerate(rollouts):
        first.setdefault(name, row)
    names = list(first)
    found = z([episodes[first[name]] for name in names], [groups[first[name]] for name in names], **how)
    of = dict(zip(names, found, strict=True))
    return [of[name] for name in rollouts]


def turn_return(rewards, groups, rollouts, turns, *, gamma=1.0):
    return z(returns(rewards, rollouts, turns, gamma), groups)


def gigpo(rewards, groups, rollouts, turns, anchors, *, gamma=0.95, weight=1.0, divide=True):
    totals = defaultdict(float)
    for reward, name in zip(rewards, rollouts, strict=True):
        totals[name] += reward or 0.0
    first = episode_z(groups, rollouts, [totals[name] for name in rollouts], divide=divide)
    to_go = returns(rewards, rollouts, turns, gamma)
    keys = [
        (group, anchor) if anchor is not None else row
        for row, (group, anchor) in enumerate(zip(groups, anchors, strict=True))
    ]
    second = z(to_go, keys, alone=0.0, divide=divide)
    return [a + weight * b for a, b in zip(first, second, strict=True)]


def hgpo(rewards, groups, rollouts, turns, anchors, *, gamma=0.95, history=2, alpha=1.0):
    to_go = returns(rewards, rollouts, turns, gamma)
    past = {}
    for name in set(rollouts):
        rows = sorted((row for row, of in enumerate(rollouts) if of == name), key=lambda row: turns[row])
        for place, row in enumerate(rows):
            past[row] = [anchors[before] for before in rows[: place + 1]]
    above, below = [0.0] * len(rewards), [0.0] * len(rewards)
    for k in range(1, history + 2):
        keys = [
            (groups[row], tuple(past[row][-k:])) if len(past[row]) >= k else ("none", row)
            for row in range(len(rewards))
        ]
        for row, item in enumerate(z(to_go, keys, ddof=0)):
            if not math.isnan(item):
                above[row] += (k + 1) ** alpha * item
                below[row] += (k + 1) ** alpha
    return [a / b if b else 0.0 for a, b in zip(above, below, strict=True)]


def turn_loo(rewards, groups, rollouts, turns, *, gamma=0.0):
    to_go = returns(rewards, rollouts, turns, gamma)
    found = []
    for row, value in enumerate(to_go):
        others = [
            to_go[other]
            for other in range(len(to_go))
            if other != row and (groups[other], turns[other]) == (groups[row], turns[row])
        ]
        found.append(value - fmean(others) if others else math.nan)
    return found


def mt_grpo(rewards, groups, rollouts, turns, *, weight=1.0):
    totals = defaultdict(float)
    for reward, name in zip(rewards, rollouts, strict=True):
        totals[name] += reward or 0.0
    outcome = episode_z(groups, rollouts, [totals[name] for name in rollouts])
    of_turn = z([reward or 0.0 for reward in rewards], list(zip(groups, turns, strict=True)), alone=0.0)
    return [a + weight * b for a, b in zip(of_turn, outcome, strict=True)]


def turn_credit(scores, groups, rollouts, turns, episodes, *, gamma=0.9, beta=1.0):
    rise, credit = [0.0] * len(scores), [0.0] * len(scores)
    levels = {}
    for name in dict.fromkeys(rollouts):
        rows = sorted((row for row, of in enumerate(rollouts) if of == name), key=lambda row: turns[row])
        before = None
        for place, row in enumerate(rows):
            if scores[row] is None:
                continue
            if before is not None:
                rise[row] = scores[row] - before
                shares = [gamma ** (place - k) for k in range(place + 1)]
                for k, share in enumerate(shares):
                    credit[rows[k]] += rise[row] * share / sum(shares)
            before = scores[row]
        levels[name] = (groups[rows[0]], episodes[rows[0]] + sum(rise[row] for row in rows), rows)
    found = [0.0] * len(scores)
    for group, level, rows in levels.values():
        mean = fmean(other for of, other, _ in levels.values() if of == group)
        average = fmean(credit[row] for row in rows)
        for row in rows:
            found[row] = level - mean + beta * (credit[row] - average)
    return found
