"""The layout of trainers: groups as rows of a matrix, and their treatment of uneven groups."""

from collections.abc import Iterator

import torch
from torch import Tensor

from advcli.tensors.masks import chosen, every
from advcli.tensors.segments import Segments


def matrices(index: Tensor, present: Tensor | None = None) -> Iterator[Tensor]:
    """For each segment size n, the row numbers of the segments of that size, [S_n, n].

    Args:
        index: [N] int64, segment of each row.
        present: [N] bool, the rows to use; None for all.

    Example:
        >>> for rows in matrices(torch.tensor([0, 1, 0, 2])):
        ...     print(rows.tolist())
        [[1], [3]]
        [[0, 2]]
    """
    order, segment = torch.arange(len(index), device=index.device), index
    if present is None or every(present):
        blocks = Segments.of(index)
        if blocks.width is not None:
            yield order.view(blocks.count, blocks.width)
            return
    else:
        order, segment = order[present], chosen(index, present)
    # Rows are usually sorted by group already.
    if bool((segment[1:] < segment[:-1]).any()):
        order = order[torch.argsort(segment, stable=True)]
        segment = index[order]
    _, sizes = torch.unique_consecutive(segment, return_counts=True)
    starts = torch.cumsum(sizes, dim=0) - sizes
    for size in torch.unique(sizes).tolist():
        first = starts[sizes == size]
        yield order[first.unsqueeze(1) + torch.arange(size, device=index.device)]


def as_cut(group: Tensor, step: Tensor, ragged: str) -> tuple[Tensor, Tensor]:
    """The groups of a trainer that groups by position, for steps with uneven groups.

    Steps with groups of equal size are unchanged: there position and key agree.

    Args:
        group: [N] int64, group index.
        step: [N] int64, step index.
        ragged: "key" changes nothing; "batch" makes such a step one group; "cut" splits its rows, in file order, by
            the size of the largest group, and leftover rows belong to no group.

    Returns:
        [N] int64, the group index, and [N] bool, the leftover rows.

    Example:
        >>> group, step = torch.tensor([0, 0, 0, 1, 1]), torch.zeros(5, dtype=torch.int64)
        >>> as_cut(group, step, "cut")[1].tolist()
        [False, False, False, True, True]
    """
    none = torch.zeros_like(group, dtype=torch.bool)
    if ragged == "key" or not len(group):
        return group, none
    sizes = Segments.of(group).rows(Segments.of(group).size()).double()
    steps = Segments.of(step)
    uneven = steps.rows(steps.max(sizes)) != steps.rows(steps.min(sizes))
    if ragged == "batch":
        return torch.where(uneven, -1 - step, group), none
    position = steps.rank(torch.zeros_like(step, dtype=torch.float64))
    place = torch.div(position, sizes.max(), rounding_mode="floor")
    whole = torch.div(steps.rows(steps.size()), sizes.max(), rounding_mode="floor")
    cut = -1 - step - (int(step.max()) + 1) * place.long()
    return torch.where(uneven, cut, group), uneven & (place >= whole)
