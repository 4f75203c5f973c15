"""How an advantage is spread over rows, groups and tokens."""

import math

import torch
from torch import Tensor

from advcli.records.table import Rows


def effective_rows(advantages: Tensor) -> float:
    """The number of rows with equal |A| that would carry the same weight: (Σ|A|)² / ΣA².

    Args:
        advantages: [n] float, finite.

    Returns:
        From 1 to n; NaN if every advantage is 0.

    Source:
        Kish 1965, Survey Sampling, section 11.7: the effective sample size of weights.

    Example:
        >>> effective_rows(torch.tensor([1.0, -1.0, 0.0])), effective_rows(torch.tensor([2.0, 1.0, 1.0]))
        (2.0, 2.6666666666666665)
    """
    largest = float(advantages.abs().max()) if advantages.numel() else 0.0
    if not largest:
        return math.nan
    weight = (advantages.double() / largest).abs()
    return effective(float(weight.sum()), float((weight**2).sum()))


def effective(sum_abs: float, sum_squares: float) -> float:
    """(Σ|A|)² / ΣA²; NaN if every advantage is 0."""
    return sum_abs**2 / sum_squares if sum_squares else math.nan


def token_share(rows: Rows, kept: Tensor) -> float | None:
    """Tokens of the kept rows as a share of all tokens; None without lengths, NaN without tokens.

    Args:
        rows: the rows of the data set.
        kept: [N] bool.
    """
    if rows.lengths is None:
        return None
    tokens = rows.lengths.nan_to_num(nan=0.0).clamp(min=0)
    total = float(tokens.sum())
    return float(torch.where(kept, tokens, 0.0).sum()) / total if total else math.nan
