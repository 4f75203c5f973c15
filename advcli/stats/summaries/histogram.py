"""Histograms of several columns over shared bins."""

from collections.abc import Mapping

import torch
from torch import Tensor

from advcli.records.results.page import Histogram

_BINS = 60
# Up to this many distinct values, each gets its own bar.
_FEW = 40
# Bins cover this share of the numbers if outliers would make them too wide.
_SHARE = 0.998
_TOO_WIDE = 3.0


def histogram(columns: Mapping[str, Tensor]) -> Histogram:
    """Count numbers over bins shared by all columns.

    With few distinct values, each gets its own bar. Outliers that would squeeze the rest into a third of the bins
    are counted separately.

    Args:
        columns: name → [n] float; NaN and ±inf are ignored. The lengths may differ.

    Returns:
        The counts; no bins without a finite number.

    Example:
        >>> found = histogram({"reward": torch.tensor([0.0, 1.0, 1.0, torch.nan])})
        >>> found.values, found.counts["reward"]
        ((0.0, 1.0), (1, 2))
    """
    finite = {name: values.double()[torch.isfinite(values)] for name, values in columns.items()}
    all_values = torch.cat(list(finite.values()))
    # In float32, -0.0 and rounding errors don't count as distinct values.
    values = torch.unique(single(all_values))
    if values.numel() <= _FEW:
        counts = {
            name: torch.bincount(torch.searchsorted(values, single(one)), minlength=values.numel())
            for name, one in finite.items()
        }
        return Histogram((), tuple(values.tolist()), _lists(counts), dict.fromkeys(columns, 0))
    low, high = _span(all_values)
    edges = torch.linspace(low, high, _BINS + 1, dtype=torch.float64)
    counts, outside = {}, {}
    for name, one in finite.items():
        inside = one[(one >= low) & (one <= high)]
        position = (torch.searchsorted(edges, inside, right=True) - 1).clamp(0, _BINS - 1)
        counts[name] = torch.bincount(position, minlength=_BINS)
        outside[name] = one.numel() - inside.numel()
    return Histogram(tuple(edges.tolist()), (), _lists(counts), outside)


def single(values: Tensor) -> Tensor:
    """[n] float64, rounded to float32 unless that overflows; without a negative zero.

    Example:
        >>> single(torch.tensor([0.1 + 0.2, -0.0, 1e300], dtype=torch.float64)).tolist()
        [0.30000001192092896, 0.0, 1e+300]
    """
    values = values.double()
    rounded = values.float().double() + 0.0
    return torch.where(torch.isinf(rounded), values, rounded)


def _span(values: Tensor) -> tuple[float, float]:
    """The range of the bins."""
    ordered = values.sort().values
    last = ordered.numel() - 1
    out = int(last * (1 - _SHARE) / 2)
    low, high = float(ordered[0]), float(ordered[-1])
    inner = float(ordered[out]), float(ordered[last - out])
    return inner if high - low > _TOO_WIDE * (inner[1] - inner[0]) > 0 else (low, high)


def _lists(counts: Mapping[str, Tensor]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(one.tolist()) for name, one in counts.items()}
