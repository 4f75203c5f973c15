"""Weights of reward parts come back from logs that plain loops made with them."""

import numpy as np
import pytest
from logged_tables import table

from advcli.matching.match import match

STEPS, GROUPS, SIZE, EPS = 3, 24, 6, 1e-4


def scores(x, eps=EPS):
    return (x - x.mean()) / (x.std(ddof=1) + eps) if np.ptp(x) else 0 * x


def made(parts, group, step, weights, scale):
    total, out = parts @ weights, np.zeros(len(group))
    if scale == "parts":
        for g in np.unique(group):
            rows = group == g
            out[rows] = sum(w * scores(parts[rows, k]) for k, w in enumerate(weights))
        for s in np.unique(step):
            out[step == s] = scores(out[step == s])
        return out
    for g in np.unique(group):
        rows = group == g
        x = total[rows]
        over = {
            "none": 1.0,
            "group": x.std(ddof=1) + EPS,
            "batch": total[step == step[rows][0]].std(ddof=1) + EPS,
        }
        out[rows] = (x - x.mean()) / over[scale]
    return out


def drawn(seed, many):
    draw = np.random.default_rng(seed)
    group = np.repeat(np.arange(GROUPS), SIZE)
    return draw.random((GROUPS * SIZE, many)), group, group % STEPS, draw.uniform(0.1, 3, many)


# Each scale, and each number of parts.
@pytest.mark.parametrize(("scale", "many"), [("none", 2), ("group", 3), ("batch", 2), ("parts", 4)])
def test_weights_come_back(scale, many):
    parts, group, step, weights = drawn(10 * many, many)
    logged = made(parts, group, step, weights, scale).astype(np.float32).astype(float)
    outcome = match(table(parts, group, step, logged))
    assert outcome.found, outcome.sentence
    assert list(outcome.weights.values()) == pytest.approx(weights, rel=1e-3)


def test_weights_come_back_from_a_clipped_log():
    parts, group, step, weights = drawn(1, 2)
    logged = made(parts, group, step, weights, "group").clip(-1.1, 1.1)
    outcome = match(table(parts, group, step, logged))
    assert outcome.found, outcome.sentence
    assert list(outcome.weights.values()) == pytest.approx(weights, rel=1e-3)
    assert outcome.after["clip"] == [-1.1, 1.1]


def test_a_part_that_is_constant_has_no_weight():
    parts, group, step, weights = drawn(2, 3)
    parts[:, 1] = 0.5
    outcome = match(table(parts, group, step, made(parts, group, step, weights, "none")))
    assert outcome.weights["r1"] is None
    assert "not determined: r1" in outcome.sentence
