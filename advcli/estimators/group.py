"""Estimators that compare a row with the rows of its group.

All functions here compute the mean and the variance as centred two-pass sums in the dtype of the rewards,
with `ddof` 1 and no eps by default. A dead group, detected by max == min, gives exactly 0 (but see `ngrpo`).
A group of one has nothing to compare with: NaN.
"""

import torch
from torch import Tensor

from advcli.tensors.segments import Segments, Spread, divide


def grpo(
    rewards: Tensor, group: Tensor, step: Tensor, *, scale: str = "group", ddof: int = 1, eps: float = 0.0
) -> Tensor:
    """Reward minus the mean of its group, divided by a standard deviation.

        A_i = (r_i − mean_g) / (s + eps)

    `scale="group"` divides by the standard deviation of the group's rewards, "batch" by that of all
    raw rewards of the step (not of the centred ones), "none" does not divide (Dr. GRPO's advantage).

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        group: [N] int64, group index in [0, G).
        step: [N] int64, step index in [0, S); used by `scale="batch"` only.
        scale: "group", "batch" or "none".
        ddof: degrees of freedom taken from the divisor of the variance. The paper doesn't specify it; 1 is
            the default of `torch.std` and most frameworks.
        eps: added to the standard deviation, in the unit of the rewards. The paper has none.

    Returns:
        [N], dtype and device of `rewards`. NaN in groups of one, and with `ddof` ≥ n for "group".

    Raises:
        KeyError: `scale` is none of the three.

    Source:
        Shao et al. 2024, DeepSeekMath, arXiv:2402.03300, section 4.1.2; "none": Liu et al. 2025,
        arXiv:2503.20783; "batch": Liu et al. 2025, arXiv:2508.08221.

    Example:
        >>> r, g = torch.tensor([0.1, 0.5, 0.9, 1.3, 1.7]), torch.zeros(5, dtype=torch.int64)
        >>> [round(a, 3) + 0.0 for a in grpo(r, g, g).tolist()]
        [-1.265, -0.632, 0.0, 0.632, 1.265]
    """
    spread = Spread.of(rewards, Segments.of(group))
    return spread.segments.nan_if_single(_SCALED[scale](spread.unit, spread, rewards, step, ddof, eps))


def rloo(
    rewards: Tensor, group: Tensor, step: Tensor, *, scale: str = "none", ddof: int = 1, eps: float = 0.0
) -> Tensor:
    """Reward minus the mean reward of the other rows of its group, optionally divided.

        A_i = r_i − mean_{j≠i} r_j = n / (n − 1) · (r_i − mean_g)

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        group: [N] int64, group index in [0, G).
        step: [N] int64, step index in [0, S); used by `scale="batch"` only.
        scale: "none" (the paper), "group" or "batch", as in `grpo`.
        ddof: as in `grpo`.
        eps: as in `grpo`.

    Returns:
        [N], dtype and device of `rewards`. NaN in groups of one: there are no other rows.

    Raises:
        KeyError: `scale` is none of the three.

    Source:
        Ahmadian et al. 2024, Back to Basics, arXiv:2402.14740, section 3.3.

    Example:
        >>> r, g = torch.tensor([1.0, 0.0, 0.0, 0.0]), torch.zeros(4, dtype=torch.int64)
        >>> [round(a, 3) for a in rloo(r, g, g).tolist()]
        [1.0, -0.333, -0.333, -0.333]
    """
    spread = Spread.of(rewards, Segments.of(group))
    size = spread.segments.size().to(rewards.dtype)
    leave_one_out = spread.segments.broadcast(torch.mul, spread.unit, size / (size - 1))
    return spread.segments.nan_if_single(_SCALED[scale](leave_one_out, spread, rewards, step, ddof, eps))


