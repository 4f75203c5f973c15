"""Quantiles of numbers that lie in many places: a KLL sketch of Apache DataSketches, of which two make one."""

from collections.abc import Sequence

import datasketches
import numpy as np
from numpy.typing import NDArray

from advcli.stats.figures import PERCENTILES, UNDEFINED

SIZE = 4096
"""The k of the sketches: about 3 k numbers are kept of however many."""


def sketch(values: NDArray[np.float64]) -> bytes:
    """The sketch of some numbers."""
    kll = datasketches.kll_doubles_sketch(SIZE)
    kll.update(np.ascontiguousarray(values))
    found: bytes = kll.serialize()
    return found


def percentiles(sketches: Sequence[bytes]) -> list[float]:
    """One for each of `PERCENTILES`; NaN without numbers.

    Args:
        sketches: one per place.
    """
    kll = datasketches.kll_doubles_sketch(SIZE)
    for one in sketches:
        kll.merge(datasketches.kll_doubles_sketch.deserialize(one))
    if kll.is_empty():
        return UNDEFINED
    return [float(kll.get_quantile(percent / 100)) for percent in PERCENTILES.values()]


def bound() -> float:
    """How far the rank of a quantile may be off, as a share of the rows, with 99 % confidence."""
    return float(datasketches.kll_doubles_sketch(SIZE).normalized_rank_error(False))  # noqa: FBT003  its C++ signature
