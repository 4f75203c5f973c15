"""Divergences of two policies, with the numbers that verl's own code gave for two short rows."""

import pytest
import torch

from advcli.off_policy.divergence import divergences, effective_share, perplexity
from advcli.off_policy.tokens import LogProbs

ROLLOUT = torch.tensor([-0.1, -0.5, -2.0, -0.3, -1.0, -0.2], dtype=torch.float64)
TRAIN = torch.tensor([-0.12, -0.4, -3.5, -0.3, -0.2, -0.25], dtype=torch.float64)
TWO = LogProbs.of(ROLLOUT, TRAIN, torch.tensor([4, 2]))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("kl", 0.1117),
        ("k3_kl", 0.1925),
        ("training_ppl", 2.0985),
        ("rollout_ppl", 1.9434),
        ("ppl_ratio", 1.0567),
        ("chi2_token", 0.5150),
        ("chi2_seq", 1.2701),
    ],
)
def test_what_verl_logs(name, expected):
    assert float(divergences(TWO)[name]) == pytest.approx(expected, abs=5e-5)


def test_perplexities_of_each_row():
    found = perplexity(TWO)
    assert found["training_log_ppl"].tolist() == pytest.approx([4.32 / 4, 0.45 / 2])
    assert found["log_ppl_diff"].tolist() == pytest.approx([1.42 / 4, -0.75 / 2])


def test_the_effective_share_of_weights():
    weights = torch.tensor([1.0, 1.0, 1.0, 1.0, 1.0, 7.0]).double()
    # (5 + 7)² / (6 · (5 + 49))
    assert float(effective_share(TWO, weights)) == pytest.approx(144 / 324, abs=1e-7)
