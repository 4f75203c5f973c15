"""CPPO's pruning: keep the rows with the largest |A|."""

from typing import Literal

from torch import Tensor

from advcli.tensors.segments import Segments


def cppo(
    advantages: Tensor,
    group: Tensor,
    step: Tensor,
    *,
    keep: float = 0.5,
    over: Literal["batch", "group"] = "batch",
) -> Tensor:
    """Keep a share of the rows, those with the largest |A|.

    Args:
        advantages: [N] float, finite.
        group: [N] int64, group index in [0, G).
        step: [N] int64, step index in [0, S).
        keep: share of the rows to keep, in [0, 1]; max(1, int(count · keep)) rows, none for 0.
        over: "batch", the rows of a step, or "group".

    Returns:
        [N] bool, True where the row is kept; ties go to the first rows.

    Raises:
        KeyError: unknown `over`.

    Source:
        Lin et al. 2025, CPPO, arXiv:2503.22342: per question in the paper, over the batch in its code.

    Example:
        >>> import torch
        >>> a, one = torch.tensor([0.5, -2.0, 1.0, 0.0]), torch.tensor([0, 0, 0, 0])
        >>> cppo(a, one, one, keep=0.5).tolist()
        [False, True, True, False]
    """
    segments = Segments.of({"batch": step, "group": group}[over])
    quota = (segments.size().double() * keep).long().clamp(min=1 if keep > 0 else 0)
    return segments.rank(-advantages.abs()) < segments.rows(quota)
