"""How the length of a response goes with its reward and its advantage."""

import torch
from torch import Tensor

from advcli.records.inspection import Lengths
from advcli.records.table import Rows
from advcli.segments import Segments, Spread, rewarded
from advcli.stats.health import dead_groups


def lengths(rows: Rows, advantages: Tensor) -> Lengths | None:
    """Describe the lengths.

    Args:
        rows: the rows of the data set.
        advantages: [N] float, NaN where undefined.

    Returns:
        The figures; None if the data set has no lengths.
    """
    if rows.lengths is None:
        return None
    told = torch.isfinite(rows.lengths) & (rows.group >= 0)
    tokens = rows.lengths[told]
    return Lengths(
        mean=float(tokens.mean()) if tokens.numel() else torch.nan,
        max=float(tokens.max()) if tokens.numel() else torch.nan,
        with_reward=correlation(rows.lengths, rows.rewards, rows.group, rows.count),
        with_advantage=correlation(rows.lengths, advantages.double(), rows.group, rows.count),
        dead_tokens=_dead_tokens(rows, told),
    )


def correlation(first: Tensor, second: Tensor, group: Tensor, count: int) -> float:
    """Pearson's r of two columns inside groups: each less its group mean, all groups pooled.

    Args:
        first: [N] float64; rows where either is undefined do not count.
        second: [N] float64.
        group: [N] int64 in [0, G), -1 for rows that belong nowhere.
        count: G.

    Returns:
        From -1 to 1; NaN if either column is constant in every group.

    Example:
        >>> group = torch.tensor([0, 0, 1, 1])
        >>> correlation(torch.tensor([1.0, 3.0, 9.0, 7.0]), torch.tensor([0.0, 1.0, 1.0, 0.0]), group, 2)
        1.0
    """
    both = torch.isfinite(first) & torch.isfinite(second) & (group >= 0)
    segments = Segments.of(group[both], count)
    if not segments.index.numel():
        return torch.nan
    x, y = (Spread.of(values[both], segments).centred() for values in (first, second))
    # Taken to unit size first, so that no square overflows.
    x, y = (values / values.abs().max() for values in (x, y))
    return float((x * y).sum() / ((x * x).sum() * (y * y).sum()).sqrt())


def _dead_tokens(rows: Rows, told: Tensor) -> float:
    """Share of the tokens in dead groups, missing rows included."""
    assert rows.lengths is not None
    valid = rewarded(rows.rewards, rows.group)
    dead = dead_groups(rows.rewards[valid], Segments.of(rows.group[valid], rows.count))[0]
    tokens = rows.lengths[told]
    total = float(tokens.sum())
    return float(tokens[dead[rows.group[told]]].sum()) / total if total else torch.nan
