"""pass@k: the probability that at least one of k rows is right."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# The 97.5 % quantile of the normal distribution.
_Z = 1.959963984540054


def pass_at_k(rows: Ints, right: Ints, k: int) -> Floats:
    """[P] the unbiased estimate 1 − C(n − c, k) / C(n, k); NaN where a prompt has fewer than k rows.

    Args:
        rows: [P] n, rows with a reward.
        right: [P] c, right rows.
        k: number of rows drawn, 1 or more.

    Source:
        Chen et al. 2021, Evaluating Large Language Models Trained on Code, arXiv:2107.03374, equation 1.

    Example:
        >>> pass_at_k(np.array([4, 4, 1]), np.array([1, 4, 1]), 2).tolist()
        [0.5, 1.0, nan]
    """
    without = np.ones(len(rows))
    for drawn in range(k):
        without *= np.clip((rows - right - drawn) / np.maximum(rows - drawn, 1), 0.0, None)
    return np.where(rows >= k, 1 - without, np.nan)


def interval(rows: Ints, right: Ints, k: int) -> tuple[Floats, Floats]:
    """[P] each: the 95 % interval of 1 − (1 − p)^k, from that of the share p of right rows; NaN with fewer than k rows.

    Source:
        Wilson 1927, for p; 1 − (1 − p)^k is monotone in p, so the ends can be mapped.

    Example:
        >>> [round(float(end[0]), 3) for end in interval(np.array([10]), np.array([5]), 1)]
        [0.237, 0.763]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        share, weight = right / rows, _Z**2 / rows
        middle = share + weight / 2
        half = np.sqrt(weight * share * (1 - share) + weight**2 / 4)
        ends = [np.clip((middle + side * half) / (1 + weight), 0.0, 1.0) for side in (-1, 1)]
        # Where an end is exact, rounding would leave 1e-17.
        ends = [np.where(right == 0, 0.0, ends[0]), np.where(right == rows, 1.0, ends[1])]
        low, high = (-np.expm1(k * np.log1p(-end)) for end in ends)
    enough = rows >= k
    return np.where(enough, low, np.nan), np.where(enough, high, np.nan)
