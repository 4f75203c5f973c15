"""Estimators that replace the group's mean or its standard deviation.

The arithmetic is that of `group`: two-pass sums in the dtype of the rewards, and a group of one is NaN.
A dead group gives exactly 0, but see `shrinkage`.
"""

import torch
from torch import Tensor

from advcli.common.errors import UsageError
from advcli.tensors.masks import filled
from advcli.tensors.segments import NEUTRAL, Segments, Spread, divide


def quantile(
    rewards: Tensor,
    group: Tensor,
    *,
    level: float = 0.4,
    interpolate: bool = False,
    ddof: int = 1,
    eps: float = 0.0,
) -> Tensor:
    """Reward minus a quantile of its group, divided by the standard deviation of the group.

        A_i = (r_i − Q_K) / (std_g + eps), Q_K = inf {x: F_g(x) ≥ K}

    F_g(x) is the share of the group's rewards that are at most x. With right (1) and wrong (0) rows, the
    advantage is 0 for the wrong rows if at most 1 − K of the group are right, and else for the right ones.

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        group: [N] int64, group index in [0, G).
        level: K, in [0, 1]. The paper trains with 0.4.
        interpolate: whether Q_K is interpolated between two rewards, as by `torch.quantile` and the authors'
            code. Then few rows of a binary group are 0.
        ddof: degrees of freedom taken from the divisor of the variance.
        eps: added to the standard deviation, in the unit of the rewards.

    Returns:
        [N], dtype and device of `rewards`. NaN in groups of one, and with `ddof` ≥ n.

    Raises:
        UsageError: `level` is not in [0, 1].

    Source:
        Wu et al. 2025, Quantile Advantage Estimation, arXiv:2509.22611; "interpolate": github.com/junkangwu/QAE.

    Example:
        >>> r, g = torch.tensor([1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0]), torch.arange(8) // 4
        >>> quantile(r, g).tolist()
        [2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -2.0]
    """
    if not 0 <= level <= 1:
        raise UsageError(f"quantile: level is {level:g}, expected a share between 0 and 1")
    groups = Segments.of(group)
    spread = Spread.of(rewards, groups)
    baseline = (_interpolated_quantile if interpolate else _lower_quantile)(spread.unit, groups, level)
    return groups.nan_if_single(spread.over_std(spread.unit - groups.rows(baseline), ddof, eps))


def median(rewards: Tensor, group: Tensor, *, eps: float = 1e-3) -> Tensor:
    """Reward minus the median of its group, divided by the median distance from it.

        A_i = (r_i − med_g) / (MAD_g + eps) · n / #{j: r_j ≠ med_g}, MAD_g = med_j |r_j − med_g|

    A row at the median is 0; the others are scaled up to compensate. With an even number of rows, the median
    is the lower middle one. MC-GRPO samples an odd number and excludes one median row from training; use a keep
    ratio for that.

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        group: [N] int64, group index in [0, G).
        eps: added to the MAD, in the unit of the rewards. The authors' code has 1e-3. If more than half of a
            group are equal, the MAD is 0 and the other rows are divided by eps alone.

    Returns:
        [N], dtype and device of `rewards`. NaN in groups of one, and for rows off the median if MAD + eps is 0.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        Kim 2026, MC-GRPO, arXiv:2601.22582; the factor, eps and the lower median as in
        github.com/lotusroot-kim/MC-GRPO, src/open_r1/grpo_trainer_gsm.py.

    Example:
        >>> r, g = torch.tensor([0.9, 0.2, 0.4, 0.1, 0.5]), torch.zeros(5, dtype=torch.int64)
        >>> [round(a, 3) for a in median(r, g).tolist()]
        [3.109, -1.244, 0.0, -1.866, 0.622]
    """
    groups = Segments.of(group)
    deviation = rewards - groups.rows(_lower_median(rewards, groups))
    divisor = _lower_median(deviation.abs(), groups) + eps
    moved = groups.sum((deviation != 0).to(rewards.dtype))
    factor = groups.size() / moved / torch.where(divisor > 0, divisor, torch.nan)
    return groups.nan_if_single(torch.where(deviation == 0, 0.0, deviation * groups.rows(factor)))


