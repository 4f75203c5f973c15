"""Percentiles of many numbers, exact, without putting them in order.

Floats are in the order of their bits, so the first bits of a number tell about where it stands. They are counted, and only
the numbers that begin like one that is wanted are looked at more closely.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

# Fewer are put in order as fast.
_MANY = 1 << 18
_PIECE = 1 << 16
_BEGINNINGS = 1 << 16
# So many times as many numbers as begin in one way: then these are worth a look at all numbers.
_SHARE = 50
_NEGATIVE = 1 << 15


def percentiles(values: NDArray[np.float64], percents: Sequence[float]) -> list[float]:
    """Percentiles, linear between order statistics, as `numpy.percentile` gives them.

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
    if len(values) < _MANY:
        found: list[float] = np.percentile(values, list(percents)).tolist()
        return found
    places = np.array(percents) / 100 * (len(values) - 1)
    below = np.floor(places).astype(np.int64)
    ranks = np.unique([below, np.minimum(below + 1, len(values) - 1)])
    at = dict(zip(ranks.tolist(), _ordered(values, ranks), strict=True))
    ends = ((at[low], at[min(low + 1, len(values) - 1)]) for low in below.tolist())
    return [_between(*pair, share) for pair, share in zip(ends, (places - below).tolist(), strict=True)]


def _ordered(values: NDArray[np.float64], ranks: NDArray[np.int64]) -> list[float]:
    """The values that would stand at some places (ascending) if all were in order."""
    counts = np.zeros(_BEGINNINGS, dtype=np.int64)
    for _, beginning in _pieces(values):
        counts += np.bincount(beginning, minlength=_BEGINNINGS)
    # Of negative numbers the larger bits are those of the smaller number.
    order = np.concatenate([np.arange(_BEGINNINGS - 1, _NEGATIVE - 1, -1), np.arange(_NEGATIVE)])
    ends = np.cumsum(counts[order])
    buckets = np.searchsorted(ends, ranks, side="right")
    begins = order[buckets]
    shared = {begin: _shared(values, begin, int(counts[begin])) for begin in np.unique(begins).tolist()}
    wanted = np.zeros(_BEGINNINGS, dtype=bool)
    wanted[[begin for begin, value in shared.items() if value is None]] = True
    some = np.concatenate([piece[wanted[beginning]] for piece, beginning in _pieces(values)])
    beginnings = _beginnings(some)
    found = np.empty(len(ranks))
    for begin, value in shared.items():
        here = begins == begin
        if value is not None:
            found[here] = value
            continue
        inside = some[beginnings == begin]
        places = ranks[here] - (ends[buckets[here][0]] - counts[begin])
        inside.partition(places)
        found[here] = inside[places]
    ordered: list[float] = found.tolist()
    return ordered


def _shared(values: NDArray[np.float64], begin: int, many: int) -> float | None:
    """The value of all numbers that begin so, if they are many and have one."""
    if many * _SHARE < len(values):
        return None
    first = next(piece[beginning == begin] for piece, beginning in _pieces(values) if begin in beginning)[:1]
    bits = np.ascontiguousarray(values).view(np.int64)
    same = sum(
        np.count_nonzero(bits[start : start + _PIECE] == first.view(np.int64))
        for start in range(0, len(bits), _PIECE)
    )
    return float(first[0]) if same == many else None


def _pieces(values: NDArray[np.float64]) -> Iterator[tuple[NDArray[np.float64], NDArray[np.uint16]]]:
    """Some values at a time, and the first 16 bits of each: sign, exponent and 4 bits of the fraction."""
    for start in range(0, len(values), _PIECE):
        piece = values[start : start + _PIECE]
        yield piece, _beginnings(piece)


def _beginnings(values: NDArray[np.float64]) -> NDArray[np.uint16]:
    return np.ascontiguousarray(values, dtype="<f8").view("<u2")[3::4]


def _between(low: float, high: float, share: float) -> float:
    """Linear between two numbers, from the nearer one as numpy has it: so that it never lies outside of them."""
    apart = high - low
    return low + apart * share if share < 0.5 else high - apart * (1 - share)
