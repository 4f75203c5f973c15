"""Statistics of one advantage column."""

import math

import numpy as np
from torch import Tensor

from advcli.records import Figures

PERCENTILES = {"p5": 5, "p25": 25, "median": 50, "p75": 75, "p95": 95}


def figures(advantages: Tensor, signs: Tensor, lengths: Tensor | None = None) -> Figures:
    """Describe an advantage column.

    Args:
        advantages: [n] float, defined everywhere.
        signs: [n] the sign of each, 0 for neutral rows.
        lengths: [n] tokens per row; rows with none or an undefined number weigh nothing. None leaves the
            token-weighted figures out.

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
    if not len(values):
        blank = dict.fromkeys(Figures.__dataclass_fields__, math.nan)
        tokens = math.nan if lengths is not None else None
        return Figures(**blank | {"count": 0, "token_mean": tokens, "token_std": tokens})  # type: ignore[arg-type]
    percentiles = np.percentile(values, list(PERCENTILES.values()))
    token_mean, token_std = (None, None) if lengths is None else _weighted(values, lengths.double().numpy())
    return Figures(
        count=len(values),
        mean=float(values.mean()),
        std=float(values.std(ddof=1)) if len(values) > 1 else math.nan,
        min=float(values.min()),
        max=float(values.max()),
        mean_abs=float(np.abs(values).mean()),
        share_positive=_share(signs > 0),
        share_zero=_share(signs == 0),
        share_negative=_share(signs < 0),
        token_mean=token_mean,
        token_std=token_std,
        **dict(zip(PERCENTILES, map(float, percentiles), strict=True)),
    )


def _share(mask: Tensor) -> float:
    return float(mask.double().mean())


def _weighted(values: "np.ndarray[tuple[int], np.dtype[np.float64]]", lengths: object) -> tuple[float, float]:
    weights = np.nan_to_num(np.asarray(lengths, dtype=np.float64), nan=0.0).clip(min=0)
    if not weights.sum():
        return math.nan, math.nan
    mean = float(np.average(values, weights=weights))
    return mean, float(np.sqrt(np.average((values - mean) ** 2, weights=weights)))
