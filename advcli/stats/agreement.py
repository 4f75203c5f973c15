"""How far two verifiers agree, and how much noise would explain live groups."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from advcli.records.verify import Confusion, Rate

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# The 97.5 % quantile of the normal distribution.
_Z = 1.959963984540054
_HALVINGS = 60


def confusion(name: str, counts: tuple[int, int, int, int]) -> Confusion:
    """Cohen's κ of a table.

    Args:
        name: of which rows.
        counts: rows that both call right, only A, only B, neither.

    Source:
        Cohen 1960; the standard error is that of Fleiss, Cohen and Everitt 1969, equation 13. It takes rows as
        independent.

    Example:
        >>> round(confusion("all", (20, 5, 10, 15)).kappa.share, 3)
        0.4
    """
    return Confusion(name, *counts, kappa=_kappa(np.array(counts, dtype=np.float64)))


def _kappa(counts: NDArray[np.float64]) -> Rate:
    count = float(counts.sum())
    if not count:
        return Rate(math.nan, math.nan, math.nan)
    table = counts.reshape(2, 2) / count
    of_a, of_b = table.sum(1), table.sum(0)
    chance = float(of_a @ of_b)
    if chance >= 1:
        return Rate(math.nan, math.nan, math.nan)
    kappa = (float(np.trace(table)) - chance) / (1 - chance)
    same = sum(table[at, at] * (1 - (of_a[at] + of_b[at]) * (1 - kappa)) ** 2 for at in (0, 1))
    other = sum(table[at, 1 - at] * (of_b[at] + of_a[1 - at]) ** 2 for at in (0, 1))
    variance = same + (1 - kappa) ** 2 * other - (kappa - chance * (1 - kappa)) ** 2
    half = _Z * math.sqrt(max(0.0, float(variance)) / count) / (1 - chance)
    return Rate(kappa, max(-1.0, kappa - half), min(1.0, kappa + half))


def tables(a: Bools, b: Bools, of: Ints, count: int) -> Ints:
    """[S, 4] rows of each of S parts that both call right, only A, only B, neither.

    Example:
        >>> tables(np.array([True, False]), np.array([True, True]), np.array([0, 1]), 2).tolist()
        [[1, 0, 0, 0], [0, 0, 1, 0]]
    """
    code = of * 4 + 2 * ~a + ~b
    return np.bincount(code, minlength=4 * count).reshape(count, 4)


def rate(hits: int, rows: int) -> Rate:
    """A share and its 95 % interval: Wilson's with a correction for continuity, which covers 95 % or more.

    Source:
        Newcombe 1998, Two-sided confidence intervals for the single proportion, method 4.

    Example:
        >>> found = rate(3, 10)
        >>> round(found.low, 3), round(found.high, 3)
        (0.081, 0.646)
    """
    return _implied(hits, lambda one: (rows * one, rows * one * (1 - one)), 1.0) if rows else _NONE


def noise(live: int, sizes: Ints) -> Rate:
    """The share of wrong verdicts that would make so many groups live, were each truly all right or all wrong.

    Args:
        live: groups with a right and a wrong row.
        sizes: [G] rows of each group, two or more.

    Returns:
        The rate e at which Σ_g 1 − (1 − e)^n − e^n is the number of live groups, with its 95 % interval (a score
        interval, corrected for continuity); at most 0.5, where a verdict says nothing.
    """
    known, many = np.unique(sizes, return_counts=True)

    def expected(one: float) -> tuple[float, float]:
        chance = 1 - (1 - one) ** known - one**known
        return float(many @ chance), float(many @ (chance * (1 - chance)))

    return _implied(live, expected, 0.5) if len(sizes) else _NONE


_NONE = Rate(math.nan, math.nan, math.nan)


def _implied(hits: int, expected: Callable[[float], tuple[float, float]], most: float) -> Rate:
    """The rate at which so many hits are expected, and the ends where they would be just surprising."""

    def surprising(one: float, side: int) -> bool:
        mean, variance = expected(one)
        return side * (hits - mean) - 0.5 > _Z * math.sqrt(max(0.0, variance))

    middle = _last(lambda one: expected(one)[0] < hits, most)
    low = _last(lambda one: surprising(one, 1), most)
    high = _last(lambda one: not surprising(one, -1), most)
    return Rate(middle, low, high)


def _last(holds: Callable[[float], bool], most: float) -> float:
    """The largest rate up to which something holds."""
    if holds(most):
        return most
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return 0.0 if not holds(0.0) and low < 1e-15 else low
