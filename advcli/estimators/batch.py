"""Estimators that compare a row with its step, with a per-row baseline, or with nothing.

The batch is the step. The arithmetic is that of `group`. Only if rows are first compared within their groups is
a dead group 0 and a group of one NaN; otherwise both have an advantage.
"""

import math

import torch
from torch import Tensor

from advcli.tensors.masks import filled
from advcli.tensors.segments import Segments, Spread, divide


def reinforce(rewards: Tensor) -> Tensor:
    """The reward itself, without a baseline.

        A_i = r_i

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.

    Returns:
        [N], dtype and device of `rewards`. Defined for every row.

    Raises:
        AttributeError: `rewards` is not a tensor.

    Source:
        Williams 1992, Simple Statistical Gradient-Following Algorithms; for language models Ahmadian et al.
        2024, arXiv:2402.14740, section 3.2.

    Example:
        >>> reinforce(torch.tensor([1.0, 0.0])).tolist()
        [1.0, 0.0]
    """
    return rewards.clone()


def batch_norm(rewards: Tensor, step: Tensor, *, ddof: int = 1, eps: float = 0.0) -> Tensor:
    """Reward minus the mean of the step, divided by the standard deviation of the step.

        A_i = (r_i − mean_B) / (std_B + eps)

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        step: [N] int64, step index in [0, S).
        ddof: degrees of freedom taken from the divisor of the variance.
        eps: added to the standard deviation, in the unit of the rewards.

    Returns:
        [N], dtype and device of `rewards`. NaN in steps of `ddof` rows or fewer.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        Batch-level normalization of Liu et al. 2025, Tricks or Traps, arXiv:2508.08221.

    Example:
        >>> [round(a, 3) for a in batch_norm(torch.tensor([1.0, 0.0, 2.0]), torch.zeros(3).long()).tolist()]
        [0.0, -1.0, 1.0]
    """
    return Spread.of(rewards, Segments.batch(step)).scores(ddof, eps)


def reinforce_plus_plus(
    rewards: Tensor, step: Tensor, lengths: Tensor, *, ddof: int = 1, eps: float = 1e-8
) -> Tensor:
    """Reward whitened over all tokens of the step, each token with the reward of its row.

        A_i = (r_i − m) / √(v + eps), m = Σ_B L_j r_j / M, v = Σ_B L_j (r_j − m)² / (M − ddof), M = Σ_B L_j

    Without KL in the reward and with a discount of 1, a token's return is its row's reward. Long rows weigh
    more; `reinforce_plus_plus_rows` weights rows equally.

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        step: [N] int64, step index in [0, S).
        lengths: [N] float or int, tokens per row.
        ddof: degrees of freedom taken from the tokens. 1 is verl's; OpenRLHF has 0.
        eps: added to the variance, in the squared unit of the rewards. verl has 1e-8.

    Returns:
        [N], dtype and device of `rewards`. NaN in rows without tokens, and in steps of `ddof` tokens or fewer.

    Raises:
        IndexError: the columns differ in length.

    Source:
        Hu et al. 2025, REINFORCE++, arXiv:2501.03262; tokens, ddof and eps as in
        verl/trainer/ppo/core_algos.py and verl/utils/torch_functional.py.

    Example:
        >>> r, s, tokens = torch.tensor([1.0, 0.0]), torch.tensor([0, 0]), torch.tensor([20, 80])
        >>> [round(a, 2) for a in reinforce_plus_plus(r, s, tokens).tolist()]
        [1.99, -0.5]
    """
    rows = lengths > 0
    whitened = _white_tokens(rewards[rows], Segments.batch(step[rows]), lengths[rows], ddof, eps)
    return filled(rows, whitened)


def reinforce_plus_plus_rows(rewards: Tensor, step: Tensor, *, ddof: int = 1, eps: float = 1e-8) -> Tensor:
    """Reward whitened over the rows of the step.

        A_i = (r_i − mean_B) / √(var_B + eps)

    Equals `reinforce_plus_plus` if all rows have the same length; for dumps without lengths.

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        step: [N] int64, step index in [0, S).
        ddof: degrees of freedom taken from the rows.
        eps: as in `reinforce_plus_plus`.

    Returns:
        [N], dtype and device of `rewards`. NaN in steps of `ddof` rows or fewer.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        Hu et al. 2025, REINFORCE++, arXiv:2501.03262.

    Example:
        >>> r, s = torch.tensor([1.0, 0.0, 2.0]), torch.zeros(3, dtype=torch.int64)
        >>> [round(a, 3) for a in reinforce_plus_plus_rows(r, s).tolist()]
        [0.0, -1.0, 1.0]
    """
    return white_rows(Spread.of(rewards, Segments.batch(step)), ddof, eps)


