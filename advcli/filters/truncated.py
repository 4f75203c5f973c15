"""Drops rows that were cut off at the maximum length."""

from torch import Tensor


def truncated(lengths: Tensor, *, max: float) -> Tensor:
    """Keep the rows that ended before the maximum length.

    Args:
        lengths: [N] float, tokens per row.
        max: the maximum length, in tokens.

    Returns:
        [N] bool, True where the row is shorter than `max`.

    Source:
        Yu et al. 2025, DAPO, arXiv:2503.14476, section 3.4: overlong filtering. Before the statistics as in
        open-instruct, after them as in TRL's mask_truncated_completions, SkyRL and NeMo RL.

    Example:
        >>> import torch
        >>> truncated(torch.tensor([10.0, 512.0]), max=512).tolist()
        [True, False]
    """
    return lengths < max
