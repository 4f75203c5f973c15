"""Statistics of one advantage column."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from advcli.records.mergeable import Mergeable
from advcli.records.results.report import Figures
from advcli.stats.summaries.moments import Moments
from advcli.stats.summaries.percentiles import percentiles

PERCENTILES = {"p5": 5, "p25": 25, "median": 50, "p75": 75, "p95": 95}
UNDEFINED = [math.nan] * len(PERCENTILES)


def mean(values: Tensor) -> float:
    """The mean in float64; NaN if there are no values.

    Example:
        >>> import torch
        >>> mean(torch.tensor([True, False])), mean(torch.tensor([]))
        (0.5, nan)
    """
    return float(values.double().mean()) if values.numel() else math.nan


def figures(advantages: Tensor, signs: Tensor, lengths: Tensor | None = None) -> Figures:
    """Describe an advantage column.

    Args:
        advantages: [n] float, defined everywhere.
        signs: [n] the sign of each, 0 for neutral rows.
        lengths: [n] tokens per row; rows with 0 or an undefined number have no weight. None omits the
            token-weighted figures.

    Returns:
        The statistics; percentiles are linear between order statistics. NaN with no rows, and `std`
        (ddof 1) also with one.

    Example:
        >>> import torch
        >>> a = torch.tensor([-1.0, 0.0, 1.0, 2.0])
        >>> f = figures(a, a.sign())
        >>> f.mean, f.p25, f.share_positive
        (0.5, -0.25, 0.5)
    """
    values = advantages.double().numpy()
    return described(Tally.of(advantages, signs, lengths), percentiles(values, tuple(PERCENTILES.values())))


def described(tally: "Tally", found: Sequence[float]) -> Figures:
    """The statistics of a column from its counts.

    Args:
        tally: the counts.
        found: the value of each of `PERCENTILES`.
    """
    moments, tokens = tally.moments, tally.tokens
    count = moments.count
    return Figures(
        count=count,
        mean=moments.mean,
        std=moments.std(ddof=1),
        min=moments.low,
        max=moments.high,
        mean_abs=tally.sum_abs / count if count else math.nan,
        share_positive=tally.positive / count if count else math.nan,
        share_zero=tally.zero / count if count else math.nan,
        share_negative=tally.negative / count if count else math.nan,
        token_mean=None if tokens is None else tokens.mean,
        token_std=None if tokens is None else tokens.std(ddof=0),
        **dict(zip(PERCENTILES, found, strict=True)),
    )


@dataclass(frozen=True)
class Tally(Mergeable):
    """Mergeable counts for an advantage column.

    Attributes:
        moments: moments of the rows.
        sum_abs: Σ|A|.
        positive: rows above zero, excluding neutral ones.
        zero: rows at zero, including neutral ones.
        negative: rows below zero, excluding neutral ones.
        tokens: moments weighted by tokens; None without lengths.
    """

    moments: Moments
    sum_abs: float
    positive: int
    zero: int
    negative: int
    tokens: Moments | None

    @classmethod
    def of(cls, advantages: Tensor, signs: Tensor, lengths: Tensor | None = None) -> "Tally":
        """Count; arguments as in `figures`."""
        values, sign = advantages.double(), signs.numpy()
        return cls(
            moments=Moments.of(values),
            sum_abs=float(values.abs().sum()),
            positive=int((sign > 0).sum()),
            zero=int((sign == 0).sum()),
            negative=int((sign < 0).sum()),
            tokens=None if lengths is None else Moments.of(values, lengths.double()),
        )