def reinforce_plus_plus_baseline(
    rewards: Tensor, group: Tensor, step: Tensor, lengths: Tensor, *, ddof: int = 1, eps: float = 1e-8
) -> Tensor:
    """Reward minus the mean of its group, whitened over all tokens of the step.

        c_i = r_i − mean_g, A_i = (c_i − m) / √(v + eps), m and v over the c of the step as in REINFORCE++

    m is not 0, because rows differ in length: a dead group has the advantage −m / √(v + eps).

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        group: [N] int64, group index in [0, G).
        step: [N] int64, step index in [0, S); a group lies in one step.
        lengths: [N] float or int, tokens per row.
        ddof: as in `reinforce_plus_plus`.
        eps: as in `reinforce_plus_plus`.

    Returns:
        [N], dtype and device of `rewards`. NaN in groups of one, which are excluded from m and v (verl includes
        their reward), in rows without tokens, and in steps of `ddof` tokens or fewer.

    Raises:
        IndexError: the columns differ in length.

    Source:
        Hu et al. 2025, REINFORCE++, arXiv:2501.03262; tokens, ddof and eps as in
        verl/trainer/ppo/core_algos.py and verl/utils/torch_functional.py.

    Example:
        >>> r, g = torch.tensor([1.0, 0.0]), torch.tensor([0, 0])
        >>> [round(a, 2) for a in reinforce_plus_plus_baseline(r, g, g, torch.tensor([20, 80])).tolist()]
        [1.99, -0.5]
    """
    groups = Segments.of(group)
    rows = (groups.rows(groups.size()) > 1) & (lengths > 0)
    batch = Segments.batch(groups.rows(groups.parent(step))[rows])
    centred = Spread.of(rewards, groups).centred()[rows]
    return filled(rows, _white_tokens(centred, batch, lengths[rows], ddof, eps))


def reinforce_plus_plus_baseline_rows(
    rewards: Tensor, group: Tensor, step: Tensor, *, ddof: int = 1, eps: float = 1e-8
) -> Tensor:
    """Reward minus the mean of its group, whitened over the rows of the step.

        c_i = r_i − mean_g, A_i = c_i / √(Σ_B c_j² / (N_B − ddof) + eps)

    Equals `reinforce_plus_plus_baseline` if all rows have the same length; for dumps without lengths. The c
    of a step have mean 0, so a dead group stays at exactly 0.

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        group: [N] int64, group index in [0, G).
        step: [N] int64, step index in [0, S); a group lies in one step.
        ddof: degrees of freedom taken from the rows.
        eps: as in `reinforce_plus_plus`.

    Returns:
        [N], dtype and device of `rewards`. NaN in groups of one, which are excluded from the sums.

    Raises:
        IndexError: the columns differ in length.

    Source:
        Hu et al. 2025, REINFORCE++, arXiv:2501.03262.

    Example:
        >>> r, g = torch.tensor([1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0]), torch.arange(8) // 4
        >>> [round(a, 3) for a in reinforce_plus_plus_baseline_rows(r, g, torch.zeros_like(g)).tolist()[3:5]]
        [-0.5, 1.0]
    """
    groups = Segments.of(group)
    rows = groups.rows(groups.size()) > 1
    batch = Segments.batch(groups.rows(groups.parent(step))[rows])
    centred = Spread.of(rewards, groups).centred()[rows]
    return filled(rows, white_rows(Spread.about_zero(centred, batch), ddof, eps))


