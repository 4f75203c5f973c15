"""prime-rl's mask of the IPO loss, by hand; that of its default loss is compared with its own numbers."""

import math

import pytest
import torch

from advcli.off_policy.prime_rl import ipo_loss
from advcli.off_policy.tokens import LogProbs


def test_a_token_that_moved_too_far_in_either_direction_is_masked():
    rollout = torch.tensor([0.5, 0.5, 0.5, 0.5], dtype=torch.float64)
    train = torch.tensor([0.55, 0.7, 0.45, 0.3], dtype=torch.float64)
    found = ipo_loss(LogProbs.of(rollout.log(), train.log(), torch.tensor([2, 2])))
    assert found.mask.tolist() == [1, 0, 1, 0]
    assert found.weights.tolist() == pytest.approx([1.1, 1.4, 0.9, 0.6])
    gone, stay = ([r - 1 - math.log(r) for r in ratios] for ratios in ((1.4, 0.6), (1.1, 0.9)))
    assert found.per_row["masked_mismatch_kl"].tolist() == pytest.approx(gone)
    assert found.per_row["unmasked_mismatch_kl"].tolist() == pytest.approx(stay)
    assert found.per_row["is_masked"].tolist() == [0.5, 0.5]


def test_the_threshold():
    rollout, train = (torch.tensor([math.log(p)], dtype=torch.float64) for p in (0.5, 0.7))
    two = LogProbs.of(rollout, train, torch.tensor([1]))
    assert [ipo_loss(two, ipo_threshold=t).mask.tolist() for t in (0.19, 0.21)] == [[0], [1]]
