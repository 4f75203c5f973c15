"""Counts and means per prompt, and per prompt and step (a cell)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from advcli.tensors.masks import every
from advcli.tensors.segments import Segments

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Cells:
    """The rewards of each prompt, and of each prompt at each of its steps.

    Attributes:
        count: P.
        rows: [P] int64 rows with a reward.
        mean: [P] float64 mean reward; NaN without rows.
        squares: [P] float64 sum of the squared distances from the mean.
        low: [P] float64 smallest reward; NaN without rows.
        high: [P] float64 largest reward; NaN without rows.
        two_valued: [P] bool, whether every reward is the smallest or the largest of the prompt.
        prompt: [C] int64 in [0, P), ascending; the prompt of each cell.
        step: [C] int64, ascending within a prompt.
        cell_rows: [C] int64 rows with a reward.
        cell_mean: [C] float64 mean reward.
    """

    count: int
    rows: Ints
    mean: Floats
    squares: Floats
    low: Floats
    high: Floats
    two_valued: NDArray[np.bool_]
    prompt: Ints
    step: Ints
    cell_rows: Ints
    cell_mean: Floats

    @classmethod
    def of(cls, rewards: Tensor, prompt: Tensor, step: Tensor, count: int) -> "Cells":
        """Count and average.

        Args:
            rewards: [N] float64, finite.
            prompt: [N] int64 in [0, P).
            step: [N] int64 ≥ 0, in the order of the steps.
            count: P.

        Example:
            >>> found = Cells.of(
            ...     torch.tensor([0.0, 1.0, 1.0]), torch.tensor([0, 0, 0]), torch.tensor([0, 0, 2]), 1
            ... )
            >>> found.step.tolist(), found.cell_mean.tolist()
            ([0, 2], [0.5, 1.0])
        """
        rewards = rewards.double()
        cells = Segments.dense(prompt * (int(step.max()) + 1 if len(step) else 1) + step)
        of, sizes = cells.parent(prompt), cells.size()
        total, squares, low, high, two = _counted(rewards, cells, sizes)
        prompts = Segments.of(of, count)
        rows = prompts.sum(sizes.double())
        mean = prompts.sum(total) / rows
        squares = squares + sizes * (total / sizes - mean[of]) ** 2
        lowest, highest = prompts.min(low), prompts.max(high)
        for end in (low, high):
            two = two & ((end == lowest[of]) | (end == highest[of]))
        return cls(
            count=count,
            rows=rows.long().numpy(),
            mean=mean.numpy(),
            squares=prompts.sum(squares).numpy(),
            low=torch.where(lowest.isfinite(), lowest, torch.nan).numpy(),
            high=torch.where(highest.isfinite(), highest, torch.nan).numpy(),
            two_valued=(prompts.sum((~two).double()) == 0).numpy(),
            prompt=of.numpy(),
            step=cells.parent(step).numpy(),
            cell_rows=sizes.numpy(),
            cell_mean=(total / sizes).numpy(),
        )

    @classmethod
    def joined(cls, parts: "Sequence[Cells]", order: Ints) -> "Cells":
        """The cells of several parts with whole prompts each.

        Args:
            parts: the parts.
            order: [P] the new order of the prompts, as indices into the concatenated parts.
        """
        before = np.cumsum([0, *(one.count for one in parts)])
        number = np.empty(len(order), dtype=np.int64)
        number[order] = np.arange(len(order))
        of_cells = [number[one.prompt + start] for one, start in zip(parts, before, strict=False)]
        prompt = np.concatenate(of_cells)
        cells = np.argsort(prompt, kind="stable")
        by_prompt = ("rows", "mean", "squares", "low", "high", "two_valued")
        columns = {name: np.concatenate([getattr(one, name) for one in parts])[order] for name in by_prompt}
        columns |= {
            name: np.concatenate([getattr(one, name) for one in parts])[cells]
            for name in ("step", "cell_rows", "cell_mean")
        }
        return cls(count=len(order), prompt=prompt[cells], **columns)

    def sums(self, values: NDArray[np.generic]) -> Floats:
        """[P] a value per cell, summed over the cells of each prompt."""
        return np.bincount(self.prompt, weights=values, minlength=self.count).astype(np.float64, copy=False)

    @property
    def steps(self) -> Ints:
        """[P] int64 number of steps at which each prompt has a reward."""
        return np.bincount(self.prompt, minlength=self.count)

    def ends(self) -> tuple[Ints, Ints]:
        """[P] the first and the last cell of each prompt; -1 without one."""
        last = np.cumsum(self.steps) - 1
        none = self.steps == 0
        return np.where(none, -1, last - self.steps + 1), np.where(none, -1, last)

    def at(self, cells: Ints, values: NDArray[np.generic]) -> Floats:
        """[P] the value at one cell of each prompt; NaN where the cell is -1."""
        if not len(values):
            return np.full(len(cells), np.nan)
        return np.where(cells < 0, np.nan, values[cells])


def _counted(
    rewards: Tensor, cells: Segments, sizes: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """[C] each: sum, squared distances from the mean, smallest, largest, and whether there are only those two values."""
    if len(rewards):
        low, high = rewards.min(), rewards.max()
        top = rewards == high
        if every(top | (rewards == low)):
            # With two distinct rewards, as most verifiers give, the count of the higher one determines everything.
            hits = cells.sum(top.double())
            squares = (high - low) ** 2 * hits * (sizes - hits) / sizes
            ends = torch.where(hits < sizes, low, high), torch.where(hits > 0, high, low)
            return (
                low * (sizes - hits) + high * hits,
                squares,
                *ends,
                torch.ones_like(sizes, dtype=torch.bool),
            )
    total, lowest, highest = cells.sum(rewards), cells.min(rewards), cells.max(rewards)
    squares = cells.sum(cells.broadcast(torch.sub, rewards, total / sizes) ** 2)
    between = (rewards != cells.rows(lowest)) & (rewards != cells.rows(highest))
    return total, squares, lowest, highest, cells.sum(between.double()) == 0
