"""Turn-level estimators: each row is a turn of a rollout.

All columns are [N], one row per turn. `rollout` is equal for the turns of one rollout and `turn` orders them; a turn without
a reward (NaN) counts as 0. `episode` is the reward of the whole rollout, repeated on each of its rows.
"""

from typing import Any, Literal

import torch
from torch import Tensor

from advcli.estimators.group import grpo, rloo
from advcli.tensors.turns import Turns, histories, paired, progress, same_turns

Count = Literal["rollouts", "rows"]


def turn_return(  # noqa: PLR0913  the columns of a turn
    rewards: Tensor,
    group: Tensor,
    step: Tensor,
    rollout: Tensor,
    turn: Tensor,
    *,
    gamma: float = 1.0,
    scale: str = "group",
    ddof: int = 1,
    eps: float = 0.0,
) -> Tensor:
    """The discounted return from each turn on, compared with all turns of the group.

        A_t = (R_t − mean_g R) / std_g R, R_t = Σ_k γ^k r_{t+k}

    A rollout counts once per turn, so long rollouts weigh more.

    Args:
        rewards: [N] float, the reward of each turn, NaN for none.
        group: [N] int64, group index in [0, G).
        step: [N] int64, step index in [0, S).
        rollout: [N] int64, the rollout of each turn.
        turn: [N] float, the order of the turns.
        gamma: discount γ from turn to turn, in [0, 1].
        scale: "group", "batch" or "none": whose standard deviation the advantage is divided by.
        ddof: degrees of freedom taken from the divisor of the variance.
        eps: added to the standard deviation, in the unit of the rewards.

    Returns:
        [N], dtype and device of `rewards`. NaN in groups of one turn; 0 where all returns of a group are equal.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        verifiers/utils/step_reward_utils.py; ROLL step_reinforce, roll/pipeline/agentic/utils.py.

    Example:
        >>> r, zero = torch.tensor([0.0, 1.0, 0.0]), torch.zeros(3, dtype=torch.int64)
        >>> rollout, turn = torch.tensor([0, 0, 1]), torch.tensor([0.0, 1.0, 0.0])
        >>> turn_return(r, zero, zero, rollout, turn, gamma=0.5, scale="none").tolist()
        [0.0, 0.5, -0.5]
    """
    to_go = Turns.of(rollout, turn).to_go(rewards.nan_to_num(nan=0.0), gamma)
    return grpo(to_go, group, step, scale=scale, ddof=ddof, eps=eps)


def turn_loo(  # noqa: PLR0913  the columns of a turn
    rewards: Tensor,
    group: Tensor,
    step: Tensor,
    rollout: Tensor,
    turn: Tensor,
    *,
    gamma: float = 0.0,
    scale: str = "none",
    ddof: int = 1,
    eps: float = 0.0,
) -> Tensor:
    """Each turn compared with the same turn of the group's other rollouts.

        A_{i,t} = R_{i,t} − mean_{j≠i} R_{j,t}, R_t = Σ_k γ^k r_{t+k}

    Biased if the policy decides when to stop: a late turn is compared only with rollouts that are at least as long.

    Args:
        rewards: [N] float, the reward of each turn, NaN for none.
        group: [N] int64, group index in [0, G).
        step: [N] int64, step index in [0, S).
        rollout: [N] int64, the rollout of each turn.
        turn: [N] float, the number of each turn; equal numbers are compared.
        gamma: discount γ from turn to turn, in [0, 1]; 0 for the reward of the turn alone.
        scale: "group" (the standard deviation at that turn), "batch" or "none".
        ddof: degrees of freedom taken from the divisor of the variance.
        eps: added to the standard deviation, in the unit of the rewards.

    Returns:
        [N], dtype and device of `rewards`. NaN if no other rollout of the group has that turn.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        PipelineRL, pipelinerl/finetune/rl/__init__.py.

    Example:
        >>> r, zero = torch.tensor([0.0, 1.0, 0.0]), torch.zeros(3, dtype=torch.int64)
        >>> rollout, turn = torch.tensor([0, 0, 1]), torch.tensor([0.0, 1.0, 0.0])
        >>> turn_loo(r, zero, zero, rollout, turn, gamma=1.0).tolist()
        [1.0, nan, -1.0]
    """
    to_go = Turns.of(rollout, turn).to_go(rewards.nan_to_num(nan=0.0), gamma)
    return rloo(to_go, same_turns(group, turn), step, scale=scale, ddof=ddof, eps=eps)


