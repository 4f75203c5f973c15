"""GDPO as trainers compute it: each reward normalised separately, in their dtype and order."""

import torch
from torch import Tensor

from advcli.frameworks.arithmetic.blocks import matrices
from advcli.frameworks.arithmetic.per_row import standardised, std_of, whitened


def decoupled(  # noqa: PLR0913  as above
    parts: Tensor,
    weights: Tensor,
    group: Tensor,
    step: Tensor,
    *,
    eps: float,
    batch_eps: float,
    skip_unscored: bool = False,
    dtype: str = "float32",
) -> Tensor:
    """GDPO: normalise each reward within the group, sum with weights, whiten over the rows of the batch.

    Args:
        parts: [N, K] float, NaN where a function returned nothing.
        weights: [K] float.
        group: [N] int64, group index.
        step: [N] int64, step index.
        eps: added to the standard deviation of the group.
        batch_eps: added to the standard deviation of the batch.
        skip_unscored: whether rows without any reward are excluded from the batch and get 0.
        dtype: what the trainer computes in.
    """
    p, w = parts.to(getattr(torch, dtype)), weights.to(getattr(torch, dtype))
    total = torch.zeros_like(p[:, 0])
    for rows in matrices(group):
        scores = [_scores(p[rows, kind], eps) for kind in range(p.shape[1])]
        total[rows] = (torch.stack(scores, dim=2) * w).nansum(dim=2)
    scored = ~p.isnan().all(dim=1) if skip_unscored else None
    out = torch.zeros_like(total)
    for rows in matrices(step, scored):
        values = total[rows]
        out[rows] = (values - values.mean(dim=1, keepdim=True)) / (std_of(values) + batch_eps)
    return out.nan_to_num(nan=0.0)


def decoupled_by_tokens(
    parts: Tensor, weights: Tensor, group: Tensor, step: Tensor, lengths: Tensor, *, dtype: str = "float32"
) -> Tensor:
    """GDPO of verl: GRPO of each reward (std + 1e-6), summed with weights, whitened over tokens.

    Args:
        parts: [N, K] float.
        weights: [K] float.
        group: [N] int64, group index.
        step: [N] int64, step index.
        lengths: [N] float, tokens per row.
        dtype: what the trainer computes in.
    """
    total = torch.zeros(len(group), dtype=getattr(torch, dtype), device=group.device)
    for part, weight in zip(parts.unbind(dim=1), weights.tolist(), strict=True):
        alone = standardised(part, group, step, eps=1e-6, single="raw-eps", variance="whole", dtype=dtype)
        total = total + weight * alone
    return whitened(total, group, step, lengths, dtype=dtype)


def _scores(values: Tensor, eps: float) -> Tensor:
    """[G, n] → [G, n] (x − mean) / (std + eps), ddof 1, ignoring NaN; NaN if only one of several values is present."""
    mean = values.nanmean(dim=1, keepdim=True)
    if values.shape[1] == 1:
        return (values - mean) / eps
    count = (~values.isnan()).sum(dim=1, keepdim=True)
    variance = ((values - mean) ** 2).nanmean(dim=1, keepdim=True) * (count / (count - 1))
    return (values - mean) / (variance.sqrt() + eps)