def loo_norm(rewards: Tensor, group: Tensor, *, eps: float = 0.0) -> Tensor:
    """Reward minus the mean of the other rows of its group, divided by the standard deviation of those.

        A_i = (r_i − mean_{j≠i} r_j) / (std_{j≠i} r_j + eps)

    Not divided if the other rows are equal, or if there is only one other row.

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        group: [N] int64, group index in [0, G).
        eps: added to the standard deviation (ddof 1), in the unit of the rewards. NeMo RL adds 1e-6.

    Returns:
        [N], dtype and device of `rewards`. NaN in groups of one: there are no other rows.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        NeMo RL, nemo_rl/algorithms/advantage_estimator.py and utils.py, the default of its "grpo".

    Example:
        >>> r, g = torch.tensor([1.0, 0.0, 0.0, 0.0]), torch.zeros(4, dtype=torch.int64)
        >>> [round(a, 3) for a in loo_norm(r, g).tolist()]
        [1.0, -0.577, -0.577, -0.577]
    """
    spread = Spread.of(rewards, Segments.of(group))
    size = spread.segments.rows(spread.segments.size()).to(rewards.dtype)
    leave_one_out = spread.centred() * (size / (size - 1))
    std = _std_of_others(rewards, group, spread, size)
    divided = torch.where(std > 0, leave_one_out / (std + eps), leave_one_out)
    return spread.segments.nan_if_single(divided)


def maxrl(rewards: Tensor, group: Tensor, *, eps: float = 0.0) -> Tensor:
    """Reward minus the mean of its group, divided by that mean.

        A_i = (r_i − mean_g) / (mean_g + eps), 0 where mean_g ≤ 0

    Intended for rewards that are right (1) or wrong (0), or at least non-negative: the mean is the pass rate.

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        group: [N] int64, group index in [0, G).
        eps: added to the mean, in the unit of the rewards. The paper's code adds 1e-6.

    Returns:
        [N], dtype and device of `rewards`. NaN in groups of one.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        Tajwar et al. 2026, Maximum Likelihood Reinforcement Learning, arXiv:2602.02710.

    Example:
        >>> r, g = torch.tensor([1.0, 0.0, 0.0, 0.0]), torch.zeros(4, dtype=torch.int64)
        >>> maxrl(r, g).tolist()
        [3.0, -1.0, -1.0, -1.0]
    """
    spread = Spread.of(rewards, Segments.of(group))
    mean = spread.segments.rows(spread.segments.mean(rewards))
    return spread.segments.nan_if_single(torch.where(mean > 0, spread.centred() / (mean + eps), 0.0))


def gpg(rewards: Tensor, group: Tensor, step: Tensor) -> Tensor:
    """Reward minus the mean of its group, scaled up for the rows of the step with reward 0.

        A_i = α · (r_i − mean_g), α = rows of the step / rows of the step with r ≠ 0

    This is verl's α. The authors instead exclude the rows of dead groups.

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump. A negative one counts as ≠ 0.
        group: [N] int64, group index in [0, G).
        step: [N] int64, step index in [0, S).

    Returns:
        [N], dtype and device of `rewards`. NaN in groups of one, which still count in α.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        Chu et al. 2025, GPG, arXiv:2504.02546; α as in verl/trainer/ppo/core_algos.py.

    Example:
        >>> r, g = torch.tensor([1.0, 0.0, 0.0, 0.0]), torch.zeros(4, dtype=torch.int64)
        >>> gpg(r, g, g).tolist()
        [3.0, -1.0, -1.0, -1.0]
    """
    spread, batch = Spread.of(rewards, Segments.of(group)), Segments.batch(step)
    alpha = batch.size() / batch.sum((rewards != 0).to(rewards.dtype)).clamp(min=1)
    return spread.segments.nan_if_single(batch.rows(alpha) * spread.centred())