def bnpo(
    rewards: Tensor, group: Tensor, step: Tensor, *, low: float = 0.0, high: float = 1.0, cap: float = 1e6
) -> Tensor:
    """Reward minus the mean of its group, divided by the density of that mean among the groups of the step.

        A_i = (r_i − p_g) / f(p_g; α, β), α = max(1, 1 + c m / 3), β = max(1, 1 + c (1 − m) / 3)
        c = m (1 − m) / v − 1, m and v the mean and the variance of the p_g of the step

    f is the density of the Beta distribution and p_g the mean of the group, both on rewards mapped from
    [low, high] to [0, 1]. α and β are fitted by moments, v with ddof 1; a group alone in its step has
    f = 1. TRL's `loss_type="bnpo"` is unrelated.

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        group: [N] int64, group index in [0, G).
        step: [N] int64, step index in [0, S); a group lies in one step.
        low: the lowest possible reward, in the unit of the rewards.
        high: the highest.
        cap: upper limit on 1 / f.

    Returns:
        [N], dtype and device of `rewards`. NaN in groups of one, which still count in m and v; and, dead
        groups apart, where all p_g of a step of two groups or more are equal (to 1e-6), so that v is 0.

    Raises:
        UsageError: `low` is not below `high`, or a group's mean reward lies outside them.

    Source:
        Xiao et al. 2025, BNPO, arXiv:2506.02864; the bounds and the cap as in github.com/changyi7231/BNPO,
        recipe/bnpo/src/bnpo_ray_trainer.py, where a group of one counts as p = 0.

    Example:
        >>> r, g = torch.tensor([1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0]), torch.arange(8) // 4
        >>> [round(a, 4) for a in bnpo(r, g, torch.zeros_like(g)).tolist()[3:5]]
        [-0.1728, 0.3409]
    """
    if not low < high:
        raise UsageError(f"bnpo: low is {low:g} and high {high:g}, expected low < high")
    groups = Segments.dense(group)
    spread = Spread.of((rewards - low) / (high - low), groups)
    mean = groups.mean((rewards - low) / (high - low))
    _refuse_outside(mean, rewards, low, high)
    weight = _inverse_density(mean, Segments.batch(groups.parent(step))).clamp(max=cap)
    weighted = spread.centred() * groups.rows(weight)
    return groups.nan_if_single(torch.where(groups.rows(spread.range) == 0, 0.0, weighted))


def shrinkage(rewards: Tensor, group: Tensor, step: Tensor, *, eps: float = 0.0) -> Tensor:
    """Reward minus a baseline between the mean of the other rows and the mean of the other groups.

        A_i = r_i − (1 − λ_g) · mean_{j≠i} r_j − λ_g · mean_{h≠g} mean_h
        λ_g = v_g / (v_g + s_g + eps), v_g = mean_{h≠g} (std_h² / n_h), s_g = mean_{h≠g} (mean_h − mean_{h≠g})²

    h are the groups of the step: v_g is the sampling variance of their means, s_g the variance between them.
    The paper assumes groups of equal size. Here every group has weight 1 whatever its size, and its own n_h.
    λ is 0 if v and s are. A dead group has an advantage, unless every reward of the step is equal.

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        group: [N] int64, group index in [0, G).
        step: [N] int64, step index in [0, S); a group lies in one step.
        eps: added to v + s, in the squared unit of the rewards. The authors' code has 1e-6.

    Returns:
        [N], dtype and device of `rewards`. NaN in groups of one, which are ignored, and in steps left with fewer
        than three groups: a single other group gives no variance between groups.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        Zeng et al. 2025, Shrinking the Variance, arXiv:2511.03710; as in github.com/guanning03/JSPO-Official,
        code/verl/trainer/ppo/core_algos.py.

    Example:
        >>> r = torch.tensor([1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
        >>> [round(a, 3) for a in shrinkage(r, torch.arange(12) // 4, torch.zeros(12).long()).tolist()[::4]]
        [0.9, 0.806, -0.309]
    """
    everyone = Segments.of(group)
    rows = everyone.rows(everyone.size()) > 1
    groups = Segments.dense(group[rows])
    batch = groups.rows(groups.parent(step[rows]))
    spread = Spread.of(rewards[rows], Segments.batch(batch))
    own = Spread.of(spread.unit, groups)
    noise = own.std(ddof=1) ** 2 / groups.size()
    batches = Segments.batch(groups.parent(batch))
    floor = divide(torch.full_like(spread.range, eps).sqrt(), spread.range) ** 2
    weight, others = _shrink(groups.mean(spread.unit), noise, batches, batches.rows(floor))
    size = groups.rows(groups.size()).to(rewards.dtype)
    from_rows = own.centred() * (size / (size - 1))
    from_groups = spread.unit - groups.rows(others)
    mixed = from_rows + groups.rows(weight) * (from_groups - from_rows)
    return filled(rows, mixed * spread.segments.rows(spread.range))


