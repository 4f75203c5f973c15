"""The beta-binomial fit against SciPy's distribution and optimiser, and by how often its interval holds the truth."""

import math

import numpy as np
import pytest
import torch
from scipy import optimize, special, stats

from advcli.stats.inference.beta_binomial import Fit


def tallied(sizes, highs):
    pairs, many = np.unique(np.stack([sizes, highs]), axis=1, return_counts=True)
    return torch.from_numpy(pairs[0]), torch.from_numpy(pairs[1]), torch.from_numpy(many)


def drawn(a, b, sizes, seed):
    dice = np.random.default_rng(seed)
    return tallied(sizes, dice.binomial(sizes, dice.beta(a, b, len(sizes))))


def truth(a, b, g):
    ends = special.betaln(a + g, b), special.betaln(a, b + g)
    return sum(math.exp(end - special.betaln(a, b)) for end in ends)


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (1, 1), (2, 5), (0.2, 0.3)])
def test_the_likelihood_is_greatest_there(a, b):
    sizes = np.random.default_rng(1).choice([1, 4, 7, 8], 300)
    size, high, many = drawn(a, b, sizes, 2)

    def loss(x):
        p, q = np.exp(x)
        return -(many.numpy() * stats.betabinom.logpmf(high.numpy(), size.numpy(), p, q)).sum()

    found = Fit.of(size, high, many)
    best = optimize.minimize(loss, [0, 0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10})
    assert [math.log(found.a), math.log(found.b)] == pytest.approx(best.x, abs=1e-4)


@pytest.mark.parametrize("g", [2, 5, 16, 200])
def test_the_chance_and_its_slope(g):
    found = Fit(0.7, 2.5, torch.eye(2, dtype=torch.float64) * 1e-4)
    p, low, high = found.dead(g)
    assert p == pytest.approx(truth(0.7, 2.5, g))

    def odds(x, y):
        p = truth(math.exp(x), math.exp(y), g)
        return math.log(p / (1 - p))

    at = (math.log(0.7), math.log(2.5))
    slope = optimize.approx_fprime(at, lambda x: odds(*x), 1e-7)
    half = 1.959964 * 1e-2 * np.hypot(*slope)
    assert math.log(high / (1 - high)) - odds(*at) == pytest.approx(half, rel=1e-4)
    assert odds(*at) - math.log(low / (1 - low)) == pytest.approx(half, rel=1e-4)


@pytest.mark.parametrize("groups", [64, 300])
@pytest.mark.parametrize(("a", "b", "n"), [(1, 1, 4), (0.2, 0.3, 8), (2, 5, 8), (5, 5, 8)])
def test_the_interval_holds_the_truth(a, b, n, groups):
    shown = held = 0
    for seed in range(100):
        found = Fit.of(*drawn(a, b, np.full(groups, n), seed))
        if found is not None:
            _, low, high = found.dead(16)
            shown += 1
            held += low <= truth(a, b, 16) <= high
    assert shown >= 50
    assert held / shown >= 0.95 - 3.5 * math.sqrt(0.95 * 0.05 / shown)


@pytest.mark.parametrize(
    ("sizes", "highs"),
    [
        ([4] * 19, [0, 1, 2, 3, 4] * 3 + [0, 1, 2, 3]),
        ([4] * 40, [0] * 40),
        ([4] * 40, [4] * 40),
        ([1] * 40, [0, 1] * 20),
        # No more different than chance.
        ([4] * 40, [2] * 40),
        # Never or always.
        ([4] * 40, [0, 4] * 20),
    ],
)
def test_nothing_is_said_where_the_groups_do_not_tell(sizes, highs):
    assert Fit.of(*tallied(np.array(sizes), np.array(highs))) is None
