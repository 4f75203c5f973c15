"""Baselines that trainers update row by row or step by step, so that the result depends on the row order."""

import torch
from torch import Tensor

from advcli.common.errors import UsageError
from advcli.frameworks.arithmetic.blocks import matrices
from advcli.frameworks.arithmetic.per_row import std_of
from advcli.tensors import recursions


def running_baseline(rewards: Tensor, *, decay: float = 0.95, dtype: str = "float64") -> Tensor:
    """RAE: reward minus a running mean of the previous rewards, b ← decay · b + (1 − decay) · r, from b = 0.

    Args:
        rewards: [N] float, in order of arrival.
        decay: share of the old baseline that is kept.
        dtype: what the trainer computes in.

    Example:
        >>> running_baseline(torch.tensor([1.0, 0.0])).tolist()
        [1.0, -0.050000000000000044]
    """
    out, baseline = [], 0.0
    for reward in rewards.tolist():
        out.append(reward - baseline)
        baseline = decay * baseline + (1 - decay) * reward
    return torch.tensor(out, dtype=getattr(torch, dtype), device=rewards.device)


def kalman(
    rewards: Tensor,
    group: Tensor,
    *,
    process_var: float,
    meas_var: float,
    eps: float,
    dtype: str = "float32",
) -> Tensor:
    """KRPO: reward minus the estimate of a Kalman filter updated with it, over its standard deviation.

    Args:
        rewards: [N] float, NaN where missing; each group is filtered in row order.
        group: [N] int64, group index.
        process_var: as in `recursions.kalman`.
        meas_var: as in `recursions.kalman`.
        eps: added to the standard deviation.
        dtype: what the trainer computes in.

    Example:
        >>> knobs = {"process_var": 1e-5, "meas_var": 1e-2, "eps": 1e-8}
        >>> [round(a, 4) for a in kalman(torch.tensor([1.0, 0.0]), torch.tensor([0, 0]), **knobs).tolist()]
        [0.0995, -7.0481]
    """
    r = rewards.to(getattr(torch, dtype))
    residual, std = recursions.kalman(r, group, process_var=process_var, meas_var=meas_var)
    return residual / (std + eps)


def posterior(  # noqa: PLR0913  one knob per rule that differs
    rewards: Tensor,
    group: Tensor,
    step: Tensor,
    *,
    rho: float,
    alpha0: float,
    beta0: float,
    eps: float = 1e-8,
    dtype: str = "float32",
) -> Tensor:
    """SPO: reward minus the posterior mean of its prompt, whitened over the rows of the step (ddof 1).

    Args:
        rewards: [N] float in [0, 1], NaN where missing.
        group: [N] int64, the prompt of each row, the same in all steps.
        step: [N] int64, step index in the order of the steps.
        rho: as in `recursions.beta_means`.
        alpha0: α before the first step of a prompt.
        beta0: β before the first step of a prompt.
        eps: added to the standard deviation.
        dtype: what the trainer computes in.

    Example:
        >>> r, zero = torch.tensor([1.0, 0.0]), torch.tensor([0, 0])
        >>> knobs = {"rho": 0.875, "alpha0": 0.5, "beta0": 0.5}
        >>> [round(a, 4) for a in posterior(r, torch.tensor([0, 1]), zero, **knobs).tolist()]
        [0.7071, -0.7071]
    """
    r = rewards.to(getattr(torch, dtype))
    alpha, beta = torch.full_like(r, alpha0), torch.full_like(r, beta0)
    return _whitened(r - recursions.beta_means(r, group, step, alpha, beta, rho=rho), step, eps)


def posterior_from_scores(  # noqa: PLR0913  one knob per rule that differs
    rewards: Tensor,
    baselines: Tensor,
    group: Tensor,
    step: Tensor,
    *,
    scores: float,
    clip_lower: float,
    rho: float,
    eps: float = 1e-8,
    dtype: str = "float32",
) -> Tensor:
    """SPO initialized from N scores: α = N₀ (Σs + ½) / (N + 1), β = N₀ (N − Σs + ½) / (N + 1), N₀ = 1 / (1 − clip_lower).

    Args:
        rewards: [N] float in [0, 1], NaN where missing.
        baselines: [N] float, the share of the prompt's earlier scores above 0.
        group: [N] int64, the prompt of each row, the same in all steps.
        step: [N] int64, step index in the order of the steps.
        scores: number of scores per prompt.
        clip_lower: the smallest ρ the trainer allows.
        rho: as in `posterior`.
        eps: as in `posterior`.
        dtype: what the trainer computes in.

    Raises:
        UsageError: clip_lower is not below 1.
    """
    if not clip_lower < 1:
        raise UsageError(f"clip_lower is {clip_lower:g}, expected a number below 1")
    r = rewards.to(getattr(torch, dtype))
    weight, solved = 1 / (1 - clip_lower), baselines.to(r.dtype) * scores
    alpha = weight * (solved + 0.5) / (scores + 1)
    beta = weight * (scores - solved + 0.5) / (scores + 1)
    return _whitened(r - recursions.beta_means(r, group, step, alpha, beta, rho=rho), step, eps)


def _whitened(values: Tensor, step: Tensor, eps: float) -> Tensor:
    """[N] (x − mean) / (std + eps) over the rows of each step."""
    out = torch.zeros_like(values)
    for rows in matrices(step):
        own = values[rows]
        out[rows] = (own - own.mean(dim=1, keepdim=True)) / (std_of(own) + eps)
    return out
