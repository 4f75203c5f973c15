"""Arithmetic of trainers that give the turns within one row different advantages.

All columns are [T], as in `frameworks.per_token`, including tool tokens; `counted` marks the tokens of the policy.
"""

import torch
from torch import Tensor

from advcli.common.errors import DataError, UsageError
from advcli.frameworks.arithmetic.per_token import backwards, whitened
from advcli.frameworks.arithmetic.turns import moments
from advcli.tensors.segments import Segments

_PARTS = 3


def gae_carried(  # noqa: PLR0913  one knob per rule that differs between trainers
    rewards: Tensor,
    values: Tensor,
    row: Tensor,
    place: Tensor,
    step: Tensor,
    counted: Tensor,
    *,
    gamma: float,
    lam: float,
    lam_value: float,
    lam_policy: float,
    alpha: float,
    whiten: float,
    returns: bool = False,
) -> Tensor:
    """NeMo-RL: GAE over the tokens of the policy, with separate λ for the policy (VAPO) and the critic (VC-PPO).

    Args:
        rewards: [T] float, the reward of the row on the last token of the policy.
        values: [T] float, the critic's value at each token.
        row: [T] int64, ascending.
        place: [T] int64, position in the row.
        step: [T] int64.
        counted: [T] bool.
        gamma: discount γ.
        lam: λ.
        lam_value: λ of the returns; below 0 for `lam`.
        lam_policy: λ of the advantages; below 0 for `lam`.
        alpha: above 0 the λ of the advantages is 1 − 1/max(1, α · trained tokens of the row) instead.
        whiten: 0 for no whitening.
        returns: whether to return the returns instead of the advantages.

    Returns:
        [T] float32. A tool token has advantage 0; its return is its own value plus the advantage of the next policy token.
    """
    r, v = rewards.float(), values.float()
    rows = Segments.of(row)
    policy = torch.full_like(v, lam if lam_policy < 0 else lam_policy)
    if alpha > 0:
        tokens = rows.rows(rows.sum(counted.double()))
        policy = (1 - 1 / (alpha * tokens).clamp(min=1)).float()
    if returns:
        policy = torch.full_like(v, lam if lam_value < 0 else lam_value)
    advantages = v.new_zeros(v.shape)
    written, of = torch.nonzero(counted).squeeze(1), row[counted]
    following = torch.zeros_like(v[written])
    following[:-1] = torch.where(of[1:] == of[:-1], v[written][1:], 0.0)
    delta = r[written] + gamma * following - v[written]
    advantages[written] = backwards(delta, of, gamma * policy[written])
    if returns:
        return v + _carried(advantages, row, counted)
    if not whiten:
        return advantages
    white = whitened(advantages, row, place, step, counted, eps=1e-8) if len(written) else advantages
    return torch.where(counted, white, 0.0)


def _carried(values: Tensor, row: Tensor, counted: Tensor) -> Tensor:
    """[T] the values; tokens that are not counted get that of the next counted token of the row, or 0."""
    at = torch.arange(len(row))
    following = torch.where(counted, at, len(row)).flip(0).cummin(dim=0).values.flip(0) if len(row) else at
    inside = following < len(row)
    result = following.clamp(max=max(len(row) - 1, 0))
    return torch.where(inside & (row[result] == row), values[result], 0.0)


