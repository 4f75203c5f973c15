"""Mean and variance over the tokens of a step, as trainers take them: of a padded matrix, in their dtype.

Where the rewards of a step lie far from 0 and close together, the float32 sum of the whole matrix decides the first digits of
the result, so that matrix is laid out. Elsewhere sums in float64, rounded once, give the same digits for less.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from advcli.tensors.segments import Segments

Sheet = Callable[[Tensor], tuple[Tensor, Tensor]]
"""Row numbers of one step → [B, T] the values, 0 where there is none, and [B, T] bool, where there is one."""

# Standard deviations between the mean and 0 beyond which a float32 sum is felt, by the kind of variance.
_FELT: Mapping[str, float] = {
    "two-pass": 4.0,
    "two-pass by token": 4.0,
    "flat": 4.0,
    "flat by token": 4.0,
    "one-pass": 0.5,
}
# Numbers of the largest matrix that is laid out, 256 MB in float32.
_LARGEST = 1 << 26


def moments(  # noqa: PLR0913  what decides a digit
    values: Tensor,
    weight: Tensor,
    step: Tensor,
    sheet: Sheet,
    cells: Tensor,
    *,
    ddof: int = 1,
    variance: str = "two-pass",
) -> tuple[Tensor, Tensor]:
    """Mean and variance of each step.

    Args:
        values: [N] float, a value per row or per token, in the trainer's dtype.
        weight: [N] float, how many tokens have it.
        step: [N] int64, step index.
        sheet: lays out the matrix of a step.
        cells: [S] int64, numbers of that matrix, padding included.
        ddof: degrees of freedom, in tokens, taken from the divisor of the variance.
        variance: "two-pass", "one-pass" (mean of squares minus square of the mean) or "flat" (as torch has it for the
            values in a row, padding left out); with " by token", of a matrix in which the first tokens of all rows come first.

    Returns:
        [S] and [S], dtype of `values`. NaN where a value is NaN, and where there are `ddof` tokens or fewer.
    """
    steps, wide = Segments.of(step), weight.double()
    tokens = steps.sum(wide)
    mean = (steps.sum(values.double() * wide) / tokens).to(values.dtype)
    centred = (values - steps.rows(mean)).double()
    spread = (steps.sum(centred**2 * wide) / (tokens - ddof)).to(values.dtype)
    felt = (mean.abs() > _FELT[variance] * spread.sqrt()) & (cells <= _LARGEST)
    order = torch.argsort(step, stable=True)
    ends = torch.cumsum(steps.size(), dim=0)
    for position in torch.nonzero(felt).flatten().tolist():
        laid, there = sheet(order[int(ends[position] - steps.size()[position]) : int(ends[position])])
        mean[position], spread[position] = _MOMENTS[variance](laid, there, ddof)
    return mean, spread


def of_rows(values: Tensor, lengths: Tensor, step: Tensor) -> tuple[Sheet, Tensor]:
    """The matrix of rows that have one value at each of their tokens, and the size of each.

    Args:
        values: [N] float.
        lengths: [N] float, tokens per row.
        step: [N] int64, step index.
    """

    def laid(rows: Tensor) -> tuple[Tensor, Tensor]:
        size = lengths[rows].long()
        there = torch.arange(int(size.max()), device=size.device) < size.unsqueeze(1)
        return torch.where(there, values[rows].unsqueeze(1), 0.0), there

    steps = Segments.of(step)
    return laid, steps.size() * steps.max(lengths.nan_to_num(nan=0.0)).clamp(min=0).long()


def of_tokens(values: Tensor, row: Tensor, place: Tensor, step: Tensor) -> tuple[Sheet, Tensor]:
    """The matrix of tokens, each where it stands in its row, and the size of each.

    Args:
        values: [T] float.
        row: [T] int64, ascending, the row of each token.
        place: [T] int64, position in its row.
        step: [T] int64, step index.
    """

    def laid(tokens: Tensor) -> tuple[Tensor, Tensor]:
        _, line = torch.unique_consecutive(row[tokens], return_inverse=True)
        shape = (int(line.max()) + 1, int(place[tokens].max()) + 1)
        there = torch.zeros(shape, dtype=torch.bool, device=row.device)
        there[line, place[tokens]] = True
        result = values.new_zeros(shape)
        result[line, place[tokens]] = values[tokens]
        return result, there

    steps = Segments.of(step)
    first = torch.ones_like(row)
    first[1:] = (row[1:] != row[:-1]).long()
    rows = torch.zeros(steps.count, dtype=torch.int64, device=row.device).index_add_(0, step, first)
    return laid, rows * (steps.max(place.double()).clamp(min=0).long() + 1)


def _two_pass(values: Tensor, there: Tensor, ddof: int) -> tuple[Tensor, Tensor]:
    tokens = there.sum()
    mean = values.sum() / tokens
    spread = ((values - mean) ** 2 * there).sum() / tokens
    return mean, spread * (tokens / (tokens - ddof)) if ddof else spread


def _one_pass(values: Tensor, there: Tensor, ddof: int) -> tuple[Tensor, Tensor]:
    flat, tokens = values[there], there.sum()
    mean = flat.sum() / tokens
    return mean, ((flat**2).sum() / tokens - mean**2) * (tokens / (tokens - ddof))


def _flat(values: Tensor, there: Tensor, ddof: int) -> tuple[Tensor, Tensor]:
    flat = values[there]
    return flat.mean(), flat.var(correction=ddof)


_Moments = Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]


def _by_token(moments_of: _Moments) -> _Moments:
    return lambda values, there, ddof: moments_of(values.T.contiguous(), there.T.contiguous(), ddof)


_MOMENTS: Mapping[str, _Moments] = {
    "two-pass": _two_pass,
    "two-pass by token": _by_token(_two_pass),
    "one-pass": _one_pass,
    "flat": _flat,
    "flat by token": _by_token(_flat),
}
