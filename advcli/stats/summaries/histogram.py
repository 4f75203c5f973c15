"""Columns of numbers as counts over bins."""

from collections.abc import Mapping

import torch
from torch import Tensor

from advcli.records.results.page import Histogram

_BINS = 60
# With no more values than this there is a bar for each.
_FEW = 40
# Bins cover this share of the numbers where the rest would make them too wide.
_SHARE = 0.998
_TOO_WIDE = 3.0


def histogram(columns: Mapping[str, Tensor]) -> Histogram:
    """Count numbers over bins that all columns share.

    Where there are few different values, each has a bar of its own. Where a few numbers lie so far out that the rest
    would fall into a third of the bins, they are counted apart.

    Args:
        columns: name → [n] float; NaN and ±inf are left out. The lengths may differ.

    Returns:
        The counts; no bins without a finite number.

    Example:
        >>> found = histogram({"reward": torch.tensor([0.0, 1.0, 1.0, torch.nan])})
        >>> found.values, found.counts["reward"]
        ((0.0, 1.0), (1, 2))
    """
    finite = {name: values.double()[torch.isfinite(values)] for name, values in columns.items()}
    together = torch.cat(list(finite.values()))
    # -0.0 and rounding residue are no values of their own.
    values = torch.unique(single(together))
    if values.numel() <= _FEW:
        counts = {
            name: torch.bincount(torch.searchsorted(values, single(one)), minlength=values.numel())
            for name, one in finite.items()
        }
        return Histogram((), tuple(values.tolist()), _lists(counts), dict.fromkeys(columns, 0))
    low, high = _span(together)
    edges = torch.linspace(low, high, _BINS + 1, dtype=torch.float64)
    counts, outside = {}, {}
    for name, one in finite.items():
        inside = one[(one >= low) & (one <= high)]
        position = (torch.searchsorted(edges, inside, right=True) - 1).clamp(0, _BINS - 1)
        counts[name] = torch.bincount(position, minlength=_BINS)
        outside[name] = one.numel() - inside.numel()
    return Histogram(tuple(edges.tolist()), (), _lists(counts), outside)


def single(values: Tensor) -> Tensor:
    """[n] float64, rounded to float32 where that holds them; without a negative zero.

    Example:
        >>> single(torch.tensor([0.1 + 0.2, -0.0, 1e300], dtype=torch.float64)).tolist()
        [0.30000001192092896, 0.0, 1e+300]
    """
    values = values.double()
    rounded = values.float().double() + 0.0
    return torch.where(torch.isinf(rounded), values, rounded)


def _span(values: Tensor) -> tuple[float, float]:
    """From where to where the bins go."""
    ordered = values.sort().values
    last = ordered.numel() - 1
    out = int(last * (1 - _SHARE) / 2)
    low, high = float(ordered[0]), float(ordered[-1])
    inner = float(ordered[out]), float(ordered[last - out])
    return inner if high - low > _TOO_WIDE * (inner[1] - inner[0]) > 0 else (low, high)


def _lists(counts: Mapping[str, Tensor]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(one.tolist()) for name, one in counts.items()}
