"""The figures of rows against plain loops, and the same by step."""

import math
import random

import pytest
import torch

from advcli.off_policy.ledger import by_row, figures, parts
from advcli.off_policy.tokens import LogProbs

RANDOM = random.Random(5)
ROWS = [
    [(-RANDOM.random(), RANDOM.gauss(0, 0.3), RANDOM.random() < 0.8) for _ in range(RANDOM.randint(1, 6))]
    for _ in range(7)
] + [[(-1.0, 0.5, False)]]


def tokens(rows=ROWS):
    flat = [one for row in rows for one in row]
    rollout = torch.tensor([q for q, _, _ in flat], dtype=torch.float64)
    train = rollout + torch.tensor([d for _, d, _ in flat], dtype=torch.float64)
    mask = torch.tensor([float(m) for _, _, m in flat])
    return LogProbs.of(rollout, train, torch.tensor([len(row) for row in rows]), mask)


def trained(rows):
    return [[d for _, d, m in row if m] for row in rows]


def expected(rows):
    """The figures of rows, by loops."""
    kept = [row for row in trained(rows) if row]
    every = [d for row in kept for d in row]
    n = len(every)
    ratio = [math.exp(d) for d in every]
    return {
        "rows": len(kept),
        "tokens": n,
        "kl": -sum(every) / n,
        "k2_kl": sum(d * d / 2 for d in every) / n,
        "k3_kl": sum(math.exp(d) - 1 - d for d in every) / n,
        "chi2_token": sum(w * w for w in ratio) / n - 1,
        "chi2_seq": sum(math.exp(2 * sum(row)) for row in kept) / len(kept) - 1,
        "eff_sample_size": sum(ratio) ** 2 / (n * sum(w * w for w in ratio)),
        "ppl_ratio": sum(math.exp(-sum(row) / len(row)) for row in kept) / len(kept),
        "ratio_max": max(ratio),
        "ratio_min": min(ratio),
        "ratio_mean": sum(ratio) / n,
    }


def test_the_figures_of_all_rows():
    found = figures(tokens())
    for name, value in expected(ROWS).items():
        assert getattr(found, name) == pytest.approx(value, abs=1e-6), name


def test_the_figures_of_each_step():
    code = torch.tensor([1, 0, 1, 0, -1, 1, 0, 2])
    found = parts(tokens(), code, ["a", "b", "no token", "no row"])
    assert [part.name for part in found] == ["a", "b"]
    for part, number in zip(found, (0, 1), strict=True):
        rows = [row for row, of in zip(ROWS, code.tolist(), strict=True) if of == number]
        for name, value in expected(rows).items():
            assert getattr(part.figures, name) == pytest.approx(value, abs=1e-6), name


def test_the_figures_of_each_row():
    found = by_row(tokens())
    for at, row in enumerate(ROWS):
        told = {name: float(values[at]) for name, values in found.items()}
        if not trained([row])[0]:
            assert all(math.isnan(value) for value in told.values())
            continue
        wanted = expected([row])
        assert told["log_ratio"] == -told["kl"]
        for name in ("kl", "k2_kl", "k3_kl", "chi2_token", "eff_sample_size", "ppl_ratio"):
            assert told[name] == pytest.approx(wanted[name], abs=1e-6), name
