"""Selects rows, pairs and prompts worth training on next."""

import numpy as np
from numpy.typing import NDArray

from advcli.stats.pass_at_k import pass_at_k
from advcli.tensors.codes import in_order

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def best(rewards: Floats, prompt: Ints, least: float | None = None) -> Ints:
    """The row with the highest reward of each prompt, in row order; ties go to the first row.

    Args:
        rewards: [N] float64, NaN for excluded rows.
        prompt: [N] int64 ≥ 0, -1 for excluded rows.
        least: lowest reward that counts; None for any.

    Example:
        >>> best(np.array([0.0, 1.0, 1.0, np.nan]), np.array([0, 0, 0, 1])).tolist()
        [1]
    """
    usable = (prompt >= 0) & ~np.isnan(rewards)
    if least is not None:
        usable &= rewards >= least
    return np.sort(_first_of_each(np.flatnonzero(usable), -rewards, prompt))


def pairs(rewards: Floats, prompt: Ints, *, margin: float = 0.0, every: bool = False) -> tuple[Ints, Ints]:
    """Rows with a higher reward and, for each, a row of the same prompt with a lower one.

    Args:
        rewards: [N] float64, NaN for excluded rows.
        prompt: [N] int64 ≥ 0, -1 for excluded rows.
        margin: smallest difference; any above 0 if it is 0.
        every: all such pairs; else the best and the worst row of each prompt, ties going to the first row.

    Example:
        >>> [one.tolist() for one in pairs(np.array([0.0, 0.5, 1.0]), np.array([0, 0, 0]))]
        [[2], [0]]
        >>> [one.tolist() for one in pairs(np.array([0.0, 0.5, 1.0]), np.array([0, 0, 0]), every=True)]
        [[1, 2, 2], [0, 0, 1]]
    """
    usable = np.flatnonzero((prompt >= 0) & ~np.isnan(rewards))
    if not every:
        high, low = (_first_of_each(usable, values, prompt) for values in (-rewards, rewards))
    else:
        high, low = _every(usable, prompt)
    gap = rewards[high] - rewards[low]
    wide = (gap > 0) & (gap >= margin)
    high, low = high[wide], low[wide]
    order = np.lexsort((low, high))
    return high[order], low[order]


def live_chance(rewards: Floats, prompt: Ints, count: int, size: int) -> Floats:
    """[P] the probability that `size` rows of a prompt don't all have the same reward; NaN with fewer rows.

    The unbiased estimate 1 − Σ_v C(n_v, G) / C(n, G) over the rewards v of the prompt.

    Args:
        rewards: [N] float64, finite.
        prompt: [N] int64 in [0, P).
        count: P.
        size: G.

    Example:
        >>> live_chance(np.array([0.0, 0.0, 1.0, 1.0]), np.zeros(4, dtype=np.int64), 1, 2).round(3).tolist()
        [0.667]
    """
    order = np.lexsort((rewards, prompt))
    values, codes = rewards[order], prompt[order]
    starts = np.flatnonzero(
        np.concatenate([[True], (codes[1:] != codes[:-1]) | (values[1:] != values[:-1])])[: len(codes)]
    )
    run_lengths = np.diff(starts, append=len(codes))
    rows = np.bincount(prompt, minlength=count)
    of_run = codes[starts]
    same = 1 - pass_at_k(rows[of_run], rows[of_run] - run_lengths, size)
    dead = np.bincount(of_run, weights=same, minlength=count)
    return np.where(rows >= size, 1 - dead, np.nan)


def _first_of_each(rows: Ints, rank: Floats, prompt: Ints) -> Ints:
    """For each prompt, the row with the lowest rank among some rows, in prompt order."""
    order = rows[np.lexsort((rows, rank[rows], prompt[rows]))]
    codes = prompt[order]
    is_first = np.concatenate([[True], codes[1:] != codes[:-1]])[: len(order)]
    result: Ints = order[is_first]
    return result


def _every(rows: Ints, prompt: Ints) -> tuple[Ints, Ints]:
    """Every ordered pair of rows with the same prompt."""
    order = rows[in_order(prompt[rows])]
    codes = prompt[order]
    starts = np.searchsorted(codes, codes, side="left")
    sizes = np.searchsorted(codes, codes, side="right") - starts
    first = np.repeat(np.arange(len(order)), sizes)
    begun = np.cumsum(sizes) - sizes
    second = np.arange(len(first)) - np.repeat(begun, sizes) + np.repeat(starts, sizes)
    return order[first], order[second]