def remax(rewards: Tensor, baselines: Tensor) -> Tensor:
    """Reward minus the reward of the greedy response to the same prompt.

        A_i = r_i − r_greedy

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        baselines: [N] float, finite, the greedy reward of the row's prompt, in the unit of the rewards.

    Returns:
        [N], dtype and device of `rewards`. Defined for every row.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        Li et al. 2023, ReMax, arXiv:2310.10505.

    Example:
        >>> remax(torch.tensor([1.0, 0.0]), torch.tensor([0.5, 0.5])).tolist()
        [0.5, -0.5]
    """
    return rewards - baselines


def positive_only(rewards: Tensor, *, threshold: float = 0.5, weight: float = 1.0) -> Tensor:
    """A positive constant for right rows, 0 for wrong ones: positive sample reinforcement (PSR).

        A_i = weight if r_i ≥ threshold else 0

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        threshold: lowest reward of a right row, in the unit of the rewards.
        weight: the advantage of a right row. W-REINFORCE adds 0.1 times this to `negative_only`.

    Returns:
        [N], dtype and device of `rewards`. Defined for every row.

    Raises:
        AttributeError: `rewards` is not a tensor.

    Source:
        Zhu et al. 2025, Negative Reinforcement in LLM Reasoning, arXiv:2506.01347.

    Example:
        >>> positive_only(torch.tensor([1.0, 0.0])).tolist()
        [1.0, 0.0]
    """
    return weight * (rewards >= threshold).to(rewards.dtype)


def negative_only(rewards: Tensor, *, threshold: float = 0.5, weight: float = 1.0) -> Tensor:
    """A negative constant for wrong rows, 0 for right ones: negative sample reinforcement (NSR).

        A_i = −weight if r_i < threshold else 0

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        threshold: lowest reward of a right row, in the unit of the rewards.
        weight: minus the advantage of a wrong row.

    Returns:
        [N], dtype and device of `rewards`. Defined for every row.

    Raises:
        AttributeError: `rewards` is not a tensor.

    Source:
        Zhu et al. 2025, Negative Reinforcement in LLM Reasoning, arXiv:2506.01347.

    Example:
        >>> negative_only(torch.tensor([1.0, 0.0])).tolist()
        [0.0, -1.0]
    """
    return torch.where(rewards < threshold, -weight, torch.zeros_like(rewards))


def w_reinforce(rewards: Tensor, *, threshold: float = 0.5, weight: float = 0.1) -> Tensor:
    """−1 for wrong rows and a small constant for right ones: weighted REINFORCE.

        A_i = weight if r_i ≥ threshold else −1

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        threshold: lowest reward of a right row, in the unit of the rewards.
        weight: the advantage of a right row.

    Returns:
        [N], dtype and device of `rewards`. Defined for every row.

    Raises:
        AttributeError: `rewards` is not a tensor.

    Source:
        Zhu et al. 2025, Negative Reinforcement in LLM Reasoning, arXiv:2506.01347, section 5.

    Example:
        >>> [round(a, 3) for a in w_reinforce(torch.tensor([1.0, 0.0])).tolist()]
        [0.1, -1.0]
    """
    right = positive_only(rewards, threshold=threshold, weight=weight)
    return right + negative_only(rewards, threshold=threshold)


def white_rows(spread: Spread, ddof: int, eps: float) -> Tensor:
    """[N] deviations over √(variance + eps) of the batch."""
    return _over_root(spread.unit, spread.unit_std(ddof), spread, eps)


def _white_tokens(values: Tensor, batch: Segments, lengths: Tensor, ddof: int, eps: float) -> Tensor:
    """[N] deviations over √(variance + eps), both weighted by `lengths` (all positive)."""
    spread, weight = Spread.of(values, batch), lengths.to(values.dtype)
    tokens = batch.sum(weight)
    unit = spread.unit - batch.rows(batch.sum(weight * spread.unit) / tokens)
    free = tokens - ddof
    variance = batch.sum(weight * unit**2) / torch.where(free > 0, free, torch.nan)
    return _over_root(unit, variance.sqrt(), spread, eps)


def _over_root(unit: Tensor, unit_std: Tensor, spread: Spread, eps: float) -> Tensor:
    """[N] deviations over √(std² + eps); all but eps in units of the range."""
    std = spread.segments.rows(unit_std)
    if eps == 0:
        return divide(unit, std)
    extent = spread.segments.rows(spread.range)
    return unit * extent / torch.hypot(std * extent, torch.full_like(std, math.sqrt(eps)))
