"""Token-level arithmetic of trainers, in their dtype and order of operations.

All columns are [T], as in `estimators.tokens`, flattened row by row: the tokens written by the policy, or with `counted` all
up to the last of those.
"""

import torch
from torch import Tensor

from advcli.frameworks.arithmetic.per_row import standardised
from advcli.frameworks.arithmetic.whitening import moments, of_tokens
from advcli.tensors.segments import Segments


def gae(  # noqa: PLR0913  one knob per rule that differs between trainers
    rewards: Tensor,
    values: Tensor,
    row: Tensor,
    place: Tensor,
    step: Tensor,
    *,
    gamma: float,
    lam: float,
    whiten: bool = True,
    ddof: int = 1,
    eps: float = 0.0,
    outer: float = 0.0,
    variance: str = "two-pass",
    dtype: str = "float32",
) -> Tensor:
    """Generalised advantage estimation over the tokens of the policy, whitened over those of the batch.

    Args:
        rewards: [T] float, reward of each token.
        values: [T] float, the critic's value at each token.
        row: [T] int64, ascending, the row of each token.
        place: [T] int64, position of each token in its row, with the tokens that a tool wrote counted.
        step: [T] int64, step index of each token.
        gamma: discount γ.
        lam: λ.
        whiten: whether to whiten.
        ddof: as in `whitened`.
        eps: as in `whitened`.
        outer: as in `whitened`.
        variance: as in `whitened`.
        dtype: what the trainer computes in.

    Returns:
        [T] in `dtype`.
    """
    r, v = (column.to(getattr(torch, dtype)) for column in (rewards, values))
    advantages = _gae(r, v, row, gamma, lam)
    if not whiten:
        return advantages
    return whitened(advantages, row, place, step, ddof=ddof, eps=eps, outer=outer, variance=variance)


def gae_through_gaps(  # noqa: PLR0913  one knob per rule that differs between trainers
    rewards: Tensor,
    values: Tensor,
    row: Tensor,
    place: Tensor,
    step: Tensor,
    counted: Tensor,
    *,
    gamma: float,
    lam: float,
    zero: bool = False,
    peek: bool = False,
    clip: float = 0.0,
    whiten: bool = True,
    ddof: int = 1,
    eps: float,
    floor: float = 0.0,
    variance: str = "two-pass",
    dtype: str = "float32",
) -> Tensor:
    """Generalised advantage estimation over all tokens of a row, including tool tokens.

    Args:
        rewards: [T] float, reward of each token.
        values: [T] float, the critic's value at each token.
        row: [T] int64, ascending, the row of each token.
        place: [T] int64, position of each token in its row.
        step: [T] int64, step index of each token.
        counted: [T] bool, the tokens of the policy, over which whitening runs.
        gamma: discount γ.
        lam: λ.
        zero: whether the value of tool tokens is 0.
        peek: whether only tokens of the policy are summed, while δ still uses the value of the next token, even a tool's.
        clip: symmetric clamp of the rewards; 0 for none.
        whiten: whether to whiten.
        ddof: as in `whitened`.
        eps: as in `whitened`.
        floor: as in `whitened`.
        variance: as in `whitened`.
        dtype: what the trainer computes in.

    Returns:
        [T] in `dtype`.
    """
    r, v = (column.to(getattr(torch, dtype)) for column in (rewards, values))
    r = r.clamp(-clip, clip) if clip else r
    v = torch.where(counted, v, 0.0 if zero else v.nan_to_num(nan=0.0))
    if peek:
        advantages = torch.zeros_like(r)
        advantages[counted] = backwards(_deltas(r, v, row, gamma)[counted], row[counted], gamma * lam)
    else:
        advantages = _gae(r, v, row, gamma, lam)
    if not whiten:
        return advantages
    return whitened(advantages, row, place, step, counted, ddof=ddof, eps=eps, floor=floor, variance=variance)


def _gae(rewards: Tensor, values: Tensor, row: Tensor, gamma: float, lam: float) -> Tensor:
    return backwards(_deltas(rewards, values, row, gamma), row, gamma * lam)


def _deltas(rewards: Tensor, values: Tensor, row: Tensor, gamma: float) -> Tensor:
    following = torch.zeros_like(values)
    following[:-1] = torch.where(row[1:] == row[:-1], values[1:], 0.0)
    return rewards + gamma * following - values


def backwards(values: Tensor, row: Tensor, factor: float | Tensor) -> Tensor:
    """Σ_k factor^k · v_{t+k} over each token and the later ones of its row, summed from last to first as in trainers.

    Args:
        values: [T] float.
        row: [T] int64, ascending, the row of each token.
        factor: the weight of the next token, one number or [T].

    Example:
        >>> backwards(torch.tensor([0.0, 1.0, 4.0, 8.0]), torch.tensor([0, 0, 0, 1]), 0.5).tolist()
        [1.5, 3.0, 4.0, 8.0]
    """
    result = values.clone()
    _, counts = torch.unique_consecutive(row, return_counts=True)
    sizes, order = counts.sort(descending=True)
    last = torch.cumsum(counts, dim=0)[order] - 1
    # Rows are sorted by length, so those with a token at distance `back` from the end come first.
    longer = (len(sizes) - torch.cumsum(torch.bincount(sizes), dim=0)).tolist()
    for back, rows in enumerate(longer[1:], start=1):
        at = last[:rows] - back
        result[at] = values[at] + (factor[at] if isinstance(factor, Tensor) else factor) * result[at + 1]
    return result