def gigpo(  # noqa: PLR0913  the columns of a turn
    rewards: Tensor,
    group: Tensor,
    step: Tensor,
    rollout: Tensor,
    turn: Tensor,
    anchor: Tensor,
    episode: Tensor,
    *,
    gamma: float = 0.95,
    weight: float = 1.0,
    scale: str = "group",
    count: Count = "rollouts",
    ddof: int = 1,
    eps: float = 0.0,
) -> Tensor:
    """Group-in-group: the rollout compared with its group, plus each turn's return compared with turns from an equal state.

        A_t = (S − mean_g S) / std_g S + ω · (R_t − mean_a R) / std_a R, R_t = Σ_k γ^k r_{t+k}

    Args:
        rewards: [N] float, the reward of each turn, NaN for none.
        group: [N] int64, group index in [0, G).
        step: [N] int64, step index in [0, S).
        rollout: [N] int64, the rollout of each turn.
        turn: [N] float, the order of the turns.
        anchor: [N] int64, equal for equal states before the turn, -1 for none; compared within a group.
        episode: [N] float, the reward of the whole rollout.
        gamma: discount γ from turn to turn, in [0, 1].
        weight: ω, of the second term.
        scale: "group" to divide each term by its standard deviation, "batch" by that of the step, "none" for neither.
        count: whether the first term counts each rollout once ("rollouts") or each of its rows ("rows").
        ddof: degrees of freedom taken from the divisor of the variances.
        eps: added to the standard deviations, in the unit of the rewards.

    Returns:
        [N], dtype and device of `rewards`. For a state that occurs once the second term is 0. NaN in groups of one rollout.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        Feng et al. 2025, GiGPO, arXiv:2505.10978, equations 4 to 8.

    Example:
        >>> r, zero = torch.tensor([0.0, 1.0, 0.0]), torch.zeros(3, dtype=torch.int64)
        >>> rollout, turn = torch.tensor([0, 0, 1]), torch.tensor([0.0, 1.0, 0.0])
        >>> anchor, episode = torch.tensor([0, 1, 0]), torch.tensor([1.0, 1.0, 0.0])
        >>> gigpo(r, zero, zero, rollout, turn, anchor, episode, gamma=1.0, scale="none").tolist()
        [1.0, 0.5, -1.0]
    """
    turns = Turns.of(rollout, turn)
    to_go = turns.to_go(rewards.nan_to_num(nan=0.0), gamma)
    how: dict[str, Any] = {"scale": scale, "ddof": ddof, "eps": eps}
    counted = turns.position == 0 if count == "rollouts" else torch.ones_like(rollout, dtype=torch.bool)
    first = _over_rollouts(episode, group, step, turns, counted, **how)
    second = grpo(to_go, paired(group, anchor), step, **how)
    return first + weight * second.nan_to_num(nan=0.0)


def _over_rollouts(
    values: Tensor, group: Tensor, step: Tensor, turns: Turns, counted: Tensor, **how: float | str
) -> Tensor:
    """[N] grpo over the counted rows (all, or one per rollout), broadcast to the other rows of each rollout."""
    result = torch.zeros_like(values)
    result[counted] = grpo(values[counted], group[counted], step[counted], **how)  # type: ignore[arg-type]
    return result if bool(counted.all()) else turns.value_of(result, counted)


def hgpo(  # noqa: PLR0913  the columns of a turn
    rewards: Tensor,
    group: Tensor,
    step: Tensor,
    rollout: Tensor,
    turn: Tensor,
    anchor: Tensor,
    *,
    gamma: float = 0.95,
    history: int = 2,
    alpha: float = 1.0,
    scale: str = "group",
    ddof: int = 0,
    eps: float = 0.0,
) -> Tensor:
    """The return of a turn compared with turns of equal state history; longer histories weigh more.

        A_t = Σ_k w_k (R_t − mean_k R) / std_k R, w_k = (k+1)^α / Σ (k'+1)^α, over the histories of k states it shares

    Args:
        rewards: [N] float, the reward of each turn, NaN for none.
        group: [N] int64, group index in [0, G).
        step: [N] int64, step index in [0, S).
        rollout: [N] int64, the rollout of each turn.
        turn: [N] float, the order of the turns.
        anchor: [N] int64, equal for equal states before the turn, -1 for none; compared within a group.
        gamma: discount γ from turn to turn, in [0, 1].
        history: maximum number of earlier states in a history, so k runs from 1 to history + 1.
        alpha: α, the exponent that weighs longer histories.
        scale: "group" to divide by the standard deviation over equal histories, "batch" by that of the step, or "none".
        ddof: degrees of freedom taken from the divisor of the variance.
        eps: added to the standard deviation, in the unit of the rewards.

    Returns:
        [N], dtype and device of `rewards`. 0 where no other turn has an equal state.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        HGPO, recipe/hgpo/core_hgpo.py.

    Example:
        >>> r, zero = torch.tensor([0.0, 1.0, 0.0]), torch.zeros(3, dtype=torch.int64)
        >>> rollout, turn = torch.tensor([0, 0, 1]), torch.tensor([0.0, 1.0, 0.0])
        >>> hgpo(r, zero, zero, rollout, turn, torch.tensor([0, 1, 0]), gamma=1.0, scale="none").tolist()
        [0.5, 0.0, -0.5]
    """
    turns = Turns.of(rollout, turn)
    to_go = turns.to_go(rewards.nan_to_num(nan=0.0), gamma)
    weighted, total = torch.zeros_like(to_go), torch.zeros_like(to_go)
    for k, key in enumerate(histories(group, anchor, turns, history + 1), start=1):
        item = grpo(to_go, key, step, scale=scale, ddof=ddof, eps=eps)
        weight = (~item.isnan()).to(item.dtype) * float(k + 1) ** alpha
        weighted, total = weighted + weight * item.nan_to_num(nan=0.0), total + weight
    return torch.where(total > 0, weighted / total, 0.0)


