"""Turn-level arithmetic of trainers, in their dtype and order of operations.

All columns are [N], one row per turn: `rollout` int64, equal for the turns of one rollout; `turn` float, their order if the
trainer sorts by it, else row order is used; `anchor` int64, equal for equal states before the turn, -1 for none;
`episode` float, the reward of the whole rollout, repeated on each of its rows.
"""

from typing import Literal

import torch
from torch import Tensor

from advcli.frameworks.arithmetic.blocks import matrices
from advcli.frameworks.arithmetic.per_row import std_of
from advcli.frameworks.arithmetic.per_token import backwards
from advcli.tensors.segments import Segments
from advcli.tensors.turns import Turns, paired

Count = Literal["rows", "rollouts"]
Method = Literal["identity", "mean", "mean_std", "asym_clip"]
Grouping = Literal["group", "batch"]


def returns(rewards: Tensor, turns: Turns, gamma: float) -> Tensor:
    """R_t = r_t + γ R_{t+1}, summed from the last turn to the first as in trainers, [N] in the dtype of the rewards."""
    return turns.put_back(backwards(rewards[turns.order], turns.rollouts.index, gamma))


def moments(
    values: Tensor, index: Tensor, *, among: Tensor | None = None, ddof: int = 1
) -> tuple[Tensor, Tensor, Tensor]:
    """Mean, standard deviation and size of the segment of each row, in the dtype of the values.

    Args:
        values: [N] float.
        index: [N] int64, the segment of each row.
        among: [N] bool, the rows to count; None for all. A segment without any has mean 0 and size 0.
        ddof: degrees of freedom taken from the divisor of the variance; the deviation of a single value is 0.

    Returns:
        [N], [N] and [N] int64.
    """
    segment = torch.unique(index, return_inverse=True)[1]
    count = int(segment.max()) + 1 if len(segment) else 0
    mean, std = values.new_zeros(count), values.new_zeros(count)
    size = segment.new_zeros(count)
    for rows in matrices(segment, among):
        of = segment[rows[:, 0]]
        mean[of] = values[rows].mean(dim=1)
        std[of] = std_of(values[rows], ddof, "whole").squeeze(1)
        size[of] = rows.shape[1]
    return mean[segment], std[segment], size[segment]


def episode_term(
    score: Tensor, group: Tensor, turns: Turns, *, count: str, divide: bool, eps: float
) -> Tensor:
    """The episode's reward compared with its prompt's other episodes; unchanged for a single sample."""
    first = turns.position == 0 if count == "rollouts" else None
    mean, std, size = moments(score, group, among=first)
    single = size <= 1
    centred = score - torch.where(single, 0, mean)
    return centred / (torch.where(single, 1, std) + eps) if divide else centred


def _anchor_term(values: Tensor, state: Tensor, *, divide: bool, eps: float, ddof: int = 1) -> Tensor:
    """A return compared with the others from the same state; 0 for a single one."""
    mean, std, size = moments(values, state, ddof=ddof)
    centred = torch.where(size > 1, values - mean, 0)
    return centred / (torch.where(size > 1, std, 1) + eps) if divide else centred


def gigpo(  # noqa: PLR0913  one knob per rule that differs between trainers
    rewards: Tensor,
    group: Tensor,
    rollout: Tensor,
    anchor: Tensor,
    episode: Tensor,
    valid: Tensor,
    env_step: Tensor,
    agent: Tensor,
    *,
    gamma: float,
    weight: float,
    divide: bool,
    penalty: float,
    eps: float,
    count: Count,
) -> Tensor:
    """GiGPO of verl-agent and DrMAS: the episode compared with its prompt, plus the return compared with equal states of it.

        A = E + weight · C

    Args:
        rewards: [N] float, the reward of each turn.
        group: [N] int64, the prompt.
        rollout: [N] int64.
        anchor: [N] int64.
        episode: [N] float.
        valid: [N] float, 0 where the action was invalid.
        env_step: [N] float; consecutive rows of a rollout with the same number are one step of the environment.
        agent: [N] int64, the agent; groups and states are compared per agent.
        gamma: discount γ of the turns.
        weight: weight of the step term.
        divide: whether both terms are divided by a standard deviation.
        penalty: subtracted from both rewards of a turn with an invalid action, after discounting.
        eps: added to the standard deviations.
        count: whether the episode term counts each turn ("rows"), or each rollout once, by its first row ("rollouts").

    Returns:
        [N] float32. For the only sample of a prompt the episode term is its reward; a state that occurs once has no step term.
    """
    r, score = rewards.float(), episode.float()
    turns = Turns.of(rollout)
    to_go = _returns_of_steps(r, turns, env_step, gamma)
    off = torch.where(valid == 0, penalty, 0.0).to(r.dtype)
    score, to_go = score - off, to_go - off
    prompt = paired(group, agent)
    first = episode_term(score, prompt, turns, count=count, divide=divide, eps=eps)
    second = _anchor_term(to_go, paired(prompt, anchor), divide=divide, eps=eps)
    return first + weight * second


