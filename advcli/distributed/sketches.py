"""Figures of partitioned data that can't be summed: mergeable sketches of Apache DataSketches.

Quantiles come from KLL sketches, counts of distinct numbers from theta sketches.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from advcli.stats.figures import PERCENTILES, UNDEFINED

SIZE = 4096
"""The k of the KLL sketches: at most about 3 k numbers are kept."""


def sketch(values: NDArray[np.float64]) -> bytes:
    """A serialized KLL sketch of some numbers."""
    import datasketches

    kll = datasketches.kll_doubles_sketch(SIZE)
    kll.update(np.ascontiguousarray(values))
    result: bytes = kll.serialize()
    return result


def percentiles(sketches: Sequence[bytes]) -> tuple[list[float], bool]:
    """The `PERCENTILES`, NaN without numbers; and whether they are exact.

    Args:
        sketches: one per partition.
    """
    import datasketches

    kll = datasketches.kll_doubles_sketch(SIZE)
    for part in sketches:
        kll.merge(datasketches.kll_doubles_sketch.deserialize(part))
    if kll.is_empty():
        return UNDEFINED, True
    if not kll.is_estimation_mode():
        # The sketch still holds all numbers.
        ranks = (np.arange(kll.n) + 0.5) / kll.n
        return np.percentile(kll.get_quantiles(ranks, True), list(PERCENTILES.values())).tolist(), True  # noqa: FBT003
    return [float(kll.get_quantile(percent / 100)) for percent in PERCENTILES.values()], False


def bound() -> float:
    """The error of a quantile's rank, as a share of the rows, with 99% confidence."""
    import datasketches

    return float(datasketches.kll_doubles_sketch(SIZE).normalized_rank_error(False))  # noqa: FBT003  its C++ signature


_NOMINAL = 14
"""The base-2 logarithm of the numbers that a theta sketch keeps; up to that many are counted exactly."""


def different(values: NDArray[np.float64]) -> bytes:
    """A serialized theta sketch that counts distinct numbers."""
    import datasketches

    theta = datasketches.update_theta_sketch(_NOMINAL)
    for value in np.unique(values).tolist():
        theta.update(value)
    result: bytes = theta.compact().serialize()
    return result


def count(sketches: Sequence[bytes]) -> tuple[int, float]:
    """The number of distinct numbers, and its relative error with 99% confidence.

    Args:
        sketches: one per partition.
    """
    import datasketches

    union = datasketches.theta_union(_NOMINAL)
    for part in sketches:
        union.update(datasketches.compact_theta_sketch.deserialize(part))
    result = union.get_result()
    estimate = result.get_estimate()
    if not result.is_estimation_mode():
        return round(estimate), 0.0
    # Bounds of three standard deviations.
    return round(estimate), result.get_upper_bound(3) / estimate - 1
