"""Tests whether the rewards of a prompt rise or fall over its steps, vectorized over prompts."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from advcli.stats.inference.intervals import LEVEL
from advcli.stats.inference.student import quantile
from advcli.stats.summaries.cells import Cells, Floats

# Degrees of freedom beyond which Student's quantile equals the normal one to three digits.
_NORMAL = 1000


@dataclass(frozen=True)
class Trends:
    """The regression line through the rewards of each prompt over its steps; NaN for prompts with one step.

    Attributes:
        change: [P] the line at the prompt's last step minus the line at its first, in reward units.
        low: [P] lower end of its 95 % interval.
        high: [P] upper end.
        p: [P] two-sided p-value of no trend; 1 where all rewards are equal.
    """

    change: Floats
    low: Floats
    high: Floats
    p: Floats


@dataclass(frozen=True)
class _Line:
    """The sums that a line needs; `step` is the distance of each cell from the mean step of the prompt's rows."""

    step: Floats
    power: Floats
    joint: Floats
    span: Floats
    spacing: Floats


def trends(cells: Cells, values: tuple[float, float] | None = None) -> Trends:
    """Fit and test a line for each prompt.

    Args:
        cells: the rewards.
        values: the two rewards of the dataset, lower first; None if it has others. Needed for prompts whose rewards are
            all equal.

    Returns:
        The lines. The p-value is that of a permutation test (rewards permuted among the rows of the prompt), with
        the exact variance, a normal tail, half a lattice step as continuity correction, and never below the
        probability of the two most extreme arrangements. Steps are numbered by their position in the run.

    Source:
        Variance: Mantel 1963 and the trend test of Cochran 1954 and Armitage 1955. Interval for two rewards: Price and
        Bonett 2004, An improved confidence interval for a linear function of binomial proportions, where there are
        two rewards, and Student's interval of a slope: the outer ends, as the first is too narrow for many steps of
        few rows (90 %) and the second for cleanly separated rewards. Price and Bonett's normal quantile is replaced
        by Student's: with four rows at each of two steps theirs covers only 91 %.
    """
    several = cells.steps > 1
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        line = _line(cells)
        change = np.where(several, line.joint / line.power * line.span, np.nan)
        low, high = _normal(cells, line)
        two = cells.two_valued & ((cells.high > cells.low) | (values is not None))
        of_two = _binary(cells, line, values)
        p = np.where(several, _p(cells, line), np.nan)
    return Trends(
        change=change,
        low=np.where(several, np.where(two, np.fmin(of_two[0], low), low), np.nan),
        high=np.where(several, np.where(two, np.fmax(of_two[1], high), high), np.nan),
        p=p,
    )


def _line(cells: Cells) -> _Line:
    count = cells.cell_rows.astype(np.float64)
    first, last = cells.ends()
    mean = cells.sums(count * cells.step) / np.maximum(cells.rows, 1)
    step = cells.step - mean[cells.prompt]
    began = cells.at(first, cells.step)
    since = (cells.step - began[cells.prompt]).astype(np.int64)
    spacing = np.zeros(cells.count)
    has_cells = first >= 0
    if has_cells.any():
        spacing[has_cells] = np.gcd.reduceat(since, first[has_cells])
    return _Line(
        step=step,
        power=cells.sums(count * step**2),
        joint=cells.sums(count * step * (cells.cell_mean - cells.mean[cells.prompt])),
        span=cells.at(last, cells.step) - began,
        spacing=spacing,
    )


def _p(cells: Cells, line: _Line) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = line.power * cells.squares / (cells.rows - 1)
        lattice = np.where(cells.two_valued, line.spacing * (cells.high - cells.low), 0.0)
        size = np.maximum(np.abs(line.joint) - lattice / 2, 0.0)
        z = size / np.sqrt(variance)
    tail = torch.erfc(torch.from_numpy(z) / 2**0.5).numpy()
    floor = np.exp(np.minimum(0.0, np.log(2.0) - _log_arrangements(cells)))
    # Rewards that are all equal leave 0 / 0.
    return np.where(cells.high == cells.low, 1.0, np.maximum(tail, floor))


def _log_arrangements(cells: Cells) -> Floats:
    """[P] logarithm of how many ways there are to give the rewards to the steps."""
    of_rows = _log_factorial(cells.rows)
    by_step = of_rows - cells.sums(_log_factorial(cells.cell_rows))
    with np.errstate(divide="ignore", invalid="ignore"):
        at_top = np.nan_to_num(
            np.round(cells.rows * (cells.mean - cells.low) / (cells.high - cells.low)), posinf=0, neginf=0
        )
    by_reward = of_rows - _log_factorial(at_top) - _log_factorial(cells.rows - at_top)
    return np.where(cells.two_valued, np.minimum(by_step, by_reward), by_step)


def _log_factorial(values: NDArray[np.generic]) -> Floats:
    result: Floats = torch.lgamma(torch.from_numpy(values.astype(np.float64)) + 1).numpy()
    return result


def _binary(cells: Cells, line: _Line, values: tuple[float, float] | None) -> tuple[Floats, Floats]:
    """[P] the interval of the change where a reward is one of two."""
    low, high = (cells.low, cells.high) if values is None else (np.full(cells.count, one) for one in values)
    unit = high - low
    share = (cells.cell_mean - low[cells.prompt]) / unit[cells.prompt]
    weight = cells.cell_rows * line.step * (line.span / line.power)[cells.prompt]
    added = (2 / np.maximum(cells.sums(weight != 0), 1))[cells.prompt]
    trials = cells.cell_rows + 2 * added
    guess = (share * cells.cell_rows + added) / trials
    centre = cells.sums(weight * guess)
    half = _t(cells) * np.sqrt(cells.sums(weight**2 * guess * (1 - guess) / trials))
    return (centre - half) * unit, (centre + half) * unit


def _t(cells: Cells) -> Floats:
    """[P] Student's quantile of a line through the rows of each prompt."""
    known, at = np.unique(np.clip(cells.rows - 2, 1, _NORMAL), return_inverse=True)
    result: Floats = np.array([quantile((1 + LEVEL) / 2, free) for free in known.tolist()])[at]
    return result


def _normal(cells: Cells, line: _Line) -> tuple[Floats, Floats]:
    """[P] Student's interval of the change; NaN with fewer than three rows."""
    free = cells.rows - 2
    residual = np.maximum(cells.squares - line.joint**2 / line.power, 0.0)
    error = np.sqrt(residual / np.where(free > 0, free, np.nan) / line.power)
    half = _t(cells) * error * line.span
    change = line.joint / line.power * line.span
    return change - half, change + half
