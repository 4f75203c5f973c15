"""Dynamic sampling: drop groups without signal."""

from typing import Literal

from torch import Tensor

from advcli.tensors.segments import Segments


def dynamic_sampling(
    rewards: Tensor,
    group: Tensor,
    *,
    by: Literal["spread", "mean"] = "spread",
    low: float = 0.0,
    high: float = 1.0,
) -> Tensor:
    """Keep the groups whose rewards differ, or whose mean lies between two bounds.

    Args:
        rewards: [N] float, finite, in the unit of the dump.
        group: [N] int64, group index in [0, G).
        by: "spread" keeps groups with max > min, equivalent to a standard deviation above 0 but free of rounding;
            "mean" keeps groups with low < mean < high.
        low: lower bound of the mean, exclusive.
        high: upper bound of the mean, exclusive.

    Returns:
        [N] bool, True where the row is kept. A group of one has no spread.

    Raises:
        KeyError: unknown `by`.

    Source:
        Yu et al. 2025, DAPO, arXiv:2503.14476, section 3.2; bounds on the mean as in OpenRLHF and EasyR1.

    Example:
        >>> import torch
        >>> r, g = torch.tensor([1.0, 0.0, 1.0, 1.0]), torch.tensor([0, 0, 1, 1])
        >>> dynamic_sampling(r, g).tolist()
        [True, True, False, False]
    """
    groups = Segments.of(group)
    tests = {
        "spread": lambda: groups.max(rewards) > groups.min(rewards),
        "mean": lambda: (groups.mean(rewards) > low) & (groups.mean(rewards) < high),
    }
    kept: Tensor = groups.rows(tests[by]())
    return kept
