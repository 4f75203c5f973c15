"""Rules with a critic against plain loops, as each framework goes over the tokens that a tool wrote."""

import math
import random

import pytest
from frameworks.token_vectors import CRITIC, KNOBS, MASK, REWARDS, VALUES

from advcli import compute_advantages

RANDOM = random.Random(3)
# reward; values, and a mask whose last token is one of the policy.
ROWS = [
    (
        RANDOM.random(),
        [RANDOM.gauss(0, 1) for _ in range(length)],
        [int(RANDOM.random() < 0.7) for _ in range(length - 1)] + [1],
    )
    for length in (3, 6, 1, 5)
]


def through(reward, values, mask, gamma, lam):
    """Over all tokens."""
    last, out = 0.0, []
    for t in reversed(range(len(values))):
        after = values[t + 1] if t + 1 < len(values) else 0.0
        last = (reward if t + 1 == len(values) else 0.0) + gamma * after - values[t] + gamma * lam * last
        out.append(last)
    return [a for a, m in zip(reversed(out), mask, strict=True) if m]


def skip(reward, values, mask, gamma, lam):
    """Over the tokens of the policy, whose values follow each other."""
    kept = [value for value, m in zip(values, mask, strict=True) if m]
    return through(reward, kept, [1] * len(kept), gamma, lam)


def peek(reward, values, mask, gamma, lam):
    """Over the tokens of the policy, each with the value of the token behind it, whoever wrote that."""
    last, out = 0.0, []
    own = [t for t, m in enumerate(mask) if m]
    for t in reversed(own):
        after = values[t + 1] if t < own[-1] else 0.0
        last = (reward if t == own[-1] else 0.0) + gamma * after - values[t] + gamma * lam * last
        out.append(last)
    return out[::-1]


def whitened(rows, *, inner=1e-8, outer=0.0):
    every = [a for row in rows for a in row]
    mean = sum(every) / len(every)
    variance = sum((a - mean) ** 2 for a in every) / (len(every) - 1)
    return [[(a - mean) / (math.sqrt(variance + inner) + outer) for a in row] for row in rows]


@pytest.mark.parametrize(
    ("like", "estimator", "scale", "over", "white", "lam"),
    [
        ("skyrl", "gae", None, through, {}, 1.0),
        ("trl", "ppo", None, through, {}, 0.95),
        ("easyr1@0.3.2", "gae", None, through, {}, 1.0),
        ("slime", "ppo", None, through, None, 1.0),
        ("slime", "ppo", "batch", through, {}, 1.0),
        ("roll", "gae", None, through, None, 0.95),
        ("roll", "gae", "batch", through, {}, 0.95),
        ("areal", "ppo", None, skip, None, 1.0),
        ("areal", "ppo", "batch", skip, {"inner": 0.0, "outer": 1e-5}, 1.0),
        ("oat", "ppo", None, peek, None, 1.0),
        ("oat", "ppo", "batch", peek, {}, 1.0),
    ],
)
def test_a_plain_loop(like, estimator, scale, over, white, lam):
    for knobs in ({}, {"gamma": 0.9, "lam": 0.8}):
        rewards, values, masks = zip(*ROWS, strict=True)
        found = compute_advantages(
            rewards, [0] * 4, like=like, estimator=estimator, scale=scale, values=values, mask=masks, **knobs
        )
        gamma, used = knobs.get("gamma", 1.0), knobs.get("lam", lam)
        rows = [over(*row, gamma, used) for row in ROWS]
        expected = rows if white is None else whitened(rows, **white)
        given = [
            [float(a) for a in part if not math.isnan(a)]
            for part in found.tokens.split(found.token_counts.tolist())
        ]
        for mine, theirs in zip(given, expected, strict=True):
            assert mine == pytest.approx(theirs, abs=3e-6)


@pytest.mark.parametrize(("like", "estimator", "scale", "expected"), CRITIC)
def test_what_the_frameworks_give(like, estimator, scale, expected):
    found = compute_advantages(
        REWARDS, [0, 0], like=like, estimator=estimator, scale=scale, values=VALUES, mask=MASK, **KNOBS
    )
    expected = [math.nan if one is None else one for one in expected]
    assert found.tokens.tolist() == pytest.approx(expected, abs=2e-6, nan_ok=True)
