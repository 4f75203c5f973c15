"""Mean and variance over the tokens of a step, as trainers compute them: over a padded matrix, in their dtype.

If the rewards of a step are far from 0 and close together, the rounding of the float32 sum over the whole matrix affects the
leading digits of the result, so the matrix is built. Otherwise float64 sums, rounded once, give the same digits faster.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from advcli.tensors.segments import Segments

Sheet = Callable[[Tensor], tuple[Tensor, Tensor]]
"""Row numbers of one step → [B, T] the padded values, and [B, T] bool, False for padding."""

# If |mean| exceeds this many standard deviations, float32 rounding matters; by kind of variance.
_SENSITIVE: Mapping[str, float] = {
    "two-pass": 4.0,
    "two-pass by token": 4.0,
    "flat": 4.0,
    "flat by token": 4.0,
    "one-pass": 0.5,
}
# Cells of the largest matrix to build, 256 MB in float32.
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
        weight: [N] float, the number of tokens with that value.
        step: [N] int64, step index.
        sheet: builds the matrix of a step.
        cells: [S] int64, number of cells of that matrix, including padding.
        ddof: degrees of freedom, in tokens, taken from the divisor of the variance.
        variance: "two-pass", "one-pass" (mean of squares minus squared mean) or "flat" (as torch computes it for the
            flattened values without padding); with " by token", of the transposed matrix.

    Returns:
        [S] and [S], dtype of `values`. NaN where a value is NaN, and with `ddof` tokens or fewer.
    """
    steps, wide = Segments.of(step), weight.double()
    tokens = steps.sum(wide)
    mean = (steps.sum(values.double() * wide) / tokens).to(values.dtype)
    centred = (values - steps.rows(mean)).double()
    spread = (steps.sum(centred**2 * wide) / (tokens - ddof)).to(values.dtype)
    sensitive = (mean.abs() > _SENSITIVE[variance] * spread.sqrt()) & (cells <= _LARGEST)
    order = torch.argsort(step, stable=True)
    ends = torch.cumsum(steps.size(), dim=0)
    for position in torch.nonzero(sensitive).flatten().tolist():
        matrix, present = sheet(order[int(ends[position] - steps.size()[position]) : int(ends[position])])
        mean[position], spread[position] = _MOMENTS[variance](matrix, present, ddof)
    return mean, spread


def of_rows(values: Tensor, lengths: Tensor, step: Tensor) -> tuple[Sheet, Tensor]:
    """Matrices with the value of each row repeated for its tokens, and their numbers of cells.

    Args:
        values: [N] float.
        lengths: [N] float, tokens per row.
        step: [N] int64, step index.
    """

    def build(rows: Tensor) -> tuple[Tensor, Tensor]:
        size = lengths[rows].long()
        present = torch.arange(int(size.max()), device=size.device) < size.unsqueeze(1)
        return torch.where(present, values[rows].unsqueeze(1), 0.0), present

    steps = Segments.of(step)
    return build, steps.size() * steps.max(lengths.nan_to_num(nan=0.0)).clamp(min=0).long()


def of_tokens(values: Tensor, row: Tensor, place: Tensor, step: Tensor) -> tuple[Sheet, Tensor]:
    """Matrices of tokens at their positions in the row, and their numbers of cells.

    Args:
        values: [T] float.
        row: [T] int64, ascending, the row of each token.
        place: [T] int64, position in its row.
        step: [T] int64, step index.
    """

    def build(tokens: Tensor) -> tuple[Tensor, Tensor]:
        _, line = torch.unique_consecutive(row[tokens], return_inverse=True)
        shape = (int(line.max()) + 1, int(place[tokens].max()) + 1)
        present = torch.zeros(shape, dtype=torch.bool, device=row.device)
        present[line, place[tokens]] = True
        result = values.new_zeros(shape)
        result[line, place[tokens]] = values[tokens]
        return result, present

    steps = Segments.of(step)
    first = torch.ones_like(row)
    first[1:] = (row[1:] != row[:-1]).long()
    rows = torch.zeros(steps.count, dtype=torch.int64, device=row.device).index_add_(0, step, first)
    return build, rows * (steps.max(place.double()).clamp(min=0).long() + 1)


def _two_pass(values: Tensor, present: Tensor, ddof: int) -> tuple[Tensor, Tensor]:
    tokens = present.sum()
    mean = values.sum() / tokens
    spread = ((values - mean) ** 2 * present).sum() / tokens
    return mean, spread * (tokens / (tokens - ddof)) if ddof else spread


def _one_pass(values: Tensor, present: Tensor, ddof: int) -> tuple[Tensor, Tensor]:
    flat, tokens = values[present], present.sum()
    mean = flat.sum() / tokens
    return mean, ((flat**2).sum() / tokens - mean**2) * (tokens / (tokens - ddof))


def _flat(values: Tensor, present: Tensor, ddof: int) -> tuple[Tensor, Tensor]:
    flat = values[present]
    return flat.mean(), flat.var(correction=ddof)


_Moments = Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]


def _by_token(moments_of: _Moments) -> _Moments:
    return lambda values, present, ddof: moments_of(values.T.contiguous(), present.T.contiguous(), ddof)


_MOMENTS: Mapping[str, _Moments] = {
    "two-pass": _two_pass,
    "two-pass by token": _by_token(_two_pass),
    "one-pass": _one_pass,
    "flat": _flat,
    "flat by token": _by_token(_flat),
}
