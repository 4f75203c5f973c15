"""NeMo-RL's arithmetic: mean and variance of the other rows, by matrix products in float32."""

import torch
from torch import Tensor

from advcli.frameworks.arithmetic.blocks import matrices
from advcli.frameworks.arithmetic.per_row import std_of

# Sample of groups that shows whether many have identical rewards.
_SOME = 256


def one_pass(  # noqa: PLR0913  one knob per rule that differs
    rewards: Tensor,
    group: Tensor,
    *,
    others: bool = True,
    divide: bool = True,
    exact: bool = True,
    eps: float = 1e-6,
    dtype: str = "float32",
) -> Tensor:
    """GRPO of NeMo-RL: reward minus a mean, over a standard deviation; not divided if that is 0.

        v_i = (E[r²] − E[r]²) · k / (k − 1), over the k rows that count for row i

    Through rounding, v may be slightly positive where it should be 0, which gives advantages in the thousands. Later
    versions check whether the k rewards are equal, as `exact` does.

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, group index.
        others: whether only the other rows of the group count for a row.
        divide: whether to divide at all.
        exact: whether to set the standard deviation of equal rewards to exactly 0.
        eps: added to the standard deviation.
        dtype: what the trainer computes in.

    Returns:
        [N] in `dtype`; 0 in a group of one.
    """
    r = rewards.to(getattr(torch, dtype))
    out = torch.zeros_like(r)
    for rows in matrices(group):
        n = rows.shape[1]
        if n == 1:
            continue
        values, count = r[rows], n - int(others)
        counting = torch.ones(n, n, dtype=r.dtype, device=r.device) - int(others) * torch.eye(
            n, dtype=r.dtype, device=r.device
        )
        mean = _products(counting, values) / count
        square = _products(counting, values**2) / count
        std = ((square - mean**2) * count / max(count - 1, 1)).sqrt().nan_to_num(0.0)
        if exact:
            std = torch.where(_equal(values, others=others), 0.0, std)
        divided = (values - mean) / (std + eps)
        out[rows] = torch.where(std > 0, divided, values - mean) if divide else values - mean
    return out


def one_pass_parts(  # noqa: PLR0913  one knob per rule that differs
    parts: Tensor,
    weights: Tensor,
    group: Tensor,
    step: Tensor,
    *,
    others: bool = True,
    exact: bool = True,
    weighted: bool = True,
    dtype: str = "float32",
) -> Tensor:
    """GDPO of NeMo-RL: `one_pass` of each reward, summed with weights, whitened over the rows of the batch.

    Args:
        parts: [N, K] float.
        weights: [K] float.
        group: [N] int64, group index.
        step: [N] int64, step index.
        others: as in `one_pass`.
        exact: as in `one_pass`.
        weighted: whether to use the weights; otherwise all are 1.
        dtype: what the trainer computes in.

    Returns:
        [N] in `dtype`; only centred if the standard deviation of the batch is 0.
    """
    total = torch.zeros(len(group), dtype=getattr(torch, dtype), device=group.device)
    for part, weight in zip(parts.unbind(dim=1), weights.tolist(), strict=True):
        total = total + (weight if weighted else 1.0) * one_pass(
            part, group, others=others, exact=exact, dtype=dtype
        )
    out = torch.zeros_like(total)
    for rows in matrices(step):
        values = total[rows]
        centred = values - values.mean(dim=1, keepdim=True)
        std = std_of(values)
        out[rows] = torch.where(std > 0, centred / std, centred)
    return out


def _products(counting: Tensor, values: Tensor) -> Tensor:
    """[n, n] times each row of [G, n], one product per group as in the trainer; a single batched product rounds differently."""
    sample = values[:: max(1, len(values) // _SOME)]
    if len(torch.unique(sample, dim=0)) > len(sample) / 2:
        # Hardly any two groups have the same rewards.
        return torch.stack([counting @ row for row in values])
    distinct, which = torch.unique(values, dim=0, return_inverse=True)
    return torch.stack([counting @ row for row in distinct])[which]


def _equal(values: Tensor, *, others: bool) -> Tensor:
    """[G, n] bool, whether the rewards that count for a row are all equal."""
    if not others:
        return (values.amax(dim=1, keepdim=True) == values.amin(dim=1, keepdim=True)).expand_as(values)
    n = values.shape[1]
    sort = values.sort(dim=1)
    position = sort.indices.argsort(dim=1)
    low = torch.where(position == 0, sort.values[:, 1:2], sort.values[:, :1])
    high = torch.where(position == n - 1, sort.values[:, -2:-1], sort.values[:, -1:])
    return low == high
