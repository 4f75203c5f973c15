"""Row-level arithmetic of trainers: their dtype, eps, rule for groups of one, and order of operations.

These functions reproduce what a trainer did to a batch, including rounding. So they use float32 where the
trainer does, don't special-case dead groups, and may give phantom advantages: the float32 mean of eight rewards of
0.1 is off by one unit in the last place, and dividing that by an eps of 1e-8 gives −0.4.

Rows come as [N] tensors; groups of size n are processed as a matrix [G_n, n], in file order, because torch sums
the rows of a matrix as the trainers do, unlike index_add.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from advcli.common.errors import DataError
from advcli.frameworks.arithmetic.blocks import as_cut, matrices
from advcli.frameworks.arithmetic.whitening import moments, of_rows
from advcli.tensors.segments import Segments


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
    stats: str = "",
    variance: str = "two-pass",
    floor: float = 0.0,
    dead: float = -1.0,
    ragged: str = "key",
    reward_clip: float = 0.0,
    clip: float = 0.0,
) -> Tensor:
    """The GRPO and RLOO families: a centred reward, optionally divided by a standard deviation.

        A_i = c_i / (s + eps)

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, group index.
        step: [N] int64, step index.
        centre: c_i: "raw" r; "mean" r − mean_g; "mean-running" the same with a running sum; "others" r − mean of
            the others, as n/(n−1)·r − n/(n−1)·mean_g; "others-scaled" the same as n/(n−1)·(r − mean_g);
            "others-sum" the same as r − (sum_g − r)/(n − 1); "others-running" the same
            as (n·r − sum_g)/(n − 1) with a running sum; "mean-ratio" (r − mean_g)/(mean_g + eps);
            "mean-ratio-0" (r − mean_g)/mean_g and 0 where mean_g ≤ 0; "batch" r − mean of the step.
        divide: s: "none"; "group" or "batch" (std of all rewards of the step); "group-centred" or
            "batch-centred" (std of the c_i); "batch-whitened", which also subtracts the mean of the c_i of the
            step; "one", s = 1.
        ddof: degrees of freedom taken from the divisor of the variance.
        eps: added to s.
        single: a group of one: "zero", "raw" (the reward itself), "raw-eps" (the reward over 1 + eps, as
            with mean 0 and std 1), "batch" (as if its batch were its group), "dead" (0 if anything is divided,
            whatever the centre), "nan", or "error".
        missing: rows without a reward: "nan" makes their group NaN, "skip" excludes them and gives them 0,
            "zero" gives them the reward 0.
        dtype: "float32", "float64" or "float16", the dtype of the trainer.
        stats: the dtype of the mean and the standard deviation before they are rounded to `dtype`; "" for
            `dtype`.
        variance: "two-pass", as torch computes it for the rows of a matrix; "whole", as torch computes it for a tensor of
            one group (squares in float64 about a mean in `dtype`); "nanmean", a mean of squares times n / (n − ddof);
            "running", with running sums; "one-pass" (sum of squares minus squared sum, both running); "about-0" (of
            values that are centred already).
        floor: smallest variance.
        dead: a group gets 0 if s is at most this.
        ragged: how steps with uneven groups are treated, see `blocks.as_cut`.
        reward_clip: symmetric clamp of the rewards; 0 for none.
        clip: symmetric clamp of the result; 0 for none.

    Returns:
        [N] in `dtype`. NaN where the trainer's own code gives NaN.

    Raises:
        DataError: a group of one, if the trainer rejects it.
    """
    r = _as_trained(rewards, dtype, missing=missing, clip=reward_clip)
    present = ~r.isnan() if missing == "skip" else torch.ones_like(group, dtype=torch.bool)
    group, leftover = as_cut(group, step, ragged)
    # Group statistics are rounded when stored, batch statistics are not.
    stats_dtype = getattr(torch, stats or dtype)
    centred, spread = torch.zeros_like(r, dtype=stats_dtype), torch.ones_like(r, dtype=stats_dtype)
    centred[leftover], spread[leftover] = r[leftover].to(stats_dtype), float(not divide.startswith("group"))
    of_batch = (
        _less_batch_mean(r.to(stats_dtype), step, present)
        if "batch" in (centre, single)
        else r.to(stats_dtype)
    )
    counted, only = present.clone(), _no_matrix(group, step) if divide.startswith("group") else None
    for rows in matrices(group, present & ~leftover):
        values = r[rows]
        alone = rows.shape[1] == 1
        if alone and single == "dead" and divide != "none":
            continue
        if centre in ("batch", "raw") or (single == "batch" and alone):
            centred[rows] = of_batch[rows]
        elif alone:
            first, second = _alone(values, single, eps, divide)
            centred[rows], spread[rows] = first.to(stats_dtype), second.to(stats_dtype)
            # A trainer that skips missing rows gives a single row NaN, skips it too, and finally sets it to 0.
            counted[rows] = missing != "skip"
            continue
        else:
            centred[rows] = _centred(values, centre, eps, stats_dtype)
        if only is not None:
            of = centred[rows] if divide == "group-centred" else values.to(stats_dtype)
            std = std_of(of, ddof, variance, floor)
            if variance == "two-pass":
                # A group that isn't a row of a matrix is reduced like a whole batch.
                std = torch.where(only[rows[:, :1]], std_of(of, ddof, "whole", floor), std)
            spread[rows] = std.to(r.dtype).to(stats_dtype)
    if divide == "batch-whitened":
        among, centred = counted, _less_batch_mean(centred, step, counted)
    else:
        among = present
    if divide.startswith("batch"):
        of = r.to(stats_dtype) if divide == "batch" else centred
        for rows in matrices(step, among):
            spread[rows] = std_of(of[rows], ddof, "whole" if variance == "two-pass" else variance, floor)
    numerator = centred if centre == "batch" else centred.to(r.dtype)
    denominator = spread if divide.startswith("batch") else spread.to(r.dtype)
    divided = numerator if divide == "none" else numerator / (denominator + eps)
    divided = torch.where(denominator <= dead, 0, divided).to(r.dtype)
    return torch.where(present, divided.clamp(-clip, clip) if clip else divided, 0)


def best_only(
    rewards: Tensor,
    group: Tensor,
    *,
    divide: str = "group",
    eps: float,
    variance: str = "whole",
    dtype: str = "float32",
) -> Tensor:
    """Pass@k of verl and EasyR1: the best row gets its lead over the second best, the others get 0.

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, group index.
        divide: "group" or "none".
        eps: added to the standard deviation.
        variance: as in `standardised`.
        dtype: what the trainer computes in.

    Returns:
        [N]; in a tie the first of the best rows counts, with lead 0.

    Raises:
        DataError: a group of one, which the trainers reject.
    """
    r = _as_trained(rewards, dtype)
    out = torch.zeros_like(r)
    for rows in matrices(group):
        if rows.shape[1] == 1:
            raise _refused()
        values = r[rows]
        top = values.topk(2, dim=1)
        lead = top.values[:, :1] - top.values[:, 1:]
        if divide == "group":
            lead = lead / (std_of(values, 1, variance, 0.0) + eps)
        out[rows.gather(1, top.indices[:, :1])] = lead
    return out


def length_baseline(
    rewards: Tensor,
    group: Tensor,
    lengths: Tensor,
    *,
    eps: float = 0.0,
    single: str = "raw",
    dtype: str = "float32",
) -> Tensor:
    """OPO: reward minus the mean of the group weighted by tokens.

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, group index.
        lengths: [N] float, tokens per row.
        eps: added to the tokens of the group.
        single: a group of one: "raw", the reward itself, or "zero", the reward minus its own mean.
        dtype: what the trainer computes in.
    """
    r, weight = _as_trained(rewards, dtype), lengths.to(getattr(torch, dtype))
    out = torch.zeros_like(r)
    for rows in matrices(group):
        values, tokens = r[rows], weight[rows]
        mean = (values * tokens).sum(dim=1, keepdim=True) / (tokens.sum(dim=1, keepdim=True) + eps)
        out[rows] = values if rows.shape[1] == 1 and single == "raw" else values - mean
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
    r = _as_trained(rewards, dtype)
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
    outer: float = 0.0,
    floor: float = 0.0,
    single: str = "raw",
    divide: bool = True,
    shift: bool = True,
    variance: str = "two-pass",
    ragged: str = "key",
    reward_clip: float = 0.0,
    clip: float = 0.0,
    dtype: str = "float32",
) -> Tensor:
    """The REINFORCE++ family: whiten over all tokens of the batch, each row weighted by its tokens.

        A_i = (c_i − Σ L c / Σ L) / (sqrt(max(v, floor) + eps) + outer)

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, group index.
        step: [N] int64, step index.
        lengths: [N] float, tokens per row.
        centre: c_i: "none" the reward, else as in `standardised`, not divided.
        ddof: degrees of freedom, in tokens, taken from the divisor of v.
        eps: added to the variance, inside the root.
        outer: added to the standard deviation, outside the root.
        floor: smallest variance.
        single: a group of one, if centred: "raw", "zero" or "error".
        divide: whether to divide at all.
        shift: whether to subtract the mean of the tokens.
        variance: as in `whitening.moments`.
        ragged: as in `standardised`.
        reward_clip: as in `standardised`.
        clip: symmetric clamp before whitening; 0 for none.
        dtype: what the trainer computes in.
    """
    r = _as_trained(rewards, dtype, clip=reward_clip)
    if centre != "none":
        how = {"centre": centre, "single": single, "dtype": dtype, "ragged": ragged}
        r = standardised(rewards, group, step, divide="none", **how)  # type: ignore[arg-type]
    if clip:
        r = r.clamp(-clip, clip)
    mean, spread = moments(r, lengths, step, *of_rows(r, lengths, step), ddof=ddof, variance=variance)
    steps = Segments.of(step)
    centred = r - steps.rows(mean) if shift else r
    if not divide:
        return centred
    spread = spread.clamp(min=floor) + eps
    return centred / steps.rows(spread.sqrt() + outer) if outer else centred * steps.rows(spread.rsqrt())


def greedy_baseline(rewards: Tensor, baselines: Tensor, *, dtype: str = "float32") -> Tensor:
    """ReMax: reward minus the reward of the greedy response ([N] float both)."""
    r = _as_trained(rewards, dtype)
    return r - baselines.to(r.dtype)


def _as_trained(rewards: Tensor, dtype: str, *, missing: str = "nan", clip: float = 0.0) -> Tensor:
    """The rewards in the trainer's dtype, clamped as it does, with its rule for missing ones."""
    r = rewards.to(getattr(torch, dtype))
    r = r.clamp(-clip, clip) if clip else r
    return r.nan_to_num(nan=0.0) if missing == "zero" else r


