"""Compares two datasets prompt by prompt, with one run or several per side."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from advcli.common.wording import counted, verb
from advcli.records.results.between import Coverage, McNemar, Paired, RunFigures
from advcli.stats.comparison import rank_agreement
from advcli.stats.inference.intervals import ENOUGH, Interval, Variances, of_mean, unlike
from advcli.stats.inference.significance import holm, mcnemar
from advcli.tensors.segments import Segments

# Means closer than this, relative to the larger, are equal up to rounding.
_RESIDUE = 1e-12
_NONE = Interval(math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class Rewarded:
    """The rewards of one dataset.

    Attributes:
        rewards: [N] float64, NaN where missing.
        prompt: [N] int64 the prompt of each row in [0, U), -1 for excluded rows; a prompt has the same number in
            both datasets.
        run: [N] int64 the run of each row in [0, R); None with one run.
        runs: R.
    """

    rewards: Tensor
    prompt: Tensor
    run: Tensor | None = None
    runs: int = 1


@dataclass(frozen=True)
class PromptMeans:
    """The mean reward of each prompt in both datasets.

    Attributes:
        met_a: [U] int64 rows of A.
        met_b: [U] int64 rows of B.
        rows_a: [R, U] int64 rows with a reward in each run of A.
        rows_b: [S, U] the same for B.
        cells_a: [R, U] float64 mean reward in each run of A, NaN without rows.
        cells_b: [S, U] the same for B.
    """

    met_a: Tensor
    met_b: Tensor
    rows_a: Tensor
    rows_b: Tensor
    cells_a: Tensor
    cells_b: Tensor

    @classmethod
    def of(cls, a: Rewarded, b: Rewarded, count: int) -> "PromptMeans":
        """Count and average; `count` is U."""
        (met_a, rows_a, cells_a), (met_b, rows_b, cells_b) = (_means(side, count) for side in (a, b))
        return cls(met_a, met_b, rows_a, rows_b, cells_a, cells_b)

    @property
    def mean_a(self) -> Tensor:
        """[U] float64 mean over the runs of A that have the prompt, NaN where none has."""
        return torch.nanmean(self.cells_a, dim=0)

    @property
    def mean_b(self) -> Tensor:
        """[U] float64 the same for B."""
        return torch.nanmean(self.cells_b, dim=0)

    def difference(self) -> Tensor:
        """[U] float64 B − A; NaN where either has no reward, 0 where they differ by rounding only."""
        return _gap(self.mean_a, self.mean_b)

    def everywhere(self) -> Tensor:
        """[U] bool: the prompts with a reward in every run of both datasets."""
        return ~torch.cat([self.cells_a, self.cells_b]).isnan().any(dim=0)


def _gap(first: Tensor, second: Tensor) -> Tensor:
    return torch.where(moves(first, second) == 0, 0.0, second - first)


def _means(side: Rewarded, count: int) -> tuple[Tensor, Tensor, Tensor]:
    used = side.prompt >= 0
    valid = used & side.rewards.isfinite()
    cell = side.prompt if side.run is None else side.run * count + side.prompt
    segments = Segments.of(cell[valid], side.runs * count)
    rows = torch.bincount(side.prompt[used], minlength=count)
    shape = (side.runs, count)
    return rows, segments.size().view(shape), segments.mean(side.rewards[valid].double()).view(shape)


def moves(first: Tensor, second: Tensor) -> Tensor:
    """The direction of change: 1 up, -1 down, 0 if they differ by rounding at most, NaN if undefined.

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
    """How many prompts and rows the datasets share.

    Args:
        means: the prompts.
        steps: number of steps in both, only in A, only in B.
        other_steps: shared prompts that did not occur at the same steps.
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


def paired(means: PromptMeans) -> Paired | None:
    """The difference over the prompts with a reward in every run, all prompts weighted equally.

    Returns:
        The figures; None if there is no such prompt.

    Example:
        >>> rewards, prompts = torch.tensor([0.0, 1.0, 2.0]), torch.tensor([0, 0, 1])
        >>> found = paired(PromptMeans.of(Rewarded(rewards, prompts), Rewarded(rewards + 1, prompts), 2))
        >>> found.mean_a, found.mean_b, found.difference, found.up
        (1.25, 2.25, 1.0, 2)
    """
    both = means.everywhere()
    count = int(both.sum())
    if not count:
        return None
    a, b = means.cells_a[:, both], means.cells_b[:, both]
    first, second = a.mean(0), b.mean(0)
    gaps = _gap(first, second)
    difference, runs = float(gaps.mean()), (len(a), len(b))
    unclear = _unclear(gaps)
    parts = None if unclear else Variances.of(a.numpy(), b.numpy())
    if parts is None:
        interval = _NONE
    else:
        interval = parts.interval(difference, count, runs) if max(runs) > 1 else of_mean(gaps.numpy())
    return Paired(
        prompts=count,
        runs_a=runs[0],
        runs_b=runs[1],
        mean_a=float(first.mean()),
        mean_b=float(second.mean()),
        difference=difference,
        low=interval.low,
        high=interval.high,
        p=interval.p,
        unclear=unclear,
        detectable=parts.detectable(count, runs) if parts else math.nan,
        prompts_needed=parts.prompts_for(difference, runs) if parts else None,
        runs_needed=parts.runs_for(difference, count) if parts else None,
        up=int((gaps > 0).sum()),
        down=int((gaps < 0).sum()),
        same=int((gaps == 0).sum()),
        rank_agreement=rank_agreement(first, second, torch.zeros(count, dtype=torch.int64), 1),
        mcnemar=_mcnemar(means, both),
    )


def _unclear(gaps: Tensor) -> str:
    """Why no interval can be given for the differences; "" if one can."""
    count, other = len(gaps), unlike(gaps.numpy())
    if count <= ENOUGH:
        return f"no interval: {counted(count, 'prompt')}, and it takes {ENOUGH + 1} or more"
    if other >= ENOUGH:
        return ""
    most = "change" if (gaps == 0).sum() == count - other else "change by another amount than the rest"
    few = f"{other:,} of {counted(count, 'prompt')}" if other else f"none of {counted(count, 'prompt')}"
    return (
        f"no interval: too few prompts change ({few} {verb(other, most.replace('change', 'changes'), most)})"
    )


def _mcnemar(means: PromptMeans, both: Tensor) -> McNemar | None:
    """McNemar's test, if every prompt has one row on each side and there are two distinct rewards."""
    if len(means.cells_a) > 1 or len(means.cells_b) > 1:
        return None
    a, b = means.cells_a[0, both], means.cells_b[0, both]
    several = (means.rows_a[0, both] > 1) | (means.rows_b[0, both] > 1)
    if several.any() or torch.unique(torch.cat([a, b])).numel() != 2:
        return None
    gained, lost = int((b > a).sum()), int((b < a).sum())
    return McNemar(gained, lost, mcnemar(gained, lost))