def mt_grpo(  # noqa: PLR0913  the columns of a turn
    rewards: Tensor,
    group: Tensor,
    step: Tensor,
    rollout: Tensor,
    turn: Tensor,
    episode: Tensor,
    *,
    weight: float = 1.0,
    scale: str = "group",
    ddof: int = 1,
    eps: float = 0.0,
) -> Tensor:
    """The rollout compared with its group, plus each turn compared with the same turn of the rollouts that reach it.

        A_t = (r_t − mean_{g,t}) / std_{g,t} + λ · (S − mean_g S) / std_g S

    Biased if the policy decides when to stop: a late turn is compared only with rollouts that are at least as long.

    Args:
        rewards: [N] float, the reward of each turn, NaN for none.
        group: [N] int64, group index in [0, G).
        step: [N] int64, step index in [0, S).
        rollout: [N] int64, the rollout of each turn.
        turn: [N] float, the number of each turn; equal numbers are compared.
        episode: [N] float, the outcome.
        weight: λ, the weight of the outcome.
        scale: "group" to divide each term by its standard deviation, "batch" by that of the step, "none" for neither.
        ddof: degrees of freedom taken from the divisor of the variances.
        eps: added to the standard deviations, in the unit of the rewards.

    Returns:
        [N], dtype and device of `rewards`. For a turn that only one rollout reaches the first term is 0. NaN in groups of one
        rollout.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        Zeng et al. 2025, MT-GRPO, arXiv:2505.11821, section 3; the sum as in atropos,
        environments/tool_use_turnlevel_advantage_server.py.

    Example:
        >>> r, zero = torch.tensor([1.0, 1.0, 0.0]), torch.zeros(3, dtype=torch.int64)
        >>> rollout, turn = torch.tensor([0, 0, 1]), torch.tensor([0.0, 1.0, 0.0])
        >>> mt_grpo(r, zero, zero, rollout, turn, torch.tensor([2.0, 2.0, 0.0]), scale="none").tolist()
        [1.5, 1.0, -1.5]
    """
    turns = Turns.of(rollout, turn)
    how: dict[str, Any] = {"scale": scale, "ddof": ddof, "eps": eps}
    outcome = _over_rollouts(episode, group, step, turns, turns.position == 0, **how)
    of_turn = grpo(rewards.nan_to_num(nan=0.0), same_turns(group, turn), step, **how)
    return of_turn.nan_to_num(nan=0.0) + weight * outcome


def turn_credit(  # noqa: PLR0913  the columns of a turn
    rewards: Tensor,
    group: Tensor,
    rollout: Tensor,
    turn: Tensor,
    episode: Tensor,
    *,
    gamma: float = 0.9,
    beta: float = 1.0,
) -> Tensor:
    """The level of the rollout compared with its group, plus each turn's share in the progress of the state's score.

        A_t = L − mean_g L + β · (c_t − mean c), L = S + Σ Δ, Δ_t the rise of the score, c_k = Σ_{t≥k} Δ_t γ^{t−k} / Σ_{j≤t} γ^j

    Args:
        rewards: [N] float, the score of the state after each turn, NaN where it has none.
        group: [N] int64, group index in [0, G).
        rollout: [N] int64, the rollout of each turn.
        turn: [N] float, the order of the turns.
        episode: [N] float, the final reward S.
        gamma: discount of the credit for earlier turns, in [0, 1].
        beta: β, the weight of the second term.

    Returns:
        [N], dtype and device of `rewards`. NaN in groups of one rollout. The mean of c is over the turns of the rollout;
        prime-rl weights it by tokens.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        prime-rl, src/prime_rl/orchestrator/algo/turn_credit.py.

    Example:
        >>> r, zero = torch.tensor([0.0, 1.0, 0.0]), torch.zeros(3, dtype=torch.int64)
        >>> rollout, turn = torch.tensor([0, 0, 1]), torch.tensor([0.0, 1.0, 0.0])
        >>> turn_credit(r, zero, rollout, turn, torch.tensor([1.0, 1.0, 0.0]), gamma=0.0).tolist()
        [0.5, 1.5, -1.0]
    """
    turns = Turns.of(rollout, turn)
    rise, credit = progress(rewards, turns, gamma)
    level = episode + turns.total(rise)
    first = turns.position == 0
    none = torch.zeros_like(group)
    above = _over_rollouts(level, group, none, turns, first, scale="none", ddof=1, eps=0.0)
    return (above + beta * (credit - turns.total(credit) / turns.count)).to(rewards.dtype)
