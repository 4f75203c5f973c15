"""Returns, baselines and credit of turns, without states; the columns are those of `frameworks.turns`."""

from typing import Literal

import torch
from torch import Tensor

from advcli.frameworks.arithmetic.per_row import standardised
from advcli.frameworks.arithmetic.turns import moments, returns
from advcli.tensors.turns import Turns, paired, progress, same_turns

Returns = Literal["sum", "max"]
Credit = Literal["immediate", "return_to_go"]


def turn_returns(
    rewards: Tensor, rollout: Tensor, *, gamma: float, how: Returns = "sum", dtype: str = "float32"
) -> Tensor:
    """The discounted return of each turn, in row order, or its largest discounted reward.

    Args:
        rewards: [N] float, 0 where missing.
        rollout: [N] int64.
        gamma: discount γ.
        how: "sum", or "max" for M_t = max(r_t, γ M_{t+1}).
        dtype: what the trainer computes in.
    """
    r = rewards.nan_to_num(nan=0.0).to(getattr(torch, dtype))
    turns = Turns.of(rollout)
    if how == "sum":
        return returns(r, turns, gamma)
    result, position = r[turns.order].clone(), turns.rollouts.position()
    back = turns.rollouts.rows(turns.rollouts.size()) - 1 - position
    for place in range(1, int(back.max()) + 1 if len(back) else 0):
        at = torch.nonzero(back == place).squeeze(1)
        result[at] = torch.maximum(result[at], gamma * result[at + 1])
    return turns.put_back(result)


def step_reward(  # noqa: PLR0913  what the two proposals set
    rewards: Tensor,
    group: Tensor,
    rollout: Tensor,
    *,
    gamma: float,
    how: Returns = "sum",
    normalise: float = 1.0,
    eps: float = 1e-8,
) -> Tensor:
    """verifiers: the return of each turn compared with all turns of its group, in float64 with ddof 0.

    Args:
        rewards: [N] float, 0 where missing.
        group: [N] int64, the prompt.
        rollout: [N] int64.
        gamma: discount γ.
        how: as in `turn_returns`.
        normalise: 0 for the raw returns.
        eps: added to the standard deviation.
    """
    to_go = turn_returns(rewards, rollout, gamma=gamma, how=how, dtype="float64")
    if not normalise:
        return to_go
    mean, std, _ = moments(to_go, group, ddof=0)
    return (to_go - mean) / (std + eps)


def others_at_turn(
    rewards: Tensor, group: Tensor, turn: Tensor, *, divide: bool, eps: float = 1e-4
) -> Tensor:
    """PipelineRL: the reward minus the mean of the group's other rows at the same turn, in float64.

    Args:
        rewards: [N] float.
        group: [N] int64.
        turn: [N] float, the number of the turn.
        divide: whether to divide by the standard deviation over all rows at that turn, ddof 1.
        eps: added to the standard deviation.

    Returns:
        [N] float64; 0 if no other rollout of the group has that turn.
    """
    r = rewards.double()
    mean, std, size = moments(r, same_turns(group, turn))
    others = (mean * size - r) / (size - 1)
    centred = torch.where(size > 1, r - others, 0)
    return centred / (std + eps) if divide else centred


def turn_level_z(
    rewards: Tensor, group: Tensor, rollout: Tensor, turn: Tensor, episode: Tensor, *, weight: float
) -> Tensor:
    """atropos: each turn compared with the same turn of the group's rollouts (0 for those that ended earlier), plus the outcome.

        A_{i,τ} = (r_{i,τ} − m_τ)/s_τ + weight · (S_i − m)/s, ddof 0, s = 1 where it is 0

    Args:
        rewards: [N] float, the reward of each turn.
        group: [N] int64.
        rollout: [N] int64.
        turn: [N] float, the order of the turns.
        episode: [N] float, the outcome.
        weight: weight of the outcome.

    Returns:
        [N] float64.
    """
    turns = Turns.of(rollout, turn)
    r, position = rewards.double(), turns.position
    begins = position == 0
    mean, std, count = moments(episode.double(), group, among=begins, ddof=0)
    outcome = (episode.double() - mean) / torch.where(std == 0, 1, std)
    _, _, size = moments(r, paired(group, position))
    at = paired(group, position)
    total, squares = r.new_zeros(len(r)), r.new_zeros(len(r))
    total.index_add_(0, at, r)
    average = total[at] / count
    squares.index_add_(0, at, (r - average) ** 2)
    # Rollouts that ended earlier count as 0.
    variance = (squares[at] + (count - size) * average**2) / count
    spread = variance.sqrt()
    return (r - average) / torch.where(spread == 0, 1, spread) + weight * outcome