def each_run(means: PromptMeans, names_a: Sequence[str], names_b: Sequence[str]) -> tuple[RunFigures, ...]:
    """Figures of each run of A, and of each run of B compared with all of A; empty if both have one run.

    Args:
        means: the prompts.
        names_a: the name of each run of A.
        names_b: the name of each run of B.
    """
    if len(names_a) == len(names_b) == 1:
        return ()
    all_a = means.mean_a
    gaps = [_gap(all_a, cells) for cells in means.cells_b]
    gaps = [gap[~gap.isnan()] for gap in gaps]
    intervals = [_NONE if _unclear(gap) else of_mean(gap.numpy()) for gap in gaps]
    corrected = holm([interval.p for interval in intervals])
    runs_a = [
        _run("A", name, rows, cells)
        for name, rows, cells in zip(names_a, means.rows_a, means.cells_a, strict=True)
    ]
    runs_b = [
        _run("B", name, rows, cells, float(gap.mean()), interval, p)
        for name, rows, cells, gap, interval, p in zip(
            names_b, means.rows_b, means.cells_b, gaps, intervals, corrected, strict=True
        )
    ]
    return (*runs_a, *runs_b)


def _run(  # noqa: PLR0913  one figure after the other
    side: str,
    name: str,
    rows: Tensor,
    cells: Tensor,
    difference: float = math.nan,
    interval: Interval = _NONE,
    p_holm: float = math.nan,
) -> RunFigures:
    return RunFigures(
        side=side,
        run=name,
        rows=int(rows.sum()),
        prompts=int((rows > 0).sum()),
        mean=float(cells.nanmean()),
        difference=difference,
        low=interval.low,
        high=interval.high,
        p=interval.p,
        p_holm=p_holm,
    )


def most_changed(means: PromptMeans, top: int) -> list[int]:
    """The prompts with the largest |B − A|, largest first, ties in order of appearance; unchanged ones are excluded.

    Example:
        >>> a = Rewarded(torch.tensor([0.0, 0.0, 0.0]), torch.tensor([0, 1, 2]))
        >>> b = Rewarded(torch.tensor([1.0, 0.0, -2.0]), torch.tensor([0, 1, 2]))
        >>> most_changed(PromptMeans.of(a, b, 3), top=5)
        [2, 0]
    """
    size = means.difference().abs().nan_to_num(nan=0.0)
    order = torch.argsort(size, descending=True, stable=True)[:top]
    return [position for position in order.tolist() if size[position] > 0]