def returns(  # noqa: PLR0913  what the rule needs
    rewards: Tensor,
    row: Tensor,
    place: Tensor,
    step: Tensor,
    *,
    gamma: float = 1.0,
    gaps: str = "skip",
    variance: str = "two-pass",
    dtype: str = "float32",
) -> Tensor:
    """REINFORCE++: the discounted return of each token, whitened over the tokens of the batch.

    Args:
        rewards: [T] float, reward of each token.
        row: [T] int64, ascending, the row of each token.
        place: [T] int64, position of each token in its row, with the tokens that a tool wrote counted.
        step: [T] int64, step index of each token.
        gamma: discount γ.
        gaps: at tool tokens, "skip" skips them, "reset" resets the return to 0 as in verl before 0.9.
        variance: as in `whitened`.
        dtype: what the trainer computes in.

    Returns:
        [T] in `dtype`.
    """
    r = rewards.to(getattr(torch, dtype))
    piece = row if gaps == "skip" else _pieces(row, place)
    return whitened(backwards(r, piece, gamma), row, place, step, eps=1e-8, variance=variance)


def less_kl(  # noqa: PLR0913  one knob per rule that differs
    rewards: Tensor,
    token_kl: Tensor,
    row: Tensor,
    place: Tensor,
    group: Tensor,
    step: Tensor,
    *,
    centre: str,
    single: str,
    ragged: str = "key",
    ddof: int = 1,
    eps: float,
    floor: float = 0.0,
    variance: str = "two-pass",
    dtype: str = "float32",
) -> Tensor:
    """The reward minus its baseline and the KL of each token, whitened over the tokens of the batch.

    Args:
        rewards: [T] float, the reward of the row on its last token.
        token_kl: [T] float, the KL subtracted at each token.
        row: [T] int64, ascending, the row of each token.
        place: [T] int64, position of each token in its row.
        group: [T] int64, group index of each token.
        step: [T] int64, step index of each token.
        centre: as in `arithmetic.standardised`.
        single: as in `arithmetic.standardised`.
        ragged: as in `arithmetic.standardised`.
        ddof: as in `whitened`.
        eps: as in `whitened`.
        floor: as in `whitened`.
        variance: as in `whitened`.
        dtype: what the trainer computes in.

    Returns:
        [T] in `dtype`.
    """
    rows = Segments.of(row)
    outcome = standardised(
        rows.sum(rewards),
        rows.parent(group),
        rows.parent(step),
        centre=centre,
        divide="none",
        single=single,
        ragged=ragged,
        dtype=dtype,
    )
    advantages = rows.rows(outcome) - token_kl.to(outcome.dtype)
    return whitened(advantages, row, place, step, ddof=ddof, eps=eps, floor=floor, variance=variance)


def greedy_baseline(rewards: Tensor, baselines: Tensor, row: Tensor, *, dtype: str = "float32") -> Tensor:
    """ReMax of verl: the undiscounted return of each token minus the reward of the greedy response.

    Args:
        rewards: [T] float, reward of each token.
        baselines: [T] float, the greedy reward of the row's prompt.
        row: [T] int64, ascending, the row of each token.
        dtype: what the trainer computes in.
    """
    r = rewards.to(getattr(torch, dtype))
    return backwards(r, row, 1.0) - baselines.to(r.dtype)


def token_baseline(  # noqa: PLR0913  what the rule needs
    rewards: Tensor,
    log_probs: Tensor,
    sum_pi_squared: Tensor,
    row: Tensor,
    place: Tensor,
    group: Tensor,
    *,
    packed: bool = False,
    dtype: str = "float32",
) -> Tensor:
    """The optimal token baseline of verl: return minus the weighted mean return at that position in the group.

    Args:
        rewards: [T] float, reward of each token.
        log_probs: [T] float, log-probability of each token.
        sum_pi_squared: [T] float, sum of the squared probabilities at each token.
        row: [T] int64, ascending, the row of each token.
        place: [T] int64, position of each token in its row, with the tokens that a tool wrote counted.
        group: [T] int64, group index of each token.
        packed: whether positions count tokens of the policy only, as in the tool-use variant.
        dtype: what the trainer computes in.

    Returns:
        [T] in `dtype`; the return itself where only one row of the group reaches the position.
    """
    r, lp, squares = (x.to(getattr(torch, dtype)) for x in (rewards, log_probs, sum_pi_squared))
    rows = Segments.of(row)
    reward_to_go = backwards(r, row, 1.0)
    weight = rows.cumsum(1 - 2 * lp.exp() + squares)
    at = rows.position() if packed else place
    peers = Segments.dense(group * (int(at.max()) + 1) + at if len(at) else at)
    baseline = peers.sum(reward_to_go * weight) / (peers.sum(weight) + 1e-8)
    return reward_to_go - torch.where(_lonely_tail(rows, group, at), 0.0, peers.rows(baseline))


