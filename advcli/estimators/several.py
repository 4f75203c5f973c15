"""Estimators that normalize each of several rewards separately."""

import torch
from torch import Tensor

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

    So a reward counts by its weight, and not by how far it spreads. The paper also subtracts the mean of s
    over the step: it is 0, as every z_k has mean 0 in its group, and so a group in which every reward is
    dead stays at exactly 0. A part that is missing (NaN or ±inf) is left out of its group's mean and
    standard deviation, and adds 0 to s; so does a part that only one row of the group has.

    Args:
        parts: [N, K] float, K rewards per row, each in a unit of its own.
        weights: [K] float, the weight of each reward; not normalised.
        group: [N] int64, group index in [0, G).
        step: [N] int64, step index in [0, S); a group lies in one step.
        ddof: degrees of freedom taken from the divisor of both variances.
        eps: added to the standard deviation of a reward in the group, in its unit. TRL has 1e-4.
        batch_eps: added to the standard deviation of s, which has no unit. TRL has 1e-4.

    Returns:
        [N], dtype and device of `parts`. NaN in groups of one, and where a row has no part that another
        row of its group has too; these rows do not count in the step.

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
    present = torch.isfinite(parts)
    kinds = torch.arange(parts.shape[1], device=group.device)
    kind_of_group = Segments.dense((group.unsqueeze(1) * len(kinds) + kinds)[present])
    scores = Spread.of(parts[present], kind_of_group).scores(ddof, eps)
    normalised = torch.full_like(parts, torch.nan).masked_scatter(
        present, kind_of_group.nan_if_single(scores)
    )
    rows = normalised.isfinite().any(dim=1)
    total = (normalised.nan_to_num(nan=0.0) * weights).sum(dim=1)[rows]
    groups = Segments.of(group)
    batch = Segments.batch(groups.rows(groups.parent(step))[rows])
    return filled(rows, Spread.about_zero(total, batch).scores(ddof, batch_eps))
