"""Figures that cannot be added up, of numbers that lie in many places: sketches of Apache DataSketches.

Quantiles are those of a KLL sketch, different numbers are counted by a theta sketch; two sketches make one.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from advcli.stats.figures import PERCENTILES, UNDEFINED

SIZE = 4096
"""The k of the sketches: about 3 k numbers are kept of however many."""


def sketch(values: NDArray[np.float64]) -> bytes:
    """The sketch of some numbers."""
    import datasketches

    kll = datasketches.kll_doubles_sketch(SIZE)
    kll.update(np.ascontiguousarray(values))
    result: bytes = kll.serialize()
    return result


def percentiles(sketches: Sequence[bytes]) -> tuple[list[float], bool]:
    """One for each of `PERCENTILES`, NaN without numbers; and whether they are exact.

    Args:
        sketches: one per place.
    """
    import datasketches

    kll = datasketches.kll_doubles_sketch(SIZE)
    for one in sketches:
        kll.merge(datasketches.kll_doubles_sketch.deserialize(one))
    if kll.is_empty():
        return UNDEFINED, True
    if not kll.is_estimation_mode():
        # So few that all of them are there.
        ranks = (np.arange(kll.n) + 0.5) / kll.n
        return np.percentile(kll.get_quantiles(ranks, True), list(PERCENTILES.values())).tolist(), True  # noqa: FBT003
    return [float(kll.get_quantile(percent / 100)) for percent in PERCENTILES.values()], False


def bound() -> float:
    """How far the rank of a quantile may be off, as a share of the rows, with 99 % confidence."""
    import datasketches

    return float(datasketches.kll_doubles_sketch(SIZE).normalized_rank_error(False))  # noqa: FBT003  its C++ signature


_NOMINAL = 14
"""The base-2 logarithm of the numbers that a theta sketch keeps; as many different ones are counted exactly."""


def different(values: NDArray[np.float64]) -> bytes:
    """The sketch that counts how many different numbers there are."""
    import datasketches

    theta = datasketches.update_theta_sketch(_NOMINAL)
    for value in np.unique(values).tolist():
        theta.update(value)
    result: bytes = theta.compact().serialize()
    return result


def count(sketches: Sequence[bytes]) -> tuple[int, float]:
    """How many different numbers there are; and how far that may be off, as a share of it, with 99 % confidence.

    Args:
        sketches: one per place.
    """
    import datasketches

    together = datasketches.theta_union(_NOMINAL)
    for one in sketches:
        together.update(datasketches.compact_theta_sketch.deserialize(one))
    result = together.get_result()
    estimate = result.get_estimate()
    if not result.is_estimation_mode():
        return round(estimate), 0.0
    # Its bounds are those of three standard deviations.
    return round(estimate), result.get_upper_bound(3) / estimate - 1
