"""Statistics of each prompt over a run, vectorized over prompts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from advcli.records.results.prompts import STATES, Band, Mean
from advcli.records.table import Rows
from advcli.stats.health import dead_groups
from advcli.stats.inference.intervals import ENOUGH, of_mean, unlike
from advcli.stats.inference.significance import false_discovery
from advcli.stats.inference.trend import trends
from advcli.stats.pass_at_k import interval, pass_at_k
from advcli.stats.summaries.cells import Cells, Floats, Ints
from advcli.tensors.masks import chosen, finite
from advcli.tensors.segments import Segments

_EDGES = (0.25, 0.5, 0.75)
# Shares closer than this are equal up to rounding.
_ROUNDING = 1e-9
_LEARNED, _FORGOTTEN, _FLAT, _NEVER, _ALWAYS, _ONE_STEP = range(len(STATES))


@dataclass(frozen=True)
class PromptCounts:
    """Counts for each prompt; parts with whole prompts can be joined.

    Attributes:
        cells: the rewards.
        right: [P] int64 right rows; None if rows aren't classified as right or wrong.
        rows: [P] rows.
        groups: [P] groups.
        able: [P] groups with two or more rewards.
        live: [P] groups with two or more rewards that are not all equal.
        lengths: name → [P] float64 mean length of some rows: "length" of all, or "length_right" and "length_wrong".
    """

    cells: Cells
    right: Ints | None
    rows: Ints
    groups: Ints
    able: Ints
    live: Ints
    lengths: Mapping[str, Floats]

    @classmethod
    def of(cls, rows: Rows, prompt: Tensor, count: int, *, threshold: float | None = None) -> "PromptCounts":
        """Count and average.

        Args:
            rows: the rows; their steps are numbered in the order of the run.
            prompt: [N] int64 in [0, P), -1 for rows that were skipped.
            count: P.
            threshold: lowest reward of a right row, or None.
        """
        used = (prompt >= 0) & (rows.group >= 0)
        valid = used & finite(rows.rewards)
        rewards, of = chosen(rows.rewards, valid).double(), chosen(prompt, valid)
        right = None
        if threshold is not None:
            right = torch.bincount(of[rewards >= threshold], minlength=count).numpy()
        groups, able, live = _groups(rows, prompt, used, valid, count)
        return cls(
            cells=Cells.of(rewards, of, chosen(rows.step, valid), count),
            right=right,
            rows=torch.bincount(chosen(prompt, used), minlength=count).numpy(),
            groups=groups,
            able=able,
            live=live,
            lengths=_lengths(rows, prompt, valid, threshold, count),
        )

    @classmethod
    def joined(cls, parts: "Sequence[PromptCounts]", order: Ints) -> "PromptCounts":
        """The prompts of several parts with whole prompts each.

        Args:
            parts: the parts.
            order: [P] the new order of the prompts, as indices into the concatenated parts.
        """

        def all_of(values: Sequence[NDArray[Any]]) -> NDArray[Any]:
            result: NDArray[Any] = np.concatenate(values)[order]
            return result

        rights = [one.right for one in parts if one.right is not None]
        return cls(
            cells=Cells.joined([one.cells for one in parts], order),
            right=all_of(rights) if rights else None,
            rows=all_of([one.rows for one in parts]),
            groups=all_of([one.groups for one in parts]),
            able=all_of([one.able for one in parts]),
            live=all_of([one.live for one in parts]),
            lengths={name: all_of([one.lengths[name] for one in parts]) for name in parts[0].lengths},
        )


@dataclass(frozen=True)
class PromptFigures:
    """The statistics of the prompts of a dataset.

    Attributes:
        cells: their rewards.
        right: [P] int64 right rows; None if rows aren't classified as right or wrong.
        figures: name → [P] a figure of each prompt.
        state: [P] the index in `STATES` of each prompt's outcome.
        solved: [P] float64 share of right rows, or the mean reward scaled from the lowest (0) to the highest
            (1) reward of the dataset; NaN where undefined.
        able: [P] groups of each with two or more rewards.
        live: [P] live groups.
    """

    cells: Cells
    right: Ints | None
    figures: dict[str, NDArray[np.generic]]
    state: Ints
    solved: Floats
    able: Ints
    live: Ints

    @classmethod
    def of(
        cls, counts: PromptCounts, values: tuple[float, float] | None, *, fdr: float = 0.05
    ) -> "PromptFigures":
        """The statistics and tests from the counts.

        Args:
            counts: the counts of all prompts.
            values: the two rewards of the dataset, or None.
            fdr: the false-discovery rate at which a prompt counts as learned or forgotten.
        """
        cells, right = counts.cells, counts.right
        there = cells.rows > 0
        ends = (cells.low[there].min(), cells.high[there].max()) if there.any() else (np.nan, np.nan)
        figures, state = _figures(cells, right, values, ends, fdr)
        figures = {
            "rows": counts.rows,
            "rewarded": cells.rows,
            **figures,
            "groups": counts.groups,
            "live_share": _ratio(counts.live, counts.able),
            **counts.lengths,
        }
        solved = on_scale(cells.mean, *ends) if right is None else _ratio(right, cells.rows)
        return cls(cells, right, figures, state, solved, counts.able, counts.live)

    def pass_at(self, k: int) -> tuple[Floats, Floats, Floats]:
        """[P] each: pass@k of each prompt and the ends of its interval; only with right rows."""
        if self.right is None:
            raise ValueError("no row is right or wrong")
        low, high = interval(self.cells.rows, self.right, k)
        return pass_at_k(self.cells.rows, self.right, k), low, high

    def bands(self) -> tuple[Band, ...]:
        """The difficulty bands, from never to always right; empty if no prompt has a share."""
        position = np.searchsorted(_EDGES, self.solved, side="right") + 1
        position = np.where(self.solved <= _ROUNDING, 0, position)
        position = np.where(self.solved >= 1 - _ROUNDING, len(_EDGES) + 2, position)
        position = np.where(np.isnan(self.solved), -1, position)
        edges = (0.0, 0.0, *_EDGES, 1.0, 1.0)
        return tuple(
            self._band(position == at, edges[at], edges[at + 1])
            for at in range(len(edges) - 1)
            if (position >= 0).any()
        )

    def _band(self, within: NDArray[np.bool_], low: float, high: float) -> Band:
        return Band(
            low=low,
            high=high,
            prompts=int(within.sum()),
            rows=int(self.cells.rows[within].sum()),
            live=float(_ratio(self.live[within].sum(), self.able[within].sum())),
            states=self.states(within),
        )

    def states(self, within: NDArray[np.bool_] | None = None) -> dict[str, int]:
        """State → number of prompts with a reward, of all prompts or those in a mask."""
        rewarded = self.cells.rows > 0
        counts = np.bincount(
            self.state[rewarded if within is None else rewarded & within], minlength=len(STATES)
        )
        return dict(zip(STATES, counts.tolist(), strict=True))

    def curve(self, prompt: int) -> tuple[tuple[int, float], ...]:
        """(index of the step, mean reward) for each step of a prompt."""
        start, end = np.searchsorted(self.cells.prompt, [prompt, prompt + 1])
        steps, means = self.cells.step[start:end].tolist(), self.cells.cell_mean[start:end].tolist()
        return tuple(zip(steps, means, strict=True))


def two_values(rewards: Tensor) -> tuple[float, float] | None:
    """The two distinct rewards, lower first; (0, 1) if there is only a 0 or a 1; None otherwise.

    Example:
        >>> (
        ...     two_values(torch.tensor([0.0, 0.0])),
        ...     two_values(torch.tensor([1.0, -1.0])),
        ...     two_values(torch.tensor([2.0])),
        ... )
        ((0.0, 1.0), (-1.0, 1.0), None)
    """
    if not len(rewards):
        return None
    low, high = _extremes(rewards)
    if low == high:
        return (0.0, 1.0) if low in (0.0, 1.0) else None
    return (low, high) if bool(((rewards == low) | (rewards == high)).all()) else None


def on_scale(values: Floats, low: float, high: float) -> Floats:
    """[N] where each value lies between two rewards: 0 at the lower, 1 at the higher; NaN where they are equal.

    Example:
        >>> on_scale(np.array([-1e308, 0.0, 1e308]), -1e308, 1e308).tolist()
        [0.0, 0.5, 1.0]
    """
    low, high = float(low), float(high)
    if high - low == np.inf:
        # Halves, as the difference of two numbers near the largest float is none.
        values, low, high = values / 2, low / 2, high / 2
    return _ratio(values - low, np.full(len(values), high - low))


def mean_of(values: Floats) -> Mean:
    """The mean of the defined values, with its interval if enough of them differ."""
    known = values[~np.isnan(values)]
    if not len(known):
        return Mean(0, np.nan, np.nan, np.nan)
    result = of_mean(known) if unlike(known) >= ENOUGH else None
    mean = float(known.mean())
    return Mean(len(known), mean, result.low if result else np.nan, result.high if result else np.nan)


def in_order(table: Mapping[str, Any], figure: str | None, top: int) -> tuple[int, ...]:
    """The first prompts in sorted order.

    Args:
        table: name → a value of each prompt.
        figure: the sort column, largest first, or smallest first with a "-" prefix; None sorts by smallest p-value, then
            largest change. Undefined values come last, ties in order of appearance.
        top: how many.
    """
    if figure is None:
        size = -np.abs(np.asarray(table["change"], dtype=np.float64))
        return tuple(np.lexsort((size, np.asarray(table["p"], dtype=np.float64)))[:top].tolist())
    values = np.asarray(table[figure.removeprefix("-")], dtype=np.float64)
    order = np.argsort(values if figure.startswith("-") else -values, kind="stable")
    return tuple(order[:top].tolist())


def _extremes(rewards: Tensor) -> tuple[float, float]:
    return (float(rewards.min()), float(rewards.max())) if len(rewards) else (np.nan, np.nan)


def _ratio(part: NDArray[np.generic], whole: NDArray[np.generic]) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(whole) > 0, np.divide(part, whole), np.nan)


def _groups(rows: Rows, prompt: Tensor, used: Tensor, valid: Tensor, count: int) -> tuple[Ints, Ints, Ints]:
    """[P] the groups of each prompt, those with two or more rewards, and the live ones among them."""
    of_group = Segments.of(chosen(rows.group, used), rows.count).parent(chosen(prompt, used))
    scored = Segments.of(chosen(rows.group, valid), rows.count)
    able = scored.size() > 1
    live = able & ~dead_groups(chosen(rows.rewards, valid), scored)[0]
    subsets = (of_group, of_group[able], of_group[live])
    all_, compared, alive = (torch.bincount(subset, minlength=count).numpy() for subset in subsets)
    return all_, compared, alive


def _figures(
    cells: Cells,
    right: Ints | None,
    values: tuple[float, float] | None,
    ends: tuple[float, float],
    fdr: float,
) -> tuple[dict[str, NDArray[np.generic]], Ints]:
    first, last = cells.ends()
    line = trends(cells, values)
    q = false_discovery(line.p)
    state = np.where(cells.steps > 1, _FLAT, _ONE_STEP)
    result = q <= fdr
    state = np.where(result & (line.change > 0), _LEARNED, state)
    state = np.where(result & (line.change < 0), _FORGOTTEN, state)
    differ = ends[1] > ends[0]
    never = (right == 0) if right is not None else differ & (cells.high == ends[0])
    always = (right == cells.rows) if right is not None else differ & (cells.low == ends[1])
    state = np.where(always, _ALWAYS, np.where(never, _NEVER, state))
    figures: dict[str, NDArray[np.generic]] = {
        "steps": cells.steps,
        "mean": cells.mean,
        "first_mean": cells.at(first, cells.cell_mean),
        "last_mean": cells.at(last, cells.cell_mean),
        "change": line.change,
        "change_low": line.low,
        "change_high": line.high,
        "p": line.p,
        "q": q,
    }
    return figures, state


def _lengths(
    rows: Rows, prompt: Tensor, valid: Tensor, threshold: float | None, count: int
) -> dict[str, Floats]:
    """The mean length of right and of wrong rows, or of all; nothing without lengths."""
    if rows.lengths is None:
        return {}
    with_length = valid & rows.lengths.isfinite()
    right = torch.zeros_like(with_length) if threshold is None else rows.rewards >= threshold
    masks = (
        {"length": with_length}
        if threshold is None
        else {"length_right": with_length & right, "length_wrong": with_length & ~right}
    )
    return {
        name: Segments.of(chosen(prompt, mask), count).mean(chosen(rows.lengths, mask).double()).numpy()
        for name, mask in masks.items()
    }