def _alone(values: Tensor, single: str, eps: float, divide: str) -> tuple[Tensor, Tensor]:
    """Centred reward and spread of groups of one, [G, 1] each."""
    if single == "error":
        raise _refused()
    one = torch.ones_like(values)
    exactly = one - eps if divide != "none" else one
    table = {
        "zero": (torch.zeros_like(values), one),
        "dead": (torch.zeros_like(values), one),
        "raw": (values, exactly),
        "raw-eps": (values, one),
        "nan": (torch.full_like(values, torch.nan), one),
    }
    return table[single]


def _less_batch_mean(values: Tensor, step: Tensor, present: Tensor) -> Tensor:
    """[N] each value minus the mean of its step."""
    centred = torch.zeros_like(values)
    for rows in matrices(step, present):
        centred[rows] = values[rows] - _mean(values[rows])
    return centred


def _no_matrix(group: Tensor, step: Tensor) -> Tensor:
    """[N] bool, True if the groups of a row's step don't form a matrix of several rows: there is only one, or sizes differ."""
    steps, number = Segments.of(step), group.double()
    sizes = torch.unique(group, return_inverse=True, return_counts=True)
    size = sizes[2][sizes[1]].double()
    one, even = (steps.min(column) == steps.max(column) for column in (number, size))
    return steps.rows(one | ~even)