def opo(rewards: Tensor, group: Tensor, lengths: Tensor) -> Tensor:
    """Reward minus the mean of its group, weighted by tokens.

        A_i = r_i − Σ_g L_j r_j / Σ_g L_j

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        group: [N] int64, group index in [0, G).
        lengths: [N] float or int, non-negative, tokens per row.

    Returns:
        [N], dtype and device of `rewards`. NaN in groups of one, and where all lengths of the group are 0.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        Hao et al. 2025, On-Policy RL with Optimal Reward Baseline, arXiv:2505.23585.

    Example:
        >>> r, g = torch.tensor([1.0, 0.0, 0.0, 0.0]), torch.zeros(4, dtype=torch.int64)
        >>> [round(a, 3) for a in opo(r, g, torch.tensor([10, 20, 30, 40])).tolist()]
        [0.9, -0.1, -0.1, -0.1]
    """
    spread = Spread.of(rewards, Segments.of(group))
    segments, weight = spread.segments, lengths.to(rewards.dtype)
    baseline = segments.sum(weight * spread.unit) / segments.sum(weight)
    return segments.nan_if_single((spread.unit - segments.rows(baseline)) * segments.rows(spread.range))


def ngrpo(rewards: Tensor, group: Tensor, *, r_max: float = 1.0, eps: float = 0.0) -> Tensor:
    """GRPO with one virtual row of the highest reward in the mean and the standard deviation.

        A_i = (r_i − mean_{g ∪ r_max}) / (std_{g ∪ r_max} + eps)

    So an all-wrong group has a negative advantage; a group whose rewards are all `r_max` has 0.

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        group: [N] int64, group index in [0, G).
        r_max: the highest reward that a row can have, in the unit of the rewards.
        eps: added to the standard deviation (ddof 1). The paper's code adds 1e-6.

    Returns:
        [N], dtype and device of `rewards`. NaN in groups of one.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        Nan et al. 2025, NGRPO, arXiv:2509.18851, the advantage calibration.

    Example:
        >>> r, g = torch.tensor([0.0, 0.0, 0.0, 0.0, 1.0, 1.0]), torch.tensor([0, 0, 0, 0, 1, 1])
        >>> [round(a, 3) for a in ngrpo(r, g).tolist()]
        [-0.447, -0.447, -0.447, -0.447, 0.0, 0.0]
    """
    segments = Segments.of(group)
    virtual = torch.arange(segments.count, device=group.device)
    everyone = Segments.of(torch.cat([group, virtual]), segments.count)
    spread = Spread.of(torch.cat([rewards, rewards.new_full((segments.count,), r_max)]), everyone)
    return segments.nan_if_single(spread.scores(ddof=1, eps=eps)[: len(rewards)])


def _std_of_others(rewards: Tensor, group: Tensor, spread: Spread, size: Tensor) -> Tensor:
    """[N] standard deviation (ddof 1) of the other rows of the group; NaN if there is one other row or none."""
    segments = spread.segments
    squares = segments.rows(segments.sum(spread.unit**2)) - spread.unit**2 * (size / (size - 1))
    std = (squares / (size - 2)).sqrt() * segments.rows(spread.range)
    # For the row farthest out, subtracting its share may cancel all digits, and only its others can all be equal:
    # compute their std directly. Any other row leaves a quarter of the sum or more.
    outer = segments.rank(spread.unit.abs()) == size - 1
    others = Spread.of(rewards[~outer], Segments.of(group[~outer], segments.count))
    return torch.where(outer, segments.rows(others.std(ddof=1)), std)


def _by_group(unit: Tensor, spread: Spread, rewards: Tensor, step: Tensor, ddof: int, eps: float) -> Tensor:
    del rewards, step
    return spread.over_std(unit, ddof, eps)


def _by_batch(unit: Tensor, spread: Spread, rewards: Tensor, step: Tensor, ddof: int, eps: float) -> Tensor:
    batch = Spread.of(rewards, Segments.batch(step))
    centred = spread.segments.broadcast(torch.mul, unit, spread.range)
    return divide(centred, batch.segments.rows(batch.std(ddof)) + eps)


def _unscaled(unit: Tensor, spread: Spread, rewards: Tensor, step: Tensor, ddof: int, eps: float) -> Tensor:
    del rewards, step, ddof, eps
    return spread.segments.broadcast(torch.mul, unit, spread.range)


_SCALED = {"group": _by_group, "batch": _by_batch, "none": _unscaled}
