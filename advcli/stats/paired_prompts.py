"""The prompts of two data sets side by side."""

from dataclasses import dataclass

import torch
from torch import Tensor

from advcli.records.between import Coverage, Paired
from advcli.stats.bootstrap import interval
from advcli.stats.comparison import rank_agreement
from advcli.tensors.segments import Segments

# Two means that differ by less, relative to the larger, are the same: their sums were rounded differently.
_RESIDUE = 1e-12


@dataclass(frozen=True)
class PromptMeans:
    """The mean reward of each prompt of either data set.

    Attributes:
        met_a: [U] int64 rows of A.
        met_b: [U] int64 rows of B.
        rows_a: [U] int64 rows of A with a reward.
        rows_b: [U] int64 rows of B with a reward.
        mean_a: [U] float64 mean reward in A, NaN without rows.
        mean_b: [U] float64 mean reward in B.
    """

    met_a: Tensor
    met_b: Tensor
    rows_a: Tensor
    rows_b: Tensor
    mean_a: Tensor
    mean_b: Tensor

    @classmethod
    def of(cls, a: tuple[Tensor, Tensor], b: tuple[Tensor, Tensor], count: int) -> "PromptMeans":
        """Count and average.

        Args:
            a: [N] float64 rewards of A, NaN where missing, and [N] int64 the prompt of each row in [0, U), -1 for
                rows that are left out.
            b: the same of B; a prompt has one number in both.
            count: U.
        """
        (met_a, rows_a, mean_a), (met_b, rows_b, mean_b) = (_means(*side, count) for side in (a, b))
        return cls(met_a, met_b, rows_a, rows_b, mean_a, mean_b)

    def difference(self) -> Tensor:
        """[U] float64 B − A; NaN where one of them has no reward, 0 where only rounding differs."""
        return torch.where(moves(self.mean_a, self.mean_b) == 0, 0.0, self.mean_b - self.mean_a)


def _means(rewards: Tensor, prompt: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    there = prompt >= 0
    valid = there & rewards.isfinite()
    segments = Segments.of(prompt[valid], count)
    met = torch.bincount(prompt[there], minlength=count)
    return met, segments.size(), segments.mean(rewards[valid].double())


def moves(first: Tensor, second: Tensor) -> Tensor:
    """Where the second lies: 1 above the first, -1 below, 0 where they differ by rounding at most, NaN if undefined.

    Example:
        >>> moves(torch.tensor([1.0, 1.0, 0.5, torch.nan]), torch.tensor([2.0, 1.0, 0.25, 1.0])).tolist()
        [1.0, 0.0, -1.0, nan]
    """
    gap = second.double() - first.double()
    size = torch.maximum(first.abs(), second.abs()).double()
    side = torch.where(gap.abs() <= _RESIDUE * size, 0.0, gap.sign())
    # torch's sign of NaN is 0.
    return torch.where(gap.isnan(), torch.nan, side)


def coverage(
    means: PromptMeans, steps: tuple[int, int, int] | None = None, other_steps: int | None = None
) -> Coverage:
    """How many prompts and rows both have.

    Args:
        means: the prompts.
        steps: how many steps are in both, only in A, only in B.
        other_steps: prompts in both that were not met at the same steps.
    """
    in_a, in_b = means.met_a > 0, means.met_b > 0
    both, a, b = steps or (None, None, None)
    return Coverage(
        prompts_both=int((in_a & in_b).sum()),
        prompts_a=int((in_a & ~in_b).sum()),
        prompts_b=int((in_b & ~in_a).sum()),
        rows_a=int(means.met_a[in_b].sum()),
        rows_b=int(means.met_b[in_a].sum()),
        other_steps=other_steps,
        steps_both=both,
        steps_a=a,
        steps_b=b,
    )


def paired(means: PromptMeans, *, resamples: int, seed: int) -> Paired | None:
    """The difference over the prompts that have a reward in both, a prompt weighing as much as another.

    Args:
        means: the prompts.
        resamples: how often prompts are drawn for the interval.
        seed: of the draws.

    Returns:
        The figures; None if there is no such prompt.

    Example:
        >>> rewards, prompts = torch.tensor([0.0, 1.0, 2.0]), torch.tensor([0, 0, 1])
        >>> found = paired(PromptMeans.of((rewards, prompts), (rewards + 1, prompts), 2), resamples=9, seed=0)
        >>> found.mean_a, found.mean_b, found.difference, found.up
        (1.25, 2.25, 1.0, 2)
    """
    difference = means.difference()
    both = ~difference.isnan()
    count = int(both.sum())
    if not count:
        return None
    gaps = difference[both]
    low, high = interval(gaps, resamples=resamples, seed=seed)
    one_group = torch.zeros(count, dtype=torch.int64)
    return Paired(
        prompts=count,
        mean_a=float(means.mean_a[both].mean()),
        mean_b=float(means.mean_b[both].mean()),
        difference=float(gaps.mean()),
        low=low,
        high=high,
        up=int((gaps > 0).sum()),
        down=int((gaps < 0).sum()),
        same=int((gaps == 0).sum()),
        rank_agreement=rank_agreement(means.mean_a[both], means.mean_b[both], one_group, 1),
        resamples=resamples,
        seed=seed,
    )


def most_changed(means: PromptMeans, top: int) -> list[int]:
    """The prompts with the largest |B − A|, largest first, equal ones in order of appearance; unchanged ones never.

    Example:
        >>> a = (torch.tensor([0.0, 0.0, 0.0]), torch.tensor([0, 1, 2]))
        >>> b = (torch.tensor([1.0, 0.0, -2.0]), torch.tensor([0, 1, 2]))
        >>> most_changed(PromptMeans.of(a, b, 3), top=5)
        [2, 0]
    """
    size = means.difference().abs().nan_to_num(nan=0.0)
    order = torch.argsort(size, descending=True, stable=True)[:top]
    return [place for place in order.tolist() if size[place] > 0]
