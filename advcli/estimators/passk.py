"""Estimators for the best of k rows: pass@k and its relatives.

The sums over all sets of k rows of a group are computed in closed form, without enumeration or sampling. Groups
smaller than k, and groups of one, have no advantage: NaN.
"""

import math

import torch
from torch import Tensor

from advcli.common.errors import UsageError
from advcli.tensors.segments import Segments, Spread, divide

_SMALLEST_K = {"loo": 2, "plain": 1}


def grpo_passk(rewards: Tensor, group: Tensor, *, ddof: int = 1, eps: float = 0.0) -> Tensor:
    """Lead of the best row of a group over the second best, divided by a standard deviation.

        A_best = (r_best − r_second) / (std_g + eps), A_i = 0 for the other rows

    With ties for the best row there is no lead, and the whole group is 0.

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        group: [N] int64, group index in [0, G).
        ddof: degrees of freedom taken from the divisor of the variance.
        eps: added to the standard deviation, in the unit of the rewards. verl adds 1e-6.

    Returns:
        [N], dtype and device of `rewards`. NaN in groups of one, and for the best row with `ddof` ≥ n.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        Tang et al. 2025, Optimizing Language Models for Inference Time Objectives, arXiv:2503.19595;
        the standard deviation as in verl/trainer/ppo/core_algos.py.

    Example:
        >>> r, g = torch.tensor([0.5, 0.9, 0.7, 0.1]), torch.zeros(4, dtype=torch.int64)
        >>> [round(a, 3) for a in grpo_passk(r, g).tolist()]
        [0.0, 0.586, 0.0, 0.0]
    """
    spread = Spread.of(rewards, Segments.of(group))
    segments = spread.segments
    best = segments.max(rewards)
    is_best = rewards == segments.rows(best)
    second = segments.max(torch.where(is_best, -torch.inf, rewards))
    lead = segments.rows(divide(best - second, spread.range))
    unrivalled = is_best & (segments.rows(segments.sum(is_best.to(rewards.dtype))) == 1)
    return segments.nan_if_single(torch.where(unrivalled, spread.over_std(lead, ddof, eps), 0.0))


def passk(rewards: Tensor, group: Tensor, *, k: int = 2, threshold: float = 0.5) -> Tensor:
    """Mean advantage of all sets of k rows that contain the row, where a set is right or wrong.

        A_right = √((1 − R) / R), A_wrong = −c / (n − c) · A_right, R = 1 − C(n − c, k) / C(n, k)

    A row is right if its reward is `threshold` or more; c of the n rows of the group are. A set is right if
    one of its rows is; R is the share of such sets, and √(R (1 − R)) their standard deviation. 0 where all
    sets are wrong, or all are right. For k = 1 this is GRPO with ddof 0.

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        group: [N] int64, group index in [0, G).
        k: rows in a set, 1 or more.
        threshold: lowest reward of a right row, in the unit of the rewards.

    Returns:
        [N], dtype and device of `rewards`. NaN in groups of one, and in groups of fewer than `k` rows.

    Raises:
        UsageError: `k` is less than 1.

    Source:
        Chen et al. 2025, Pass@k Training, arXiv:2508.10751, the analytical derivation.

    Example:
        >>> r, g = torch.tensor([1.0, 0.0, 0.0, 0.0]), torch.zeros(4, dtype=torch.int64)
        >>> [round(a, 3) for a in passk(r, g).tolist()]
        [1.0, -0.333, -0.333, -0.333]
    """
    if k < 1:
        raise UsageError(f"passk: k is {k}, expected 1 or more")
    segments = Segments.of(group)
    is_right = rewards >= threshold
    size = segments.size().to(rewards.dtype)
    right = segments.sum(is_right.to(rewards.dtype))
    log_wrong = _log_share_without(right, size, k)
    right_row = divide(log_wrong.exp(), -torch.expm1(log_wrong)).sqrt()
    wrong_row = -divide(right, size - right) * right_row
    return segments.nan_if_single(torch.where(is_right, segments.rows(right_row), segments.rows(wrong_row)))


