"""Trainers' variations on GRPO: drop groups, penalize rows by rank, weight by length, count sets of k."""

import math
from typing import Literal

import torch
from torch import Tensor

from advcli.common.errors import UsageError
from advcli.frameworks.arithmetic.blocks import matrices
from advcli.frameworks.arithmetic.per_row import standardised, std_of
from advcli.tensors.segments import Segments


def thresholded(  # noqa: PLR0913  one knob per rule that differs
    rewards: Tensor,
    group: Tensor,
    step: Tensor,
    *,
    std_threshold: float,
    divide: str,
    eps: float,
    dtype: str = "float32",
) -> Tensor:
    """GRPO of Trinity-RFT: group mean, standard deviation of the group or the batch; groups with a small one are dropped.

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, group index.
        step: [N] int64, step index.
        std_threshold: groups of one and groups with a standard deviation at most this are dropped; below 0 none is.
        divide: "group" or "batch".
        eps: added to the standard deviation.
        dtype: what the trainer computes in.

    Returns:
        [N] in `dtype`; NaN in dropped groups.
    """
    r = rewards.to(getattr(torch, dtype))
    return _drop_groups(_over_std(r, r, group, step, divide, eps), r, group, std_threshold)


def rank_penalised(  # noqa: PLR0913  one knob per rule that differs
    rewards: Tensor,
    log_probs: Tensor,
    row: Tensor,
    group: Tensor,
    step: Tensor,
    *,
    rank_penalty: float,
    std_threshold: float,
    divide: str,
    eps: float,
    dtype: str = "float32",
) -> Tensor:
    """`thresholded` with the group mean and standard deviation of r · (1 − p q), but r itself in the numerator.

    Args:
        rewards: [T] float, the reward of the row on its last token.
        log_probs: [T] float, log-probability of each token.
        row: [T] int64, ascending, the row of each token.
        group: [T] int64, group index of each token.
        step: [T] int64, step index of each token.
        rank_penalty: p. The rank q of a row is 0, 1/n, … in ascending order of its mean log-probability.
        std_threshold: as in `thresholded`.
        divide: as in `thresholded`.
        eps: as in `thresholded`.
        dtype: what the trainer computes in.

    Returns:
        [T] in `dtype`, the same for all tokens of a row.
    """
    rows = Segments.of(row)
    size = rows.size().to(log_probs.dtype)
    likely = (rows.sum(log_probs) / size).to(torch.float32)
    r, of = rows.sum(rewards).to(getattr(torch, dtype)), rows.parent(group)
    groups = Segments.dense(of)
    rank = groups.rank(likely) / groups.rows(groups.size())
    penalised = r * (1 - rank_penalty * rank).to(r.dtype)
    return rows.rows(
        _drop_groups(
            _over_std(r, penalised, of, rows.parent(step), divide, eps), penalised, of, std_threshold
        )
    )


def _over_std(r: Tensor, measured: Tensor, group: Tensor, step: Tensor, divide: str, eps: float) -> Tensor:
    """(r − mean_g) / (s + eps): group mean and s from `measured` (0 and 1 for one row), batch s from r."""
    mean, std = torch.zeros_like(r), torch.ones_like(r)
    for rows in matrices(group):
        if rows.shape[1] > 1:
            mean[rows] = measured[rows].mean(dim=1, keepdim=True)
            std[rows] = std_of(measured[rows])
    if divide == "batch":
        for rows in matrices(step):
            std[rows] = std_of(r[rows]) if rows.shape[1] > 1 else 1.0
    return (r - mean) / (std + eps)


def _drop_groups(advantages: Tensor, measured: Tensor, group: Tensor, threshold: float) -> Tensor:
    """The advantages, with NaN in dropped groups."""
    if threshold < 0:
        return advantages
    std = torch.zeros_like(measured)
    for rows in matrices(group):
        std[rows] = std_of(measured[rows])
    return torch.where(std > threshold, advantages, torch.nan)


def soft_maximum(
    rewards: Tensor,
    group: Tensor,
    *,
    opmd_baseline: Literal["mean", "logavgexp"],
    tau: float,
    dtype: str = "float32",
) -> Tensor:
    """OPMD of Trinity-RFT: reward minus the mean of its group, or minus τ (ln Σ_g e^{r/τ} − ln n).

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, group index.
        opmd_baseline: which of the two.
        tau: τ, above 0; as τ → 0 the second baseline becomes the largest reward, for large τ the mean.
        dtype: what the trainer computes in.

    Returns:
        [N] in `dtype`; the reward itself in a group of one.

    Raises:
        UsageError: τ is 0 or less.

    Example:
        >>> r, group = torch.tensor([1.0, 0, 0, 0]), torch.zeros(4).long()
        >>> [round(a, 4) for a in soft_maximum(r, group, opmd_baseline="logavgexp", tau=1.0).tolist()]
        [0.6426, -0.3574, -0.3574, -0.3574]
    """
    if tau <= 0:
        raise UsageError(f"tau is {tau:g}, expected a number above 0")
    r = rewards.to(getattr(torch, dtype))
    out = r.clone()
    for rows in matrices(group):
        values, n = r[rows], rows.shape[1]
        if n > 1 and opmd_baseline == "mean":
            out[rows] = values - values.mean(dim=1, keepdim=True)
        elif n > 1:
            out[rows] = values - tau * (torch.logsumexp(values / tau, dim=1, keepdim=True) - math.log(n))
    return out


