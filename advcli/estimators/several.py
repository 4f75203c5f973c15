"""Estimators that normalize each of several rewards separately."""

import torch
from torch import Tensor

from advcli.common.errors import UsageError
from advcli.tensors.masks import filled
from advcli.tensors.segments import Segments, Spread


def gdpo(  # noqa: PLR0913  four columns
    parts: Tensor,
    weights: Tensor,
    group: Tensor,
    step: Tensor,
    *,
    ddof: int = 1,
    eps: float = 0.0,
    batch_eps: float = 0.0,
) -> Tensor:
    """Each reward normalised in its group, summed with weights, and the sum normalised over the step.

        z_ki = (r_ki − mean_g r_k) / (std_g r_k + eps), s_i = Σ_k w_k z_ki, A_i = s_i / (std_B s + batch_eps)

    So a reward counts by its weight, not by its spread. The paper also subtracts the mean of s over the step;
    it is 0, because every z_k has mean 0 in its group, so a group in which every reward is dead stays at
    exactly 0. A missing part (NaN or ±inf) is excluded from its group's mean and standard deviation and adds 0
    to s; so does a part that only one row of the group has.

    Args:
        parts: [N, K] float, K rewards per row, each in its own unit.
        weights: [K] float, the weight of each reward; not normalised.
        group: [N] int64, group index in [0, G).
        step: [N] int64, step index in [0, S); a group lies in one step.
        ddof: degrees of freedom taken from the divisor of both variances.
        eps: added to the standard deviation of a reward in the group, in its unit. TRL has 1e-4.
        batch_eps: added to the standard deviation of s, which has no unit. TRL has 1e-4.

    Returns:
        [N], dtype and device of `parts`. NaN in groups of one, and for rows without a part that another row of
        the group has too; these rows don't count in the step.

    Raises:
        IndexError: the columns differ in length.

    Source:
        Liu et al. 2026, GDPO, arXiv:2601.05242; missing parts as in TRL, trl/trainer/grpo_trainer.py.

    Example:
        >>> parts = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
        >>> one = torch.zeros(4, dtype=torch.int64)
        >>> [round(a, 3) for a in gdpo(parts, torch.ones(2), one, one).tolist()]
        [0.0, 1.225, -1.225, 0.0]
    """
    total, rows = _summed(parts, weights, group, ddof, eps)
    groups = Segments.of(group)
    batch = Segments.batch(groups.rows(groups.parent(step))[rows])
    return filled(rows, Spread.about_zero(total, batch).scores(ddof, batch_eps))


def gdpo_sum(parts: Tensor, weights: Tensor, group: Tensor, *, ddof: int = 1, eps: float = 0.0) -> Tensor:
    """Each reward normalised in its group, summed with weights: `gdpo` without the normalisation over the step.

        A_i = Σ_k w_k (r_ki − mean_g r_k) / (std_g r_k + eps)

    Args:
        parts: [N, K] float, K rewards per row, each in its own unit.
        weights: [K] float, the weight of each reward; not normalised.
        group: [N] int64, group index in [0, G).
        ddof: degrees of freedom taken from the divisor of the variance.
        eps: added to the standard deviation of a reward in the group, in its unit.

    Returns:
        [N], dtype and device of `parts`. NaN in groups of one, and for rows without a part that another row of the group
        has too.

    Raises:
        IndexError: the columns differ in length.

    Source:
        Liu et al. 2026, GDPO, arXiv:2601.05242, without its last step.

    Example:
        >>> parts = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
        >>> advantages = gdpo_sum(parts, torch.ones(2), torch.zeros(4, dtype=torch.int64))
        >>> [round(a, 3) for a in advantages.tolist()]
        [0.0, 1.732, -1.732, 0.0]
    """
    total, rows = _summed(parts, weights, group, ddof, eps)
    return filled(rows, total)


def papo(
    parts: Tensor,
    weights: Tensor,
    group: Tensor,
    *,
    threshold: float = 0.5,
    ddof: int = 1,
    eps: float = 0.0,
) -> Tensor:
    """The outcome normalised over the group, and for right rows the process reward normalised over the right rows.

        A_i = w_1 (o_i − mean_g o) / (std_g o + eps) + w_2 (p_i − mean_right p) / (std_right p + eps) for o_i ≥ threshold

    So an all-right group still has a signal, and a wrong row gains nothing from a good process. The second term is 0 with
    fewer than two right rows, and for a row without a process reward.

    Args:
        parts: [N, 2] float, the outcome and the process reward of each row.
        weights: [2] float, the weight of each term.
        group: [N] int64, group index in [0, G).
        threshold: lowest outcome of a right row.
        ddof: degrees of freedom taken from the divisor of both variances.
        eps: added to both standard deviations, in the unit of each reward.

    Returns:
        [N], dtype and device of `parts`. NaN in groups of one, and in rows without an outcome.

    Raises:
        UsageError: there are not two rewards per row.

    Source:
        Tan et al. 2026, PAPO, arXiv:2603.26535, the decoupled normalisation; the abstract gives no eps.

    Example:
        >>> parts = torch.tensor([[1.0, 0.9], [1.0, 0.1], [0.0, 0.8], [0.0, 0.2]])
        >>> advantages = papo(parts, torch.ones(2), torch.zeros(4, dtype=torch.int64))
        >>> [round(a, 3) for a in advantages.tolist()]
        [1.573, 0.159, -0.866, -0.866]
    """
    if parts.shape[1] != 2:
        raise UsageError(
            f"papo takes two rewards, the outcome and the process, and there are {parts.shape[1]}",
            hint="--reward OUTCOME --reward PROCESS",
        )
    outcome, process = parts.unbind(dim=1)
    rows = outcome.isfinite()
    total = filled(rows, _scores(outcome, group, rows, ddof, eps))
    right = rows & (outcome >= threshold) & process.isfinite()
    bonus = filled(right, _scores(process, group, right, ddof, eps)).nan_to_num(nan=0.0)
    return weights[0] * total + weights[1] * bonus


def _scores(values: Tensor, group: Tensor, rows: Tensor, ddof: int, eps: float) -> Tensor:
    """Z-scores of some rows within their group; NaN if there is only one."""
    groups = Segments.dense(group[rows])
    return groups.nan_if_single(Spread.of(values[rows], groups).scores(ddof, eps))


def _summed(parts: Tensor, weights: Tensor, group: Tensor, ddof: int, eps: float) -> tuple[Tensor, Tensor]:
    """Σ_k w_k z_ki of the rows with any z, and [N] bool, which rows those are."""
    present = torch.isfinite(parts)
    kinds = torch.arange(parts.shape[1], device=group.device)
    kind_of_group = Segments.dense((group.unsqueeze(1) * len(kinds) + kinds)[present])
    scores = Spread.of(parts[present], kind_of_group).scores(ddof, eps)
    normalised = torch.full_like(parts, torch.nan).masked_scatter(
        present, kind_of_group.nan_if_single(scores)
    )
    rows = normalised.isfinite().any(dim=1)
    total = (normalised.nan_to_num(nan=0.0) * weights).sum(dim=1)[rows]
    return total, rows