def _refused() -> DataError:
    return DataError(
        "a group has one row, which this trainer rejects",
        hint="--singleton null without --like, or other groups",
    )


def _mean(values: Tensor) -> Tensor:
    return values.mean(dim=1, keepdim=True)


def _centred(values: Tensor, centre: str, eps: float, stats_dtype: torch.dtype) -> Tensor:
    """[G, n] → [G, n] minus the baseline, which is computed in the dtype of the statistics and rounded."""
    if stats_dtype == values.dtype:
        return _CENTRES[centre](values, eps)
    wide = values.to(stats_dtype)
    return wide - (wide - _CENTRES[centre](wide, eps)).to(values.dtype)


def _running_sum(values: Tensor) -> Tensor:
    """[G, n] → [G, 1] sequential sum, rounded after each addition, as in torch.bincount."""
    total = torch.zeros_like(values[:, :1])
    for column in values.unsqueeze(2).unbind(dim=1):
        total = total + column
    return total


_CENTRES: dict[str, Callable[[Tensor, float], Tensor]] = {
    "mean": lambda values, eps: values - _mean(values),
    "mean-running": lambda values, eps: values - _running_sum(values) / values.shape[1],
    # Multiply first, then divide, as the trainers do: the rounding differs.
    "others": lambda values, eps: (
        values * values.shape[1] / (values.shape[1] - 1)
        - _mean(values) * values.shape[1] / (values.shape[1] - 1)
    ),
    "others-scaled": lambda values, eps: (values - _mean(values)) * (values.shape[1] / (values.shape[1] - 1)),
    "others-sum": lambda values, eps: (
        values - (values.sum(dim=1, keepdim=True) - values) / (values.shape[1] - 1)
    ),
    "others-running": lambda values, eps: (
        (values * values.shape[1] - _running_sum(values)) / (values.shape[1] - 1)
    ),
    "mean-ratio": lambda values, eps: (values - _mean(values)) / (_mean(values) + eps),
    "mean-ratio-0": lambda values, eps: torch.where(
        _mean(values) <= 0, torch.zeros_like(values), (values - _mean(values)) / _mean(values)
    ),
}