def _returns_of_steps(rewards: Tensor, turns: Turns, env_step: Tensor, gamma: float) -> Tensor:
    """The return of the first row of each environment step, broadcast to all rows of the step."""
    before = turns.before
    begins = (before < 0) | (env_step != env_step[before.clamp(min=0)])
    begins |= env_step.isnan()
    if bool(begins.all()):
        return returns(rewards, turns, gamma)
    step = torch.cumsum(begins[turns.order].long(), dim=0) - 1
    kept = turns.order[begins[turns.order]]
    inner = Turns(torch.arange(len(kept)), Segments.of(turns.rollouts.index[begins[turns.order]]))
    result = returns(rewards[kept], inner, gamma)
    return turns.put_back(result[step])


def trinity_gigpo(  # noqa: PLR0913  what the rule needs
    rewards: Tensor,
    group: Tensor,
    step: Tensor,
    rollout: Tensor,
    turn: Tensor,
    anchor: Tensor,
    *,
    gamma: float,
    weight: float,
    divide: bool,
    eps: float,
) -> Tensor:
    """GiGPO of Trinity-RFT: a run's total compared with its task's runs, plus returns compared with the batch's equal states.

    Args:
        rewards: [N] float, the reward of each step, 0 where missing.
        group: [N] int64, the task.
        step: [N] int64, the batch.
        rollout: [N] int64, the run.
        turn: [N] float, the number of the step.
        anchor: [N] int64; a step without one has no step term.
        gamma: discount γ.
        weight: weight of the step term.
        divide: whether to divide by the standard deviation + eps; otherwise by 1 + eps.
        eps: added to the divisor.

    Returns:
        [N] float32.
    """
    r, turns = rewards.nan_to_num(nan=0.0).double(), Turns.of(rollout, turn)
    to_go = returns(r, turns, gamma).float()
    total = returns(r, turns, 1.0)
    score = turns.value_of(total, turns.position == 0).float()
    mean, std, size = moments(score, group, among=turns.position == 0)
    alone = size <= 1
    of_run = torch.where(alone, score, score - mean)
    of_run = of_run / ((torch.where(alone, 1, std) if divide else torch.ones_like(std)) + eps)
    mean, std, size = moments(to_go, paired(step, anchor))
    divisor = (std if divide else torch.ones_like(std)) + eps
    of_state = torch.where(size > 1, (to_go - mean) / divisor, 0)
    return of_run + weight * of_state


def _roll_normalised(values: Tensor, group: Tensor, step: Tensor, grouping: str, method: str) -> Tensor:
    """ROLL: minus the mean, over the standard deviation; 0 if that is at most 1e-6, and for a single value."""
    if method == "identity":
        return values
    mean, std, size = moments(values, step if grouping == "batch" else group)
    centred = values - mean
    if method == "mean":
        return centred
    return torch.where((size <= 1) | (std <= 1e-6), 0, centred / (std + 1e-6))


def roll_gigpo(  # noqa: PLR0913  what the rule needs
    rewards: Tensor,
    group: Tensor,
    step: Tensor,
    rollout: Tensor,
    turn: Tensor,
    anchor: Tensor,
    episode: Tensor,
    *,
    gamma: float,
    grouping: Grouping,
    method: Method,
    episode_weight: float,
    weight: float,
    clip: float,
) -> Tensor:
    """GiGPO of ROLL: the normalised score of the episode, plus returns compared with equal states of the batch.

    Args:
        rewards: [N] float, the score of each step.
        group: [N] int64, the group of trajectories.
        step: [N] int64, the batch.
        rollout: [N] int64, the trajectory.
        turn: [N] float, the number of the step.
        anchor: [N] int64; "no state" (-1) counts as a state of its own.
        episode: [N] float.
        gamma: discount γ.
        grouping: what the episode term is compared with.
        method: how both terms are normalised.
        episode_weight: weight of the episode term.
        weight: weight of the step term.
        clip: symmetric clamp of the sum; 0 for none.

    Returns:
        [N] float32.
    """
    to_go = returns(rewards.float(), Turns.of(rollout, turn), gamma)
    state = paired(step, anchor - anchor.min().clamp(max=0)) if len(anchor) else anchor
    first = _roll_normalised(episode.float(), group, step, grouping, method)
    second = _roll_normalised(to_go, state, step, "group", method)
    total = episode_weight * first + weight * second
    return total.clamp(-clip, clip) if clip else total


def roll_step_reinforce(  # noqa: PLR0913  what the rule needs
    rewards: Tensor,
    group: Tensor,
    step: Tensor,
    rollout: Tensor,
    turn: Tensor,
    *,
    gamma: float,
    grouping: Grouping,
    method: Method,
    clip: float,
) -> Tensor:
    """ROLL: the return of each step, normalised over the steps of its group or batch; knobs as in `roll_gigpo`."""
    to_go = returns(rewards.float(), Turns.of(rollout, turn), gamma)
    result = _roll_normalised(to_go, group, step, grouping, method)
    return result.clamp(-clip, clip) if clip else result
