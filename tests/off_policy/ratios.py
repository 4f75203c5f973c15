"""Tokens whose importance ratios are round numbers."""

import torch

from advcli.off_policy.tokens import LogProbs


def tokens(*rows, mask=None, rollout=-1.0):
    """Rows of ratios of trainer over rollout probability.

    `mask` is one list of all tokens, None for all. With log-probabilities of the sampler of 0, a ratio of 1 is 1 to the last
    digit.
    """
    ratios = torch.tensor([ratio for row in rows for ratio in row], dtype=torch.float64)
    sampled = torch.full_like(ratios, rollout)
    counts = torch.tensor([len(row) for row in rows])
    return LogProbs.of(sampled, sampled + ratios.log(), counts, None if mask is None else torch.tensor(mask))


TWO = tokens([2.0, 0.5], [4.0, 1.0])
"""Products 1 and 4, geometric means 1 and 2."""
