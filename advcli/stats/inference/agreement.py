"""How well two verifiers agree, and how much noise would explain the live groups."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from advcli.records.results.verify import Confusion, Rate
from advcli.stats.inference.intervals import ENOUGH, LEVEL
from advcli.stats.inference.student import quantile

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

# The 97.5 % quantile of the normal distribution.
_Z = 1.959963984540054
_HALVINGS = 60
_ROUNDING = 1e-12


def confusion(name: str, counts: tuple[int, int, int, int]) -> Confusion:
    """Cohen's κ of a table.

    Args:
        name: the name of the rows.
        counts: rows called right by both, only A, only B, neither.

    Returns:
        The table with its κ: 0 where one side has one verdict only, NaN where both have the same one. The interval is
        NaN where its standard error is 0, which says nothing about other rows: all rows agree, or one side has one
        verdict only.

    Source:
        Cohen 1960; the standard error is that of Fleiss, Cohen and Everitt 1969, equation 13. It assumes independent
        rows.

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
    if variance < _ROUNDING:
        return Rate(kappa, math.nan, math.nan)
    half = _Z * math.sqrt(float(variance) / count) / (1 - chance)
    return Rate(kappa, max(-1.0, kappa - half), min(1.0, kappa + half))


def icc(a: Floats, b: Floats, cluster: Ints) -> Rate:
    """How far two rewards of the same rows agree: the intraclass correlation of a single reward.

    Args:
        a: [N] float64, finite: one reward of each row.
        b: [N] float64, finite: the other.
        cluster: [N] int64 in [0, C): rows that are dependent on each other, such as those of a prompt.

    Returns:
        (MSB − MSW) / (MSB + MSW) of the mean squares between and within rows: 1 if both give every row the same
        reward, about 0 if they are unrelated, below 0 if they contradict each other. NaN if all rewards are
        equal. Its 95% interval is a jackknife over clusters on Fisher's scale; NaN if the two differ in fewer than
        five clusters.

    Source:
        ICC(1,1) of Shrout and Fleiss 1979.

    Example:
        >>> round(icc(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0]), np.arange(3)).share, 3)
        0.9
    """
    middle = (a.mean() + b.mean()) / 2 if len(a) else 0.0
    rows = np.bincount(cluster).astype(np.float64)
    added, power, gap_power = (
        np.bincount(cluster, values)
        for values in (a + b - 2 * middle, (a + b - 2 * middle) ** 2, (a - b) ** 2)
    )
    sums = np.stack([rows, added, power, gap_power])
    with np.errstate(divide="ignore", invalid="ignore"):
        result = float(_icc(sums.sum(1)))
        left_out = np.arctanh(_icc(sums.sum(1)[:, None] - sums[:, rows > 0]))
    differ = int((gap_power > 0).sum())
    if math.isnan(result) or differ < ENOUGH or not np.isfinite(left_out).all():
        return Rate(result, math.nan, math.nan)
    centre = math.atanh(result)
    # Centred on the estimate and with few degrees of freedom; otherwise ten prompts of eight rows would cover only 92 %.
    half = quantile((1 + LEVEL) / 2, (differ - 1) / 2) * math.sqrt(float(((left_out - centre) ** 2).sum()))
    return Rate(result, math.tanh(centre - half), math.tanh(centre + half))


def _icc(sums: Floats) -> Floats:
    """From rows, Σ (a + b), Σ (a + b)² and Σ (a − b)²."""
    rows, added, power, gap_power = sums
    between = (power - added**2 / rows) / 2 / (rows - 1)
    within = gap_power / 2 / rows
    return np.asarray((between - within) / (between + within), dtype=np.float64)


def tables(a: Bools, b: Bools, of: Ints, count: int) -> Ints:
    """[S, 4] rows of each of S parts called right by both, only A, only B, neither.

    Example:
        >>> tables(np.array([True, False]), np.array([True, True]), np.array([0, 1]), 2).tolist()
        [[1, 0, 0, 0], [0, 0, 1, 0]]
    """
    code = of * 4 + 2 * ~a + ~b
    return np.bincount(code, minlength=4 * count).reshape(count, 4)


def rate(hits: int, rows: int) -> Rate:
    """A share and its 95 % interval: Wilson's with continuity correction, which covers 95 % or more.

    Source:
        Newcombe 1998, Two-sided confidence intervals for the single proportion, method 4.

    Example:
        >>> found = rate(3, 10)
        >>> round(found.low, 3), round(found.high, 3)
        (0.081, 0.646)
    """
    return _implied(hits, lambda one: (rows * one, rows * one * (1 - one)), 1.0) if rows else _NONE


def noise(live: int, sizes: Ints) -> Rate:
    """The share of wrong verdicts that would make this many groups live if every group were truly all right or all wrong.

    Args:
        live: groups with a right and a wrong row.
        sizes: [G] rows of each group, two or more.

    Returns:
        The rate e at which Σ_g 1 − (1 − e)^n − e^n is the number of live groups, with its 95 % interval (a score
        interval with continuity correction); at most 0.5, at which a verdict carries no information.
    """
    known, count = np.unique(sizes, return_counts=True)

    def expected(one: float) -> tuple[float, float]:
        chance = 1 - (1 - one) ** known - one**known
        return float(count @ chance), float(count @ (chance * (1 - chance)))

    return _implied(live, expected, 0.5) if len(sizes) else _NONE


_NONE = Rate(math.nan, math.nan, math.nan)


def _implied(hits: int, expected: Callable[[float], tuple[float, float]], most: float) -> Rate:
    """The rate at which this many hits are expected, and the rates at which they would be just significant."""

    def surprising(one: float, side: int) -> bool:
        mean, variance = expected(one)
        return side * (hits - mean) - 0.5 > _Z * math.sqrt(max(0.0, variance))

    middle = _last(lambda one: expected(one)[0] < hits, most)
    low = _last(lambda one: surprising(one, 1), most)
    high = _last(lambda one: not surprising(one, -1), most)
    return Rate(middle, low, high)


def _last(holds: Callable[[float], bool], most: float) -> float:
    """The largest rate up to which a condition holds, by bisection."""
    if holds(most):
        return most
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return 0.0 if not holds(0.0) and low < 1e-15 else low
