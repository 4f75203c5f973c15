"""A correction runs on the rows of each step, and its weights come back to where the tokens lie."""

import pytest
import torch

from advcli.off_policy.correction import Correction, numbers, per_batch
from advcli.off_policy.tokens import LogProbs

# Rows 0 and 2 are of one step, row 1 of another, row 3 has no trained token.
TOKENS = LogProbs.of(
    torch.tensor([-1.0, -1.0, -1.0, -1.0, -1.0]),
    torch.tensor([-1.0, -2.0, -3.0, -4.0, -5.0]),
    torch.tensor([1, 2, 1, 1]),
    torch.tensor([1, 1, 1, 1, 0]),
)
STEP = torch.tensor([0, 1, 0, 2])


def by_the_mean(tokens):
    """Weights over their mean, so that each step has its own."""
    weights = -tokens.train / tokens.mean(-tokens.train)
    return Correction(tokens.mask, {"mean": float(tokens.mean(-tokens.train))}, weights)


def test_each_step_is_a_batch():
    found = per_batch(by_the_mean, TOKENS, STEP, None)
    # Step 0 has 1 and 4, step 1 has 2 and 3; both have the mean 2.5.
    assert found.weights.tolist()[:4] == pytest.approx([0.4, 0.8, 1.2, 1.6])
    assert found.metrics == {"mean": 2.5}


def test_advantages_and_masks_of_rows():
    def negative(tokens, advantages):
        keep = tokens.spread(advantages >= 0)
        return Correction(tokens.mask * keep, per_row={"kept": advantages >= 0})

    found = per_batch(negative, TOKENS, STEP, torch.tensor([1.0, -1.0, -1.0, 1.0]))
    assert found.mask.tolist() == [1, 0, 0, 0, 0]
    # Half of step 0, nothing of step 1; step 2 has no token and is in no mean.
    assert found.metrics == {"kept": 0.25}


def test_metrics_with_a_prefix():
    assert numbers({"a": torch.tensor(0.5), "b": 1}, "x/") == {"x/a": 0.5, "x/b": 1.0}