def turn_credit(  # noqa: PLR0913  what the rule needs
    rewards: Tensor,
    group: Tensor,
    rollout: Tensor,
    turn: Tensor,
    episode: Tensor,
    lengths: Tensor,
    input_tokens: Tensor,
    *,
    gamma: float,
    beta: float,
    output_weight: float,
    input_weight: float,
    turns_weight: float,
) -> Tensor:
    """prime-rl: the level of the rollout, plus progress of a state score credited to the turns that led to it.

        A_{i,t} = L_i − mean L + beta · (c_t − c̄), L_i = S_i − penalty_i + Σ Δ_i

    Args:
        rewards: [N] float, the score of the state after each turn, NaN where it was not scored.
        group: [N] int64.
        rollout: [N] int64.
        turn: [N] float, the order of the turns.
        episode: [N] float, the final reward S.
        lengths: [N] float, trained tokens of each turn.
        input_tokens: [N] float, tokens of the prompt and the environment.
        gamma: discount of the credit for earlier turns.
        beta: weight of the credit.
        output_weight: weight of the length penalty on trained tokens; each penalty is relative to the group's largest, times
            the group's mean reward.
        input_weight: the same for the other tokens.
        turns_weight: the same for the turns.

    Returns:
        [N] float64.
    """
    turns = Turns.of(rollout, turn)
    delta, credit = progress(rewards.double(), turns, gamma)
    score, begins = episode.double(), turns.position == 0
    weights = (output_weight, input_weight, turns_weight)
    if any(weights):
        sums = (turns.total(lengths.double()), turns.total(input_tokens.double()), turns.count.double())
        mean, _, _ = moments(score, group, among=begins)
        penalty = sum(
            weight * used / _group_max(used, group).clamp(min=1)
            for weight, used in zip(weights, sums, strict=True)
        )
        score = score - mean * penalty
    level = score + turns.total(delta)
    mean, _, _ = moments(level, group, among=begins)
    average = turns.total(credit * lengths) / turns.total(lengths.double())
    return level - mean + beta * (credit - average.nan_to_num(nan=0.0))


def _group_max(values: Tensor, group: Tensor) -> Tensor:
    segment = torch.unique(group, return_inverse=True)[1]
    most = values.new_full((len(values),), -torch.inf)
    return most.scatter_reduce_(0, segment, values, reduce="amax")[segment]


def turn_level_credit(  # noqa: PLR0913  what the rule needs
    rewards: Tensor,
    rollout: Tensor,
    turn: Tensor,
    macro: Tensor,
    *,
    gamma: float,
    how: Credit,
    macro_weight: float,
    weight: float,
) -> Tensor:
    """NeMo-RL: the weighted sum of the rollout's advantage and the turn's credit; neither is normalised.

    Args:
        rewards: [N] float, the reward of each turn; only turns with one count.
        rollout: [N] int64.
        turn: [N] float, the order of the turns.
        macro: [N] float, the advantage of the rollout.
        gamma: discount γ.
        how: the credit: the reward of the turn, or its return.
        macro_weight: weight of the advantage of the rollout.
        weight: weight of the credit.
    """
    r = rewards.nan_to_num(nan=0.0)
    credit = Turns.of(rollout, turn).to_go(r, gamma) if how == "return_to_go" else r
    return (macro_weight * macro + weight * credit).float()


def dynamic(rewards: Tensor, group: Tensor, rollout: Tensor, *, by: Literal["turn", "trajectory"]) -> Tensor:
    """RLinf: a turn's reward compared with all turns of its question, or a trajectory's mean with the other trajectories.

    Args:
        rewards: [N] float, the reward of each turn.
        group: [N] int64, the question.
        rollout: [N] int64, the trajectory.
        by: what is compared.

    Returns:
        [N] float32; NaN if there is only one.
    """
    r, turns = rewards.float(), Turns.of(rollout)
    among = None
    if by == "trajectory":
        r, among = turns.total(r) / turns.count, turns.position == 0
    mean, std, size = moments(r, group, among=among)
    return torch.where(size > 1, (r - mean) / (std + 1e-6), torch.nan)


def over_threshold(  # noqa: PLR0913  what the rule needs
    rewards: Tensor,
    group: Tensor,
    step: Tensor,
    *,
    divide: str,
    eps: float,
    single: str,
    std_threshold: float,
) -> Tensor:
    """Trinity-RFT: `arithmetic.standardised`, NaN in groups of one and in groups with std at or below the threshold.

    Args:
        rewards: [N] float.
        group: [N] int64.
        step: [N] int64.
        divide: as in `arithmetic.standardised`.
        eps: as in `arithmetic.standardised`.
        single: as in `arithmetic.standardised`.
        std_threshold: the threshold; below 0 for none.
    """
    result = standardised(rewards, group, step, divide=divide, eps=eps, single=single)
    if std_threshold < 0:
        return result
    _, std, size = moments(rewards.to(result.dtype), group)
    return torch.where((size <= 1) | (std <= std_threshold), torch.nan, result)