def std_of(values: Tensor, ddof: int = 1, variance: str = "whole", floor: float = 0.0) -> Tensor:
    """[S, n] → [S, 1] standard deviation of each row, 0 for a single value; the knobs are those of `standardised`."""
    n = values.shape[1]
    if n == 1:
        return torch.zeros_like(values)
    if variance == "two-pass" and not floor:
        return values.std(dim=1, keepdim=True, correction=ddof)
    return _VARIANCES[variance](values, max(n - ddof, 1)).clamp(min=floor).sqrt().to(values.dtype)


_VARIANCES: dict[str, Callable[[Tensor, int], Tensor]] = {
    "two-pass": lambda values, many: ((values - _mean(values)) ** 2).sum(dim=1, keepdim=True) / many,
    "one-pass": lambda values, many: (
        (_running_sum(values**2) - _running_sum(values) ** 2 / values.shape[1]) / many
    ),
    "whole": lambda values, many: (
        ((values.double() - _mean(values).double()) ** 2).sum(dim=1, keepdim=True) / many
    ),
    "nanmean": lambda values, many: _mean((values - _mean(values)) ** 2) * (values.shape[1] / many),
    "running": lambda values, many: (
        _running_sum((values - _running_sum(values) / values.shape[1]) ** 2) / many
    ),
    "about-0": lambda values, many: (values**2).sum(dim=1, keepdim=True) / many,
}