def bi_level_gae(  # noqa: PLR0913  what the rule needs
    token_rewards: Tensor,
    values: Tensor,
    row: Tensor,
    place: Tensor,
    step: Tensor,
    counted: Tensor,
    *,
    gamma: float,
    lam: float,
    high_gamma: float,
    returns: bool = False,
) -> Tensor:
    """RAGEN: GAE over the turns first, whose result is the reward of each turn in a GAE over its tokens.

    Args:
        token_rewards: [T] float; a token whose reward is not 0 ends a turn.
        values: [T] float, the critic's value at each token.
        row: [T] int64, ascending.
        place: [T] int64, position in the row.
        step: [T] int64.
        counted: [T] bool.
        gamma: discount γ within a turn.
        lam: λ of both.
        high_gamma: discount from turn to turn.
        returns: whether to return the returns instead of the advantages.

    Returns:
        [T] float32, the advantages whitened over the tokens of the policy.

    Raises:
        DataError: the last token of the policy has no reward, on which the trainer fails.
    """
    r, v = token_rewards.float(), values.float()
    ends = r != 0
    _refuse_open_turns(row, counted, ends)
    advantages, result = torch.zeros_like(r), torch.zeros_like(r)
    advantages[ends] = _gae(r[ends], v[ends], row[ends], high_gamma, lam)
    result[ends] = advantages[ends] + v[ends]
    reward = torch.where(ends, result, r)
    turn = row + torch.cumsum(torch.cat([ends.new_zeros(1), ends[:-1]]).long(), dim=0) if len(row) else row
    advantages[counted] = _gae(reward[counted], v[counted], turn[counted], gamma, lam)
    result[counted] = advantages[counted] + v[counted]
    return result if returns else whitened(advantages, row, place, step, counted, eps=1e-8)


def _gae(rewards: Tensor, values: Tensor, piece: Tensor, gamma: float, lam: float) -> Tensor:
    following = torch.zeros_like(values)
    following[:-1] = torch.where(piece[1:] == piece[:-1], values[1:], 0.0)
    return backwards(rewards + gamma * following - values, piece, gamma * lam)


def _refuse_open_turns(row: Tensor, counted: Tensor, ends: Tensor) -> None:
    of = row[counted]
    last = torch.ones_like(of, dtype=torch.bool)
    last[:-1] = of[1:] != of[:-1]
    open_ = of[last & ~ends[counted]]
    if len(open_):
        raise DataError(
            f"row {int(open_[0]) + 1}: its last token that the policy wrote has reward 0, where ragen stops",
            hint="--token-rewards-col with a reward at the end of each turn",
        )


def mt_grpo(  # noqa: PLR0913  what the rule needs
    parts: Tensor,
    group: Tensor,
    row: Tensor,
    place: Tensor,
    counted: Tensor,
    segment: Tensor,
    *,
    weight: float,
    eps: float = 1e-4,
) -> Tensor:
    """Multi-Turn-RL-Agent: z-scores of the turn, outcome and combined rewards, for tokens before, after and without a result.

    Args:
        parts: [T, 3] float, the rewards of the turn, of the outcome, and both combined.
        group: [T] int64.
        row: [T] int64, ascending.
        place: [T] int64, position in the row.
        counted: [T] bool; a stretch of equal values is a segment.
        segment: [T] float, which segment of the row is the tool result; below 0 or NaN for none.
        weight: weight of the turn's score on the tokens before the result.
        eps: added to the standard deviations, ddof 1.

    Returns:
        [T] float32; NaN in groups of one.

    Raises:
        UsageError: there are not three rewards.
    """
    if parts.shape[1] != _PARTS:
        raise UsageError(
            f"mt_grpo takes three rewards (of the turn, of the outcome, and both combined), not {parts.shape[1]}",
            hint="--reward TURN --reward OUTCOME --reward BOTH",
        )
    first = place == 0
    scores = []
    for part in parts.float().unbind(dim=1):
        mean, std, size = moments(part, group, among=first)
        scores.append(torch.where(size > 1, (part - mean) / (std + eps), torch.nan))
    turn, outcome, combined = scores
    changes = torch.zeros_like(row)
    changes[1:] = ((counted[1:] != counted[:-1]) & (row[1:] == row[:-1])).long()
    total = torch.cumsum(changes, dim=0)
    number = total - Segments.of(row).rows(Segments.of(row).min(total.double())).long()
    before = torch.where(number < segment, outcome + weight * turn, outcome)
    return torch.where(segment >= 0, before, combined)
