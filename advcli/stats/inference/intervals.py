"""95 % intervals and p-values of a mean over prompts, with one run or several."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from advcli.stats.inference.student import quantile, two_sided

LEVEL = 0.95
POWER = 0.8
ENOUGH = 5
"""Fewest prompts that must differ from the most common change: with fewer, no interval covers 95 %."""

# Largest number of prompts or runs to plan for.
_MOST = 10**7
# Values closer than this, relative to the largest, are equal up to rounding.
_RESIDUE = 1e-9

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """The 95 % interval of a mean, and the p-value for a true mean of 0.

    Attributes:
        low: lower end.
        high: upper end.
        p: two-sided p-value for a mean of 0; below 0.05 exactly if the interval excludes 0.
    """

    low: float
    high: float
    p: float


def unlike(values: _Floats) -> int:
    """How many values differ from the most common one by more than rounding.

    Example:
        >>> unlike(np.array([0.0, 0.0, 0.0, 1.0, -0.5]))
        2
    """
    if not len(values):
        return 0
    size = float(np.abs(values).max())
    with np.errstate(over="ignore", invalid="ignore"):
        # A mean of rewards near the largest float may be infinite.
        steps = np.round(values / (size * _RESIDUE)) if size else values
    return len(values) - int(np.unique(steps, return_counts=True)[1].max())


def of_mean(values: _Floats) -> Interval:
    """The interval of a mean of independent values: at each end the wider of Student's t and Hall's skewness correction.

    Args:
        values: [n] float64, two or more, not all equal.

    Source:
        Student 1908; Hall 1992, On the removal of skewness by transformation, JRSS B 54, equation 2.2 (its inverse).
        The t interval is too narrow for skewed values, Hall's for symmetric ones with many zeros; the outer ends
        cover 93 to 99 % for normal, binary and sparse values wherever `ENOUGH` of them differ.

    Example:
        >>> found = of_mean(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 9.0]))
        >>> round(found.low, 3), round(found.high, 3), round(found.p, 3)
        (1.032, 9.834, 0.018)
    """
    count, mean = len(values), float(values.mean())
    centred = values - mean
    power = float((centred**2).mean())
    skew = float((centred**3).mean()) / power**1.5
    std = math.sqrt(power * count / (count - 1))
    t = quantile((1 + LEVEL) / 2, count - 1) / math.sqrt(count)
    low, high = (mean - std * max(t, _skewed(t, skew, count)), mean + std * max(t, -_skewed(-t, skew, count)))
    score = mean / std
    unskewed = score + skew * score**2 / 3 + skew**2 * score**3 / 27 + skew / (6 * count)
    p = max(two_sided(one * math.sqrt(count), count - 1) for one in (score, unskewed))
    return Interval(low, high, p)


def _skewed(t: float, skew: float, count: int) -> float:
    """The bound of (mean − truth) / std whose Hall transform is t."""
    a, shifted = skew / 3, t - skew / (6 * count)
    return shifted if abs(a) < 1e-9 else (float(np.cbrt(1 + 3 * a * shifted)) - 1) / a


@dataclass(frozen=True)
class Variances:
    """Components of the variance of a difference of two means.

    Attributes:
        prompt: variance of the true difference between prompts; with one run per side it includes rollout noise.
        run: variance between the runs of a side, pooled over both; NaN with one run per side.
        cell: residual variance of one prompt in one run, pooled.
    """

    prompt: float
    run: float
    cell: float

    @classmethod
    def of(cls, a: _Floats, b: _Floats) -> "Variances":
        """Estimate the components.

        Args:
            a: [R, P] mean reward of each prompt in each run of A, two or more prompts.
            b: [S, P] the same for B.
        """
        prompts = a.shape[1]
        per_prompt = float((b.mean(0) - a.mean(0)).var(ddof=1))
        free = len(a) + len(b) - 2
        if not free:
            return cls(per_prompt, math.nan, 0.0)
        runs = sum(float(((side.mean(1) - side.mean()) ** 2).sum()) for side in (a, b)) / free
        residuals = [side - side.mean(0) - side.mean(1, keepdims=True) + side.mean() for side in (a, b)]
        cell = sum(float((part**2).sum()) for part in residuals) / (free * (prompts - 1))
        both = 1 / len(a) + 1 / len(b)
        return cls(max(0.0, per_prompt - cell * both), max(0.0, runs - cell / prompts), cell)

    def error(self, prompts: int, runs: tuple[int, int]) -> tuple[float, float]:
        """The standard error of the difference and its degrees of freedom.

        Args:
            prompts: how many prompts both sides have.
            runs: how many runs A and B have.

        Source:
            Two-way clusters: Cameron, Gelbach and Miller 2011, equation 2.13, for balanced means; the degrees of
            freedom are Satterthwaite's (1946). If runs (or prompts) differ by no more than chance, only the other
            component is used, with its own degrees of freedom. The interval covers 92 to 97 %.
        """
        free, both = sum(runs) - 2, 1 / runs[0] + 1 / runs[1]
        cells = self.cell * both / prompts
        of_prompts = self.prompt / prompts + cells
        if not free or not self.run > 0:
            return math.sqrt(of_prompts), prompts - 1
        of_runs = self.run * both + cells
        if not self.prompt:
            return math.sqrt(of_runs), free
        total = of_prompts + of_runs - cells
        parts = ((of_prompts, prompts - 1), (of_runs, free), (cells, free * (prompts - 1)))
        return math.sqrt(total), max(1.0, total**2 / sum(part**2 / one for part, one in parts))

    def interval(self, difference: float, prompts: int, runs: tuple[int, int]) -> Interval:
        """The t interval of the difference."""
        error, free = self.error(prompts, runs)
        half = quantile((1 + LEVEL) / 2, free) * error
        p = two_sided(difference / error, free) if error else float(not difference)
        return Interval(difference - half, difference + half, p)

    def detectable(self, prompts: int, runs: tuple[int, int]) -> float:
        """The smallest true difference that would be significant (p < 0.05) four times in five.

        Source:
            (t at 97.5 % + t at 80 %) × the standard error: Bloom 1995, Minimum detectable effects.
        """
        error, free = self.error(prompts, runs)
        return (quantile((1 + LEVEL) / 2, free) + quantile(POWER, free)) * error

    def prompts_for(self, difference: float, runs: tuple[int, int]) -> int | None:
        """How many prompts it takes to detect a difference with these runs; None if no number suffices."""
        return _smallest(lambda count: self.detectable(count, runs) <= abs(difference), 2)

    def runs_for(self, difference: float, prompts: int) -> int | None:
        """How many runs per side it takes with these prompts; None if no number suffices, or with one run per side."""
        if math.isnan(self.run):
            return None
        return _smallest(lambda count: self.detectable(prompts, (count, count)) <= abs(difference), 2)


def _smallest(enough, start: int) -> int | None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    """The smallest number that is enough, by doubling and bisection; None beyond ten million."""
    high = start
    while not enough(high):
        high *= 2
        if high > _MOST:
            return None
    low = max(start - 1, high // 2)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
