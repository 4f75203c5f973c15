"""The arithmetic of trainers: their dtype, their eps, their rule for groups of one, in their order.

These functions repeat what a trainer did to a batch, rounding included. So they work in float32 where the
trainer does, look for no dead groups, and may give phantom advantages: eight rewards of 0.1 have a float32
mean that is off by one unit in the last place, and dividing that by an eps of 1e-8 gives −0.4.

Rows come as [N] tensors; a group is a matrix [G_n, n] of the rows of all groups of size n, in file order,
because torch sums a matrix as the trainers do, and not as an index_add.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from advcli.errors import DataError
from advcli.segments import Segments


def standardised(  # noqa: PLR0913  one knob per rule that differs between trainers
    rewards: Tensor,
    group: Tensor,
    step: Tensor,
    *,
    centre: str = "mean",
    divide: str = "group",
    ddof: int = 1,
    eps: float = 0.0,
    single: str = "zero",
    missing: str = "nan",
    dtype: str = "float32",
    variance: str = "two-pass",
    floor: float = 0.0,
    clip: float = 0.0,
) -> Tensor:
    """The GRPO and RLOO families: a centred reward, perhaps divided by a standard deviation.

        A_i = c_i / (s + eps)

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, group index.
        step: [N] int64, step index.
        centre: c_i: "none" r; "mean" r − mean_g; "others" r − mean of the others, as n/(n−1)·(r − mean_g);
            "others-sum" the same as r − (sum_g − r)/(n − 1); "others-running" the same
            as (n·r − sum_g)/(n − 1) with a running sum; "mean-ratio" (r − mean_g)/(mean_g + eps);
            "mean-ratio-0" (r − mean_g)/mean_g and 0 where mean_g ≤ 0; "batch" r − mean of the step.
        divide: s: "none", "group", "batch" (std of all rewards of the step), "group-centred" or
            "batch-centred" (std of the c_i).
        ddof: degrees of freedom taken from the divisor of the variance.
        eps: added to s.
        single: a group of one: "zero", "raw" (the reward itself), "raw-eps" (the reward over 1 + eps, as
            with mean 0 and std 1), "batch" (as if its batch were its group), "nan", or "error".
        missing: rows without a reward: "nan" makes their group NaN, "skip" leaves them out and gives
            them 0, "zero" gives them the reward 0.
        dtype: "float32", "float64" or "float16", what the trainer computes in.
        variance: "two-pass", or "one-pass" (mean of squares minus square of the mean).
        floor: smallest variance.
        clip: symmetric clamp of the result; 0 for none.

    Returns:
        [N] in `dtype`. NaN where the trainer's own code gives NaN.

    Raises:
        DataError: a group of one, and the trainer refuses it.
    """
    r = _as_trained(rewards, missing, dtype)
    present = ~r.isnan() if missing == "skip" else torch.ones_like(group, dtype=torch.bool)
    out = torch.zeros_like(r)
    centred = torch.zeros_like(r)
    spread = torch.ones_like(r)
    of_batch = _less_batch_mean(r, step, present) if "batch" in (centre, single) else r
    for rows in matrices(group, present):
        values = r[rows]
        if centre == "batch" or (single == "batch" and rows.shape[1] == 1):
            centred[rows] = of_batch[rows]
            continue
        if rows.shape[1] == 1:
            centred[rows], spread[rows] = _alone(values, single, eps, divide)
            continue
        centred[rows] = _CENTRES[centre](values, eps)
        if divide in ("group", "group-centred"):
            of = values if divide == "group" else centred[rows]
            spread[rows] = _std(of, ddof, variance, floor)
    if divide in ("batch", "batch-centred"):
        of = r if divide == "batch" else centred
        for rows in matrices(step, present):
            spread[rows] = _std(of[rows], ddof, variance, floor)
    divided = centred if divide == "none" else centred / (spread + eps)
    if clip:
        divided = divided.clamp(-clip, clip)
    return torch.where(present, divided, out)


def best_only(
    rewards: Tensor, group: Tensor, *, divide: str = "group", eps: float = 1e-6, dtype: str = "float32"
) -> Tensor:
    """Pass@k of verl and EasyR1: the best row gets its lead over the second best, the others 0.

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, group index.
        divide: "group" or "none".
        eps: added to the standard deviation.
        dtype: what the trainer computes in.

    Returns:
        [N]; the first of several best rows is the best one, and its lead is 0.

    Raises:
        DataError: a group of one, which the trainers refuse.
    """
    r = _as_trained(rewards, "nan", dtype)
    out = torch.zeros_like(r)
    for rows in matrices(group, torch.ones_like(group, dtype=torch.bool)):
        if rows.shape[1] == 1:
            raise _refused()
        values = r[rows]
        top = values.topk(2, dim=1)
        lead = top.values[:, :1] - top.values[:, 1:]
        if divide == "group":
            lead = lead / (values.std(dim=1, keepdim=True) + eps)
        out[rows.gather(1, top.indices[:, :1])] = lead
    return out


def length_baseline(rewards: Tensor, group: Tensor, lengths: Tensor, *, dtype: str = "float32") -> Tensor:
    """OPO of verl: reward minus the mean of the group weighted by tokens; raw in a group of one.

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, group index.
        lengths: [N] float, tokens per row.
        dtype: what the trainer computes in.
    """
    r, weight = _as_trained(rewards, "nan", dtype), lengths.to(getattr(torch, dtype))
    out = torch.zeros_like(r)
    for rows in matrices(group, torch.ones_like(group, dtype=torch.bool)):
        values, tokens = r[rows], weight[rows]
        mean = (values * tokens).sum(dim=1, keepdim=True) / tokens.sum(dim=1, keepdim=True)
        out[rows] = values - mean if rows.shape[1] > 1 else values
    return out


def nonzero_ratio(rewards: Tensor, group: Tensor, step: Tensor, *, dtype: str = "float32") -> Tensor:
    """GPG of verl: α·(r − mean_g), α = rows of the batch / rows with a reward other than 0.

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, group index.
        step: [N] int64, step index.
        dtype: what the trainer computes in.
    """
    centred = standardised(rewards, group, step, divide="none", single="raw", dtype=dtype)
    r = _as_trained(rewards, "nan", dtype)
    steps = Segments.of(step)
    alpha = steps.size().to(r.dtype) / steps.sum((r != 0).to(r.dtype)).clamp(min=1)
    return steps.rows(alpha) * centred


def whitened(  # noqa: PLR0913  as above
    rewards: Tensor,
    group: Tensor,
    step: Tensor,
    lengths: Tensor,
    *,
    centre: str = "none",
    ddof: int = 1,
    eps: float = 1e-8,
    floor: float = 0.0,
    single: str = "raw",
    divide: bool = True,
    clip: float = 0.0,
    dtype: str = "float32",
) -> Tensor:
    """The REINFORCE++ family: whiten over all tokens of the batch, each row weighed by its tokens.

        A_i = (c_i − Σ L c / Σ L) / sqrt(max(v, floor) + eps)

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, group index.
        step: [N] int64, step index.
        lengths: [N] float, tokens per row.
        centre: c_i: "none" the reward, "mean" the reward minus the mean of its group.
        ddof: degrees of freedom, in tokens, taken from the divisor of v.
        eps: added to the variance, inside the root.
        floor: smallest variance.
        single: a group of one when centred: "raw", "zero" or "error".
        divide: whether to divide at all.
        clip: symmetric clamp before whitening; 0 for none.
        dtype: what the trainer computes in.
    """
    r = _as_trained(rewards, "nan", dtype)
    if centre == "mean":
        r = standardised(rewards, group, step, divide="none", single=single, dtype=dtype)
    if clip:
        r = r.clamp(-clip, clip)
    weight = lengths.to(r.dtype)
    steps = Segments.of(step)
    tokens = steps.sum(weight)
    mean = steps.sum(r * weight) / tokens
    centred = r - steps.rows(mean)
    variance = steps.sum(centred**2 * weight) / (tokens - ddof)
    root = torch.sqrt(variance.clamp(min=floor) + eps) if divide else torch.ones_like(variance)
    return centred / steps.rows(root)


def leave_one_out(rewards: Tensor, group: Tensor, *, eps: float = 1e-6, dtype: str = "float32") -> Tensor:
    """NeMo-RL's default: mean and standard deviation of the other rows; not divided where that std is 0.

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, group index.
        eps: added to the standard deviation.
        dtype: what the trainer computes in.
    """
    r = _as_trained(rewards, "nan", dtype)
    out = torch.zeros_like(r)
    for rows in matrices(group, torch.ones_like(group, dtype=torch.bool)):
        n = rows.shape[1]
        if n == 1:
            continue
        values = r[rows]
        mean = (values.sum(dim=1, keepdim=True) - values) / (n - 1)
        square = ((values**2).sum(dim=1, keepdim=True) - values**2) / (n - 1)
        std = ((square - mean**2) * (n - 1) / max(n - 2, 1)).clamp(min=0).sqrt() if n > 2 else mean * 0
        low, high = _others_extremes(values)
        std = torch.where(low == high, 0.0, std)
        out[rows] = torch.where(std > 0, (values - mean) / (std + eps), values - mean)
    return out


def greedy_baseline(rewards: Tensor, baselines: Tensor, *, dtype: str = "float32") -> Tensor:
    """ReMax: reward minus the reward of the greedy response ([N] float both)."""
    r = _as_trained(rewards, "nan", dtype)
    return r - baselines.to(r.dtype)


def matrices(index: Tensor, present: Tensor) -> Iterator[Tensor]:
    """Row numbers of all segments of one size, as [S_n, n]; one matrix per size.

    Example:
        >>> for rows in matrices(torch.tensor([0, 1, 0, 2]), torch.tensor([True] * 4)):
        ...     print(rows.tolist())
        [[1], [3]]
        [[0, 2]]
    """
    kept = torch.nonzero(present).squeeze(1)
    order = kept[torch.argsort(index[kept], stable=True)]
    _, sizes = torch.unique_consecutive(index[order], return_counts=True)
    starts = torch.cumsum(sizes, dim=0) - sizes
    for size in torch.unique(sizes).tolist():
        first = starts[sizes == size]
        yield order[first.unsqueeze(1) + torch.arange(size, device=index.device)]


def _as_trained(rewards: Tensor, missing: str, dtype: str) -> Tensor:
    """The rewards in the trainer's dtype, with its rule for missing ones."""
    r = rewards.to(getattr(torch, dtype))
    return r.nan_to_num(nan=0.0) if missing == "zero" else r


