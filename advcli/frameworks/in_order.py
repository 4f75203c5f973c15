"""Baselines that trainers update row by row or step by step, so that the order of the rows is part of the rule."""

import torch
from torch import Tensor

from advcli.frameworks.arithmetic import std_of
from advcli.frameworks.blocks import matrices
from advcli.tensors.segments import Segments


def running_baseline(rewards: Tensor, *, decay: float = 0.95, dtype: str = "float64") -> Tensor:
    """RAE: reward minus a running mean of the rewards before it, b ← decay · b + (1 − decay) · r, from b = 0.

    Args:
        rewards: [N] float, in the order in which they arrived.
        decay: share of the old baseline that stays.
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
    process_var: float = 1e-5,
    meas_var: float = 1e-2,
    eps: float = 1e-8,
    dtype: str = "float32",
) -> Tensor:
    """KRPO: reward minus the estimate of a Kalman filter that has just seen it, over its standard deviation.

        P⁻ = P + Q, K = P⁻ / (P⁻ + R), x ← x + K (r − x), P ← (1 − K) P⁻, A = (r − x) / (√P + eps)

    Each group starts with x = 0 and P = 1 and is run through in the order of its rows.

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, group index.
        process_var: Q.
        meas_var: R.
        eps: added to √P.
        dtype: what the trainer computes in.

    Example:
        >>> [round(a, 4) for a in kalman(torch.tensor([1.0, 0.0]), torch.tensor([0, 0])).tolist()]
        [0.0995, -7.0481]
    """
    r = rewards.to(getattr(torch, dtype))
    out = torch.zeros_like(r)
    for rows in matrices(group, torch.ones_like(group, dtype=torch.bool)):
        state = torch.zeros_like(r[rows[:, 0]])
        # The variance depends on the position only.
        variance = torch.ones((), dtype=r.dtype)
        for column in rows.unbind(dim=1):
            prior = variance + process_var
            gain = prior / (prior + meas_var)
            state = state + gain * (r[column] - state)
            variance = (1 - gain) * prior
            out[column] = (r[column] - state) / (variance.sqrt() + eps)
    return out


def posterior(  # noqa: PLR0913  one knob per rule that differs
    rewards: Tensor,
    group: Tensor,
    step: Tensor,
    *,
    rho: float = 0.875,
    alpha0: float = 0.5,
    beta0: float = 0.5,
    eps: float = 1e-8,
    dtype: str = "float32",
) -> Tensor:
    """SPO: reward minus the mean of the prompt's Beta posterior, whitened over the rows of the step.

        c = r − α / (α + β), A = (c − mean_B c) / (std_B c + eps); then α ← ρα + r, β ← ρβ + 1 − r

    Args:
        rewards: [N] float in [0, 1], NaN where missing.
        group: [N] int64, the prompt of each row, the same in all steps.
        step: [N] int64, step index in the order of the steps.
        rho: how much of the past stays, ρ.
        alpha0: α before the first reward of a prompt.
        beta0: β before it.
        eps: added to the standard deviation (ddof 1).
        dtype: what the trainer computes in.

    Example:
        >>> r, zero = torch.tensor([1.0, 0.0]), torch.tensor([0, 0])
        >>> [round(a, 4) for a in posterior(r, torch.tensor([0, 1]), zero).tolist()]
        [0.7071, -0.7071]
    """
    r = rewards.to(getattr(torch, dtype))
    alpha, beta = torch.full_like(r, alpha0), torch.full_like(r, beta0)
    return _updated(r, group, step, alpha, beta, rho, eps)


def posterior_from_scores(  # noqa: PLR0913  one knob per rule that differs
    rewards: Tensor,
    baselines: Tensor,
    group: Tensor,
    step: Tensor,
    *,
    scores: float = 8.0,
    clip_lower: float = 0.875,
    rho: float = 0.875,
    eps: float = 1e-8,
    dtype: str = "float32",
) -> Tensor:
    """SPO that starts from scores of the prompt: α = N₀ (Σs + ½) / (N + 1), β = N₀ (N − Σs + ½) / (N + 1), N₀ = 1 / (1 − clip_lower).

    Args:
        rewards: [N] float in [0, 1], NaN where missing.
        baselines: [N] float, the share of the prompt's earlier scores above 0.
        group: [N] int64, the prompt of each row, the same in all steps.
        step: [N] int64, step index in the order of the steps.
        scores: how many scores the prompt had, N.
        clip_lower: the smallest ρ that the trainer allows.
        rho: as in `posterior`.
        eps: as in `posterior`.
        dtype: what the trainer computes in.
    """
    r = rewards.to(getattr(torch, dtype))
    weight, solved = 1 / (1 - clip_lower), baselines.to(r.dtype) * scores
    alpha = weight * (solved + 0.5) / (scores + 1)
    beta = weight * (scores - solved + 0.5) / (scores + 1)
    return _updated(r, group, step, alpha, beta, rho, eps)


def _updated(  # noqa: PLR0913  what the rule needs
    r: Tensor, group: Tensor, step: Tensor, alpha: Tensor, beta: Tensor, rho: float, eps: float
) -> Tensor:
    """[N] the advantages; α and β [N] are those of each row's prompt before its first step."""
    prompts = Segments.dense(group)
    first = _first(prompts)
    state = torch.stack([alpha[first], beta[first]])
    out = torch.zeros_like(r)
    for rows in _steps(step):
        of = prompts.index[rows]
        prior = state[:, of]
        centred = r[rows] - prior[0] / prior.sum(dim=0)
        std = std_of(centred.unsqueeze(0), 1, "whole")
        out[rows] = (centred - centred.mean()) / (std[0] + eps)
        for row, prompt in zip(rows.tolist(), of.tolist(), strict=True):
            state[:, prompt] = rho * state[:, prompt] + torch.stack([r[row], 1 - r[row]])
    return out


def _first(prompts: Segments) -> Tensor:
    """[P] the first row of each prompt."""
    rows = torch.arange(prompts.index.numel(), device=prompts.index.device)
    return prompts.min(rows.double()).long() if len(rows) else rows


def _steps(step: Tensor) -> list[Tensor]:
    """The rows of each step, in the order of the steps."""
    order = torch.argsort(step, stable=True)
    _, sizes = torch.unique_consecutive(step[order], return_counts=True)
    return list(order.split(sizes.tolist())) if len(order) else []
