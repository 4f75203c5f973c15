"""GFPO: keep the k shortest rows of each group, or the k with the most reward per token."""

from typing import Literal

from torch import Tensor

from advcli.tensors.segments import Segments, divide


def gfpo(
    rewards: Tensor,
    lengths: Tensor,
    group: Tensor,
    *,
    k: int = 4,
    by: Literal["length", "efficiency"] = "length",
) -> Tensor:
    """Keep k rows of each group.

    Args:
        rewards: [N] float, finite, in the unit of the dump.
        lengths: [N] float, tokens per row.
        group: [N] int64, group index in [0, G).
        k: rows to keep per group; smaller groups are kept whole.
        by: "length" keeps the shortest, "efficiency" those with the largest reward per token.

    Returns:
        [N] bool, True where the row is kept; ties go to the first rows. A row without tokens has efficiency 0.

    Raises:
        KeyError: unknown `by`.

    Source:
        Shrivastava et al. 2025, GFPO, arXiv:2508.09726, algorithm 1.

    Example:
        >>> import torch
        >>> r, tokens, g = (
        ...     torch.tensor([1.0, 1.0, 0.0]),
        ...     torch.tensor([30.0, 10.0, 20.0]),
        ...     torch.tensor([0, 0, 0]),
        ... )
        >>> gfpo(r, tokens, g, k=2).tolist(), gfpo(r, tokens, g, k=2, by="efficiency").tolist()
        ([False, True, True], [True, True, False])
    """
    tokens = lengths.to(rewards.dtype)
    order = {"length": tokens, "efficiency": -divide(rewards, tokens)}[by]
    return Segments.of(group).rank(order) < k