def pkpo(rewards: Tensor, group: Tensor, *, k: int = 2, form: str = "loo") -> Tensor:
    """A row's contribution to the best reward of k rows, over all sets of k rows that contain it.

        A_i = Σ_{I∋i, |I|=k} (max_I r − max_{I∖i} r) / C(n, k)

    This is `form="loo"`, the paper's s^(loo−1): 0 or more, and 0 for the k − 1 lowest rows. "plain" is the
    paper's s, without the second maximum: it has no baseline, and sums to k times the mean best reward of k.
    Both are divided by the number of sets, as in the paper, and not multiplied by n.

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        group: [N] int64, group index in [0, G).
        k: rows in a set: 2 or more, or 1 for "plain".
        form: "loo" or "plain".

    Returns:
        [N], dtype and device of `rewards`. NaN in groups of one, and in groups of fewer than `k` rows.

    Raises:
        UsageError: no such form, or `k` is too small for it.

    Source:
        Walder and Karkhanis 2025, Pass@K Policy Optimization, arXiv:2505.15201.

    Example:
        >>> r, g = torch.tensor([0.0, 1.0, 3.0]), torch.zeros(3, dtype=torch.int64)
        >>> [round(a, 3) for a in pkpo(r, g).tolist()]
        [0.0, 0.333, 1.667]
    """
    if form not in _SMALLEST_K:
        raise UsageError(f"pkpo: unknown form '{form}'", hint=", ".join(_SMALLEST_K))
    if k < _SMALLEST_K[form]:
        raise UsageError(f"pkpo: k is {k}, expected {_SMALLEST_K[form]} or more for form '{form}'")
    segments = Segments.of(group)
    order = segments.order(rewards)
    ascending = Segments.of(group[order], segments.count)
    values = rewards[order]
    size = ascending.rows(ascending.size()).to(rewards.dtype)
    position = ascending.position().to(rewards.dtype)
    rise = torch.where(position > 0, values - values.roll(1), 0.0)
    # In sorted order, the advantage grows from row to row by the rise of the reward times the share of sets whose
    # other k − 1 rows lie below: a sum of non-negative terms that keeps equal rows equal.
    if form == "loo":
        result = ascending.cumsum(rise * _share_below(position, size, k))
    else:
        grown = ascending.cumsum(rise * _share_below(position - 1, size, k))
        best = ascending.rows(ascending.max(values)) * (k / size)
        result = best - (ascending.rows(ascending.max(grown)) - grown)
    result = torch.where(size >= k, result, torch.nan)
    return segments.nan_if_single(torch.empty_like(result).scatter_(0, order, result))


def _log_share_without(right: Tensor, size: Tensor, k: int) -> Tensor:
    """[S] logarithm of C(n − c, k) / C(n, k), the share of sets without a right row; NaN where n < k.

    One factor per row of the set, so that a share close to 1 keeps its precision. As k ≤ n, at most N factors are
    held.
    """
    large = size >= k
    drawn = torch.arange(k if bool(large.any()) else 0, device=size.device)
    hit = right[large].unsqueeze(1) / (size[large].unsqueeze(1) - drawn)
    share = torch.full_like(size, torch.nan)
    share[large] = torch.log1p(-hit.clamp(max=1)).sum(dim=1)
    return share


def _share_below(below: Tensor, size: Tensor, k: int) -> Tensor:
    """[N] C(b, k − 1) / C(n, k): the share of sets that are one row and k − 1 of the b rows `below`."""
    chosen = torch.lgamma(below + 1) - torch.lgamma(below - k + 2)
    out_of = torch.lgamma(size + 1) - torch.lgamma(size - k + 1)
    return torch.where(below >= k - 1, (chosen - out_of + math.log(k)).exp(), 0.0)
