"""Percentiles of many numbers."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def percentiles(values: NDArray[np.float64], percents: Sequence[float]) -> list[float]:
    """Percentiles, linear between order statistics.

    Args:
        values: [n] finite.
        percents: from 0 to 100.

    Returns:
        One per percentage; NaN without any value.

    Example:
        >>> percentiles(np.array([3.0, 1.0, 2.0, 10.0]), [0, 50, 75])
        [1.0, 2.5, 4.75]
    """
    if not len(values):
        return [np.nan] * len(percents)
    result: list[float] = np.percentile(values, list(percents)).tolist()
    return result