def _lower_quantile(values: Tensor, groups: Segments, level: float) -> Tensor:
    """[G] the lowest value with at least a share `level` of the group's rows at or below it."""
    share = (groups.rank(values) + 1).to(values.dtype) / groups.rows(groups.size())
    return groups.min(torch.where(share >= level, values, torch.inf))


def _interpolated_quantile(values: Tensor, groups: Segments, level: float) -> Tensor:
    """[G] the value at position level · (n − 1) of the sorted group, linearly interpolated."""
    position = level * (groups.size() - 1).to(values.dtype)
    below = position.floor()
    lower, upper = (_at(end, values, groups) for end in (below, position.ceil()))
    return lower + (position - below) * (upper - lower)


def _lower_median(values: Tensor, groups: Segments) -> Tensor:
    """[G] middle value of each group; the lower one of two."""
    return _at((groups.size() - 1) // 2, values, groups)


def _at(position: Tensor, values: Tensor, groups: Segments) -> Tensor:
    """[G] the value at a position of the sorted group, counted from 0."""
    return groups.sum(torch.where(groups.rank(values) == groups.rows(position), values, 0.0))


def _refuse_outside(mean: Tensor, rewards: Tensor, low: float, high: float) -> None:
    """Reject groups whose mean lies outside [low, high], where the density is undefined."""
    outside = mean[(mean < 0) | (mean > 1)]
    if outside.numel():
        reward = low + (high - low) * float(outside[0])
        low_enough, high_enough = min(low, float(rewards.min())), max(high, float(rewards.max()))
        raise UsageError(
            f"bnpo: the mean reward of a group is {reward:g}, expected one between low={low:g} and high={high:g}",
            hint=f"the bounds of your rewards, here at least bnpo:low={low_enough:g},high={high_enough:g}",
        )


def _inverse_density(mean: Tensor, batches: Segments) -> Tensor:
    """[G] 1 / density of the group's mean under the Beta distribution fitted to the means of its batch."""
    spread = Spread.of(mean, batches)
    centre = batches.mean(mean)
    evidence = centre * (1 - centre) / spread.std(ddof=1) ** 2 - 1
    lone, equal = batches.size() <= 1, spread.range <= NEUTRAL
    evidence = torch.where(lone, 0.0, torch.where(equal, torch.nan, evidence))
    alpha, beta = (1 + evidence * share / 3 for share in (centre, 1 - centre))
    alpha, beta = (batches.rows(exponent.clamp(min=1)) for exponent in (alpha, beta))
    norm = torch.lgamma(alpha) + torch.lgamma(beta) - torch.lgamma(alpha + beta)
    log_density = torch.xlogy(alpha - 1, mean) + torch.special.xlog1py(beta - 1, -mean) - norm
    return torch.exp(-log_density)


def _shrink(mean: Tensor, noise: Tensor, batches: Segments, floor: Tensor) -> tuple[Tensor, Tensor]:
    """[G] λ of each group, and the mean of the other groups of its batch."""
    count = batches.rows(batches.size()).to(mean.dtype)
    deviation = Spread.of(mean, batches).centred()
    lead = deviation * (count / (count - 1))
    # Sums over the other groups are the total minus the own term. Where the own term dominates, that cancels all
    # digits: for the largest one, sum the others directly.
    far = batches.rank(deviation.abs()) == count - 1
    near = Spread.of(mean[~far], Segments.of(batches.index[~far], batches.count))
    less_own = (batches.rows(batches.sum(deviation**2)) - deviation * lead) / (count - 1)
    between = torch.where(far, batches.rows(near.std(ddof=0) ** 2), less_own)
    noisiest = batches.rank(noise) == count - 1
    others_noise = batches.rows(batches.sum(torch.where(noisiest, 0.0, noise)))
    by_chance = torch.where(noisiest, others_noise, batches.rows(batches.sum(noise)) - noise) / (count - 1)
    weight = divide(by_chance, by_chance + between + floor)
    return torch.where(count > 2, weight, torch.nan), mean - lead
