"""Keep ratios: keep the best positives and the worst negatives of each group."""

import torch
from torch import Tensor

from advcli.tensors.segments import Segments, signs


def keep_ratio(advantages: Tensor, group: Tensor, *, keep_pos: float = 1.0, keep_neg: float = 1.0) -> Tensor:
    """Keep a share of the positive and of the negative rows of each group.

    Per group the positives are sorted high to low and the negatives low to high, stable in row order; the first
    k are kept, with k = max(1, int(count · ratio)) for 0 < ratio < 1 (the product in float64, truncated), 0 for
    a ratio of 0, all for 1. Neutral and undefined rows are kept.

    Args:
        advantages: [N] float, the original advantage; NaN where undefined.
        group: [N] int64, group index in [0, G).
        keep_pos: share of the positive rows to keep, in [0, 1].
        keep_neg: share of the negative rows to keep, in [0, 1].

    Returns:
        [N] bool, True where the row is kept.

    Source:
        The two-sided form of CPPO's pruning, arXiv:2503.22342.

    Example:
        >>> a, g = torch.tensor([-1.2, -0.6, 0.6, 1.2]), torch.tensor([0, 0, 0, 0])
        >>> keep_ratio(a, g, keep_pos=0.5, keep_neg=0.5).tolist()
        [True, False, False, True]
    """
    kept = torch.ones_like(group, dtype=torch.bool)
    ratios = [(side, ratio) for side, ratio in ((1.0, keep_pos), (-1.0, keep_neg)) if ratio < 1]
    if not ratios:
        return kept
    sign = signs(advantages, group)
    for side, ratio in ratios:
        rows = torch.nonzero(sign == side).squeeze(1)
        segments = Segments.of(group[rows])
        # By descending |A|: high to low for positives, low to high for negatives.
        position = segments.rank(-advantages[rows].abs())
        kept[rows] = position < segments.rows(_quota(segments.size(), ratio))
    return kept


def _quota(count: Tensor, ratio: float) -> Tensor:
    """How many of `count` ([S] int64) rows a ratio keeps."""
    # int(count * ratio) in float64 whatever the dtype of the advantages; on the CPU, as not every device has float64.
    share = (count.cpu().double() * ratio).long().clamp(min=1 if ratio > 0 else 0)
    return share.to(count.device)