def _lonely_tail(rows: Segments, group: Tensor, at: Tensor) -> Tensor:
    """[T] bool, where the unique longest row of a group extends beyond the second longest.

    Lengths count tokens of the policy, even where positions include tool tokens.
    """
    if not len(at):
        return at > 0
    groups = Segments.dense(rows.parent(group))
    size = rows.size().double()
    last = groups.rank(size) == groups.rows(groups.size()) - 1
    second = groups.max(torch.where(last, -torch.inf, size)).clamp(min=0)
    longest = size > groups.rows(second)
    return rows.rows(longest) & (at >= rows.rows(groups.rows(second)))


def after_baseline(  # noqa: PLR0913  one knob per rule that differs
    rewards: Tensor,
    token_kl: Tensor,
    row: Tensor,
    place: Tensor,
    group: Tensor,
    step: Tensor,
    counted: Tensor,
    *,
    gamma: float = 1.0,
    whiten: bool = False,
    divide_by_std: bool = True,
    dtype: str = "float32",
    **rule: float | str,
) -> Tensor:
    """OpenRLHF: the KL of each token is subtracted after the baseline, and summed from the last token on.

    Args:
        rewards: [T] float, the reward of the row on the last token of the policy.
        token_kl: [T] float, the KL subtracted at each token.
        row: [T] int64, ascending, the row of each token.
        place: [T] int64, position of each token in its row.
        group: [T] int64, group index of each token.
        step: [T] int64, step index of each token.
        counted: [T] bool, the tokens of the policy. The discount continues over the others.
        gamma: discount γ.
        whiten: whether to whiten over the tokens of the batch, with ddof 0.
        divide_by_std: False to subtract the mean only (`no_std_norm`).
        dtype: what the trainer computes in.
        **rule: knobs of `arithmetic.standardised`, which computes the advantage of the row.

    Returns:
        [T] in `dtype`.
    """
    rows = Segments.of(row)
    outcome = standardised(rows.sum(rewards), rows.parent(group), rows.parent(step), dtype=dtype, **rule)  # type: ignore[arg-type]
    # Half precision applies to the reward, not to the KL.
    outcome = outcome.to(torch.promote_types(outcome.dtype, torch.float32))
    last = rows.rows(rows.max(torch.where(counted, place, -1).double())) == place
    r = torch.where(last, rows.rows(outcome), 0.0) - token_kl.to(outcome.dtype)
    advantages = backwards(r, row, gamma)
    if not whiten:
        return advantages
    return whitened(advantages, row, place, step, counted, ddof=0, floor=1e-8, divide=divide_by_std)


def whitened(  # noqa: PLR0913  one knob per rule that differs
    values: Tensor,
    row: Tensor,
    place: Tensor,
    step: Tensor,
    counted: Tensor | None = None,
    *,
    ddof: int = 1,
    eps: float = 0.0,
    floor: float = 0.0,
    outer: float = 0.0,
    divide: bool = True,
    variance: str = "two-pass",
) -> Tensor:
    """(x − mean) / (√(max(variance, floor) + eps) + outer), mean and variance over the tokens of each step, [T].

    Args:
        values: [T] float.
        row: [T] int64, ascending, the row of each token.
        place: [T] int64, position of each token in its row.
        step: [T] int64, step index of each token.
        counted: [T] bool, the tokens used for mean and variance; None for all.
        ddof: degrees of freedom taken from the tokens.
        eps: added to the variance, inside the root.
        floor: smallest variance.
        outer: added to the standard deviation, outside the root.
        divide: whether to divide.
        variance: as in `whitening.moments`.

    Example:
        >>> zero = torch.tensor([0, 0])
        >>> whitened(torch.tensor([1.0, 3.0]), zero, torch.tensor([0, 1]), zero, ddof=0).tolist()
        [-1.0, 1.0]
    """
    among = torch.ones_like(row, dtype=torch.bool) if counted is None else counted
    of = (values[among], row[among], place[among], step[among])
    mean, spread = moments(
        of[0], torch.ones_like(of[0]), of[3], *of_tokens(*of), ddof=ddof, variance=variance
    )
    steps = Segments.of(step)
    centred = values - steps.rows(mean)
    if not divide:
        return centred
    spread = spread.clamp(min=floor) + eps
    return centred / steps.rows(spread.sqrt() + outer) if outer else centred * steps.rows(spread.rsqrt())


def _pieces(row: Tensor, position: Tensor) -> Tensor:
    """[T] the index of the contiguous stretch of each token."""
    starts = torch.zeros_like(row)
    starts[1:] = ((row[1:] != row[:-1]) | (position[1:] != position[:-1] + 1)).long()
    return starts.cumsum(dim=0)