def shifted_mean(rewards: Tensor, group: Tensor, *, baseline_shift: float, dtype: str = "float32") -> Tensor:
    """AsymRE: reward minus the mean of its group and a constant; the reward itself in a group of one.

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, group index.
        baseline_shift: the constant, added to the mean.
        dtype: what the trainer computes in.

    Example:
        >>> r, group = torch.tensor([1.0, 0, 0, 0]), torch.zeros(4).long()
        >>> [round(a, 2) for a in shifted_mean(r, group, baseline_shift=-0.1).tolist()]
        [0.85, -0.15, -0.15, -0.15]
    """
    r = rewards.to(getattr(torch, dtype))
    out = r.clone()
    for rows in matrices(group):
        if rows.shape[1] > 1:
            out[rows] = r[rows] - (r[rows].mean(dim=1, keepdim=True) + baseline_shift)
    return out


def by_length(  # noqa: PLR0913  one knob per rule that differs
    rewards: Tensor,
    group: Tensor,
    step: Tensor,
    lengths: Tensor,
    *,
    max_length: float,
    eps: float,
    dtype: str = "float32",
) -> Tensor:
    """DrGRPO of XTuner: (r − mean_g) / (std_g + eps) times tokens / max_length; NaN in a group of one.

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, group index.
        step: [N] int64, step index.
        lengths: [N] float, tokens per row.
        max_length: the longest response the trainer allows.
        eps: added to the standard deviation.
        dtype: what the trainer computes in.

    Raises:
        UsageError: max_length is 0 or less.
    """
    if max_length <= 0:
        raise UsageError(f"max_length is {max_length:g}, expected a number above 0")
    scored = standardised(rewards, group, step, eps=eps, single="nan", variance="whole", dtype=dtype)
    return scored * lengths.to(scored.dtype) / max_length


def sets_of_k(rewards: Tensor, group: Tensor, *, k: int, dtype: str = "float32") -> Tensor:
    """Pass@k of XTuner, with c right rows (r > 0) of n, ρ = 1 − C(n−c,k)/C(n,k), σ = √(ρ(1−ρ)) + 1e-6.

    Right rows get (1 − ρ)/σ, wrong ones (1 − ρ − C(n−c−1,k−1)/C(n−1,k−1))/σ, or −1/σ if none is right or n is 1. In a group
    of fewer than k rows, ρ is c/n and the ratio of binomials 0, so that wrong rows get the same as right ones.

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, group index.
        k: rows in a set.
        dtype: what the trainer computes in.

    Returns:
        [N] in `dtype`; −1e6 in groups without a right row.

    Raises:
        UsageError: k is below 1.
    """
    if k < 1:
        raise UsageError(f"k is {k}, expected 1 or more")
    r = rewards.to(getattr(torch, dtype))
    out = torch.zeros_like(r)
    for rows in matrices(group):
        n = rows.shape[1]
        table = torch.tensor([_right_and_wrong(n, c, k) for c in range(n + 1)], dtype=torch.float64)
        right = r[rows] > 0
        pair = table[right.sum(dim=1)].to(r.dtype)
        out[rows] = torch.where(right, pair[:, :1], pair[:, 1:])
    return torch.where(r.isnan(), r, out)


def _right_and_wrong(n: int, c: int, k: int) -> tuple[float, float]:
    rho = c / n if n < k else 1 - math.comb(n - c, k) / math.comb(n, k)
    sigma = math.sqrt(rho * (1 - rho)) + 1e-6
    if c == 0 or n == 1:
        return (1 - rho) / sigma, -1 / sigma
    sets_without = math.comb(n - c - 1, k - 1) if c < n else 0
    several = math.comb(n - 1, k - 1)
    return (1 - rho) / sigma, (1 - rho - (sets_without / several if several else 0.0)) / sigma


def live_weighted(  # noqa: PLR0913  one knob per rule that differs
    rewards: Tensor,
    group: Tensor,
    step: Tensor,
    *,
    divide: str,
    weighted: bool = False,
    cap: float = 3.0,
    eps: float = 1e-6,
    single: str = "raw-eps",
    dtype: str = "float32",
) -> Tensor:
    """CPGD of siiRL: (r − mean_g) / (std_g + eps), or (r − mean_g) times rows of the batch / live groups, at most `cap`.

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, group index.
        step: [N] int64, step index.
        divide: "group" or "none".
        weighted: whether to multiply by that ratio. A group of one counts as live; without a live group the ratio is `cap`.
        cap: the largest ratio.
        eps: added to the standard deviation.
        single: a group of one: "raw-eps" or "raw".
        dtype: what the trainer computes in.
    """
    centred = standardised(
        rewards, group, step, divide=divide, eps=eps, single=single, variance="whole", dtype=dtype
    )
    if not weighted:
        return centred
    r = rewards.to(getattr(torch, dtype))
    std = torch.ones_like(r)
    for rows in matrices(group):
        if rows.shape[1] > 1:
            std[rows] = std_of(r[rows])
    groups, steps = Segments.dense(group), Segments.of(step)
    share = (std != 0).to(r.dtype) / groups.rows(groups.size())
    ratio = steps.size().to(r.dtype) / steps.sum(share)
    return centred * steps.rows(ratio.clamp(max=cap))
