"""McNemar's test for two-valued rewards, and corrections for multiple tests (Holm, Benjamini–Hochberg)."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def mcnemar(gained: int, lost: int) -> float:
    """The exact two-sided p-value for the hypothesis that gains and losses are equally probable.

    Args:
        gained: prompts that only B solves.
        lost: prompts that only A solves.

    Returns:
        The probability of a split at least as uneven; 1 if there is neither.

    Source:
        McNemar 1947, in its exact form: twice the smaller tail of a binomial distribution with p = 1/2.

    Example:
        >>> mcnemar(5, 0), mcnemar(1, 1)
        (0.0625, 1.0)
    """
    count, rarer = gained + lost, min(gained, lost)
    log = (
        math.lgamma(count + 1) - math.lgamma(rarer + 1) - math.lgamma(count - rarer + 1) - count * math.log(2)
    )
    term = total = math.exp(log)
    # Terms decrease; stop when they no longer contribute.
    while rarer and term > 1e-17 * total:
        term *= rarer / (count - rarer + 1)
        rarer -= 1
        total += term
    return min(1.0, 2 * total)


def holm(p: Sequence[float]) -> list[float]:
    """p-values corrected to control the family-wise error rate.

    Args:
        p: p-values; NaN ones are not counted and stay NaN.

    Source:
        Holm 1979, A simple sequentially rejective multiple test procedure.

    Example:
        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    result = [math.nan] * len(p)
    order = sorted(
        (position for position, one in enumerate(p) if not math.isnan(one)), key=lambda position: p[position]
    )
    highest = 0.0
    for rank, position in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * p[position]))
        result[position] = highest
    return result


def false_discovery(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """[P] q-values: the smallest false-discovery rate at which each would be a discovery.

    Args:
        p: [P] p-values; NaN ones are not counted and stay NaN.

    Source:
        Benjamini and Hochberg 1995, Controlling the false discovery rate.

    Example:
        >>> false_discovery(np.array([0.01, 0.04, 0.03, np.nan])).round(3).tolist()
        [0.03, 0.04, 0.04, nan]
    """
    result = np.full(len(p), np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    scaled = p[order] * len(order) / np.arange(1, len(order) + 1)
    result[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return result