def _alone(values: Tensor, single: str, eps: float, divide: str) -> tuple[Tensor, Tensor]:
    """Centred reward and spread of groups of one, [G, 1] each."""
    if single == "error":
        raise _refused()
    one = torch.ones_like(values)
    exactly = one - eps if divide != "none" else one
    table = {
        "zero": (torch.zeros_like(values), one),
        "raw": (values, exactly),
        "raw-eps": (values, one),
        "nan": (torch.full_like(values, torch.nan), one),
    }
    return table[single]


def _less_batch_mean(r: Tensor, step: Tensor, present: Tensor) -> Tensor:
    """[N] each reward minus the mean of its step."""
    centred = torch.zeros_like(r)
    for rows in matrices(step, present):
        centred[rows] = r[rows] - _mean(r[rows])
    return centred


def _refused() -> DataError:
    return DataError(
        "a group has one row, which this trainer refuses",
        hint="--singleton null without --like, or other groups",
    )


def _mean(values: Tensor) -> Tensor:
    return values.mean(dim=1, keepdim=True)


def _running_sum(values: Tensor) -> Tensor:
    """[G, n] → [G, 1] sum, row after row and rounding each time, as torch.bincount makes it."""
    total = torch.zeros_like(values[:, :1])
    for column in values.unsqueeze(2).unbind(dim=1):
        total = total + column
    return total


