"""How sure a mean is: the bootstrap."""

import math

import numpy as np
from torch import Tensor

LEVEL = 95
"""Percent of the means of resamples that lie in the interval."""

# Draws at once: what is held does not grow with the number of resamples.
_CHUNK = 1 << 20


def interval(values: Tensor, *, resamples: int, seed: int) -> tuple[float, float]:
    """The percentile interval of a mean: the middle 95 % of the means of samples drawn with replacement.

    Args:
        values: [n] float, finite; their order is of no account.
        resamples: how many samples are drawn, each of n values.
        seed: of the draws; the same seed gives the same interval.

    Returns:
        Both ends; NaN with fewer than two values.

    Source:
        Efron & Tibshirani 1993, An Introduction to the Bootstrap, chapter 13.

    Example:
        >>> import torch
        >>> low, high = interval(torch.tensor([0.0, 0.0, 1.0, 1.0]), resamples=1000, seed=0)
        >>> low, high
        (0.0, 1.0)
    """
    count = values.numel()
    if count < 2:
        return math.nan, math.nan
    ordered = np.sort(values.double().numpy())
    draws = np.random.default_rng(seed)
    at_once = max(1, _CHUNK // count)
    means = [
        ordered[draws.integers(count, size=(min(at_once, resamples - done), count))].mean(axis=1)
        for done in range(0, resamples, at_once)
    ]
    low, high = np.percentile(np.concatenate(means), [(100 - LEVEL) / 2, (100 + LEVEL) / 2])
    return float(low), float(high)
