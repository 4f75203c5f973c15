"""Estimators that depend on the order of rows or steps: the baseline is learned from one reward to the next."""

import torch
from torch import Tensor

from advcli.tensors import recursions
from advcli.tensors.segments import Segments, Spread


def krpo(
    rewards: Tensor,
    group: Tensor,
    *,
    process_var: float = 1e-5,
    meas_var: float = 1e-2,
    eps: float = 0.0,
) -> Tensor:
    """Reward minus the estimate of a Kalman filter updated with it, over the filter's standard deviation.

        P⁻ = P + Q, K = P⁻ / (P⁻ + R), x ← x + K (r_i − x), P ← (1 − K) P⁻, A_i = (r_i − x) / (√P + eps)

    Each group starts with x = 0 and P = 1 and is filtered in row order, so the advantage depends on that order, is not 0 in
    a dead group, and is about ten times that of `grpo`.

    Args:
        rewards: [N] float, finite, one reward per row, in the unit of the dump.
        group: [N] int64, group index in [0, G).
        process_var: Q, in the squared unit of the rewards.
        meas_var: R, in the squared unit of the rewards.
        eps: added to √P. The authors' code adds 1e-8.

    Returns:
        [N], dtype and device of `rewards`. NaN in groups of one.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        Wang et al. 2025, Kalman Filter Enhanced GRPO, arXiv:2505.07527; github.com/billhhh/KRPO_LLMs_RL, train.py.

    Example:
        >>> r, g = torch.tensor([1.0, 0.0, 0.0, 0.0]), torch.zeros(4, dtype=torch.int64)
        >>> [round(a, 3) for a in krpo(r, g).tolist()]
        [0.1, -7.048, -5.751, -4.973]
    """
    residual, std = recursions.kalman(rewards, group, process_var=process_var, meas_var=meas_var)
    return Segments.of(group).nan_if_single(residual / (std + eps))


def spo(  # noqa: PLR0913  the state and its decay
    rewards: Tensor,
    group: Tensor,
    step: Tensor,
    *,
    rho: float = 0.875,
    alpha0: float = 0.5,
    beta0: float = 0.5,
    eps: float = 0.0,
) -> Tensor:
    """Reward minus the expectation from the prompt's earlier steps, normalised over the step.

        A_i = (c_i − mean_B c) / (std_B c + eps), c_i = r_i − α / (α + β)
        after each reward α ← ρα + r, β ← ρβ + 1 − r

    Designed for one row per prompt and step. Group by prompt only: with the step in the key, no prompt ever recurs.

    Args:
        rewards: [N] float in [0, 1], one reward per row.
        group: [N] int64, the prompt of each row in [0, G), the same in all steps.
        step: [N] int64, step index in [0, S), in the order of the steps.
        rho: ρ, how much of the past is kept, from 0 to 1.
        alpha0: α before the first step of a prompt.
        beta0: β before the first step of a prompt.
        eps: added to the standard deviation (ddof 1). verl-recipe adds 1e-8.

    Returns:
        [N], dtype and device of `rewards`. 0 in a step of one row, and where every c of the step is equal.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        Xu et al. 2025, Single-stream Policy Optimization, arXiv:2509.13232, with a constant ρ; verl-recipe,
        spo/spo_ray_trainer.py.

    Example:
        >>> r, prompt, step = (
        ...     torch.tensor([1.0, 0.0, 1.0, 0.0]),
        ...     torch.tensor([0, 1, 0, 1]),
        ...     torch.tensor([0, 0, 1, 1]),
        ... )
        >>> [round(a, 3) for a in spo(r, prompt, step).tolist()]
        [0.707, -0.707, 0.707, -0.707]
    """
    alpha, beta = torch.full_like(rewards, alpha0), torch.full_like(rewards, beta0)
    expected = recursions.beta_means(rewards, group, step, alpha, beta, rho=rho)
    spread = Spread.of(rewards - expected, Segments.of(step))
    single = spread.segments.rows(spread.segments.size()) == 1
    return torch.where(single, 0.0, spread.scores(ddof=1, eps=eps))
