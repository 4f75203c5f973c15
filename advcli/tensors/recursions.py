"""Recursions over the rows of a group, one position of all groups at a time."""

from collections.abc import Iterator

import torch
from torch import Tensor

from advcli.tensors.segments import Segments


def kalman(values: Tensor, group: Tensor, *, process_var: float, meas_var: float) -> tuple[Tensor, Tensor]:
    """The residual of each value after a Kalman update with it, and the filter's standard deviation then.

        P⁻ = P + Q, K = P⁻ / (P⁻ + R), x ← x + K (v − x), P ← (1 − K) P⁻, from x = 0 and P = 1

    Args:
        values: [N] float, filtered group by group in row order.
        group: [N] int64, group index.
        process_var: Q.
        meas_var: R.

    Returns:
        v − x and √P, [N] each, dtype of `values`.

    Example:
        >>> residual, std = kalman(
        ...     torch.tensor([1.0, 0.0]), torch.tensor([0, 0]), process_var=0.0, meas_var=1.0
        ... )
        >>> [round(v, 4) for v in residual.tolist()], [round(s, 4) for s in std.tolist()]
        ([0.5, -0.3333], [0.7071, 0.5774])
    """
    groups = Segments.dense(group)
    residual, std = torch.empty_like(values), torch.empty_like(values)
    state, variance = values.new_zeros(groups.count), values.new_ones(())
    for rows in _by_position(groups, torch.zeros_like(group)):
        of = groups.index[rows]
        # The variance depends on the position only.
        prior = variance + process_var
        gain = prior / (prior + meas_var)
        state[of] = state[of] + gain * (values[rows] - state[of])
        variance = (1 - gain) * prior
        residual[rows], std[rows] = values[rows] - state[of], variance.sqrt()
    return residual, std


def beta_means(
    rewards: Tensor, prompt: Tensor, step: Tensor, alpha: Tensor, beta: Tensor, *, rho: float
) -> Tensor:
    """The mean of the Beta posterior of each row's prompt before its step: α ← ρα + r and β ← ρβ + 1 − r after each reward.

    Args:
        rewards: [N] float in [0, 1].
        prompt: [N] int64, the prompt of each row, the same in all steps.
        step: [N] int64, step index in the order of the steps.
        alpha: [N] float, α of the prompt before its first step.
        beta: [N] float, β of it.
        rho: ρ, how much of the past is kept.

    Returns:
        α / (α + β), [N], dtype of `rewards`.

    Example:
        >>> half, one = torch.full((2,), 0.5), torch.tensor([0, 0])
        >>> beta_means(torch.tensor([1.0, 1.0]), one, torch.tensor([0, 1]), half, half, rho=1.0).tolist()
        [0.5, 0.75]
    """
    prompts = Segments.dense(prompt)
    result = torch.empty_like(rewards)
    belief = torch.zeros(2, prompts.count, dtype=rewards.dtype, device=rewards.device)
    prior, last = belief.clone(), torch.full_like(belief[0], -1, dtype=torch.int64)
    for at, rows in enumerate(_by_position(prompts, step)):
        of = prompts.index[rows]
        if at == 0:
            belief[:, of] = torch.stack([alpha[rows], beta[rows]])
        prior[:, of] = torch.where(step[rows] != last[of], belief[:, of], prior[:, of])
        last[of] = step[rows]
        result[rows] = prior[0, of] / prior[:, of].sum(dim=0)
        belief[:, of] = rho * belief[:, of] + torch.stack([rewards[rows], 1 - rewards[rows]])
    return result


def _by_position(groups: Segments, step: Tensor) -> Iterator[Tensor]:
    """The first rows of all groups, then the second, …; within a group by step, then by row."""
    position = groups.rank(step.double())
    order = torch.argsort(position, stable=True)
    yield from order.split(torch.bincount(position).tolist()) if len(order) else ()