_CENTRES: dict[str, Callable[[Tensor, float], Tensor]] = {
    "none": lambda values, eps: values,
    "mean": lambda values, eps: values - _mean(values),
    # Multiplied first and divided second, as the trainers write it: the rounding differs.
    "others": lambda values, eps: (
        values * values.shape[1] / (values.shape[1] - 1)
        - _mean(values) * values.shape[1] / (values.shape[1] - 1)
    ),
    "others-sum": lambda values, eps: (
        values - (values.sum(dim=1, keepdim=True) - values) / (values.shape[1] - 1)
    ),
    "others-running": lambda values, eps: (
        (values * values.shape[1] - _running_sum(values)) / (values.shape[1] - 1)
    ),
    "mean-ratio": lambda values, eps: (values - _mean(values)) / (_mean(values) + eps),
    "mean-ratio-0": lambda values, eps: torch.where(
        _mean(values) > 0, (values - _mean(values)) / _mean(values), torch.zeros_like(values)
    ),
}


def _std(values: Tensor, ddof: int, variance: str, floor: float) -> Tensor:
    """[S, n] → [S, 1] standard deviation; 0 for a single value."""
    n = values.shape[1]
    if n == 1:
        return torch.zeros_like(values)
    if variance == "two-pass" and not floor:
        return values.std(dim=1, keepdim=True, correction=ddof)
    if variance == "one-pass":
        square = (values**2).sum(dim=1, keepdim=True) - values.sum(dim=1, keepdim=True) ** 2 / n
        return (square / max(n - ddof, 1)).clamp(min=floor).sqrt()
    return values.var(dim=1, keepdim=True, correction=ddof).clamp(min=floor).sqrt()


def _others_extremes(values: Tensor) -> tuple[Tensor, Tensor]:
    """Smallest and largest value of the other columns of each row, [G, n] each."""
    n = values.shape[1]
    sort = values.sort(dim=1)
    place = sort.indices.argsort(dim=1)
    low = torch.where(place == 0, sort.values[:, 1:2], sort.values[:, :1])
    high = torch.where(place == n - 1, sort.values[:, -2:-1], sort.values[:, -1:])
    return low, high
