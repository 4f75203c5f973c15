"""The arithmetic of trainers where a row is one turn of a rollout, in their dtype and their order.

All columns are [N], a row per turn: `rollout` int64, equal for the turns of one rollout; `turn` float, their order, where the
trainer sorts by it, else the order of the rows counts; `anchor` int64, equal for equal states before the turn, -1 for none;
`episode` float, the reward of the whole rollout on each of its rows.
"""

from typing import Literal

import torch
from torch import Tensor

from advcli.frameworks.arithmetic import standardised, std_of
from advcli.frameworks.blocks import matrices
from advcli.frameworks.per_token import backwards
from advcli.tensors.turns import Turns, paired

Count = Literal["rows", "rollouts"]
Method = Literal["identity", "mean", "mean_std", "asym_clip"]
Grouping = Literal["group", "batch"]
Returns = Literal["sum", "max"]
Credit = Literal["immediate", "return_to_go"]


def returns(rewards: Tensor, turns: Turns, gamma: float) -> Tensor:
    """R_t = r_t + γ R_{t+1}, from the last turn to the first as trainers add them, [N] in the dtype of the rewards."""
    return turns.put_back(backwards(rewards[turns.order], turns.rollouts.index, gamma))


def moments(
    values: Tensor, index: Tensor, *, among: Tensor | None = None, ddof: int = 1
) -> tuple[Tensor, Tensor, Tensor]:
    """Mean, standard deviation and size of the segment of each row, in the dtype of the values.

    Args:
        values: [N] float.
        index: [N] int64, the segment of each row.
        among: [N] bool, the rows that are counted; None for all. A segment without one has mean 0 and size 0.
        ddof: degrees of freedom taken from the divisor of the variance; the deviation of a single value is 0.

    Returns:
        [N], [N] and [N] int64.
    """
    there = torch.ones_like(index, dtype=torch.bool) if among is None else among
    segment = torch.unique(index, return_inverse=True)[1]
    count = int(segment.max()) + 1 if len(segment) else 0
    mean, std = values.new_zeros(count), values.new_zeros(count)
    size = segment.new_zeros(count)
    for rows in matrices(segment, there):
        of = segment[rows[:, 0]]
        mean[of] = values[rows].mean(dim=1)
        std[of] = std_of(values[rows], ddof, "whole").squeeze(1)
        size[of] = rows.shape[1]
    return mean[segment], std[segment], size[segment]


def _episode_term(
    score: Tensor, group: Tensor, turns: Turns, *, count: str, divide: bool, eps: float
) -> Tensor:
    """The reward of the episode against the others of its prompt; that of the only sample as it is."""
    first = turns.position == 0 if count == "rollouts" else None
    mean, std, size = moments(score, group, among=first)
    single = size <= 1
    centred = score - torch.where(single, 0, mean)
    return centred / (torch.where(single, 1, std) + eps) if divide else centred


def _anchor_term(values: Tensor, state: Tensor, *, divide: bool, eps: float, ddof: int = 1) -> Tensor:
    """A return against the others that begin in the same state; 0 for the only one."""
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
    gamma: float = 1.0,
    weight: float = 1.0,
    divide: bool = False,
    penalty: float = 0.0,
    eps: float = 1e-6,
    count: Count = "rows",
) -> Tensor:
    """GiGPO of verl-agent and DrMAS: the episode against its prompt, and the return against equal states of that prompt.

        A = E + weight · C

    Args:
        rewards: [N] float, the reward of each turn.
        group: [N] int64, the prompt.
        rollout: [N] int64.
        anchor: [N] int64.
        episode: [N] float.
        valid: [N] float, 0 where the action was invalid.
        env_step: [N] float; the rows of a rollout that follow each other with one number are one step of the environment.
        agent: [N] int64, the agent, within which groups and states are compared.
        gamma: discount γ of the turns.
        weight: of the step term.
        divide: whether both terms are divided by a standard deviation.
        penalty: taken off both rewards of a turn whose action was invalid, after the discount.
        eps: added to the standard deviations.
        count: whether each turn counts in the episode term, or each rollout once, by its first row.

    Returns:
        [N] float32. The only sample of a prompt has its reward as episode term; a state met once has no step term.
    """
    r, score = rewards.float(), episode.float()
    turns = Turns.of(rollout)
    to_go = _returns_of_steps(r, turns, env_step, gamma)
    off = torch.where(valid == 0, penalty, 0.0).to(r.dtype)
    score, to_go = score - off, to_go - off
    prompt = paired(group, agent)
    first = _episode_term(score, prompt, turns, count=count, divide=divide, eps=eps)
    second = _anchor_term(to_go, paired(prompt, anchor), divide=divide, eps=eps)
    return first + weight * second


def _returns_of_steps(rewards: Tensor, turns: Turns, env_step: Tensor, gamma: float) -> Tensor:
    """The return of the first row of each step of the environment, on all rows of that step."""
    before = turns.before
    begins = (before < 0) | (env_step != env_step[before.clamp(min=0)])
    begins |= env_step.isnan()
    if bool(begins.all()):
        return returns(rewards, turns, gamma)
    step = torch.cumsum(begins[turns.order].long(), dim=0) - 1
    kept = turns.order[begins[turns.order]]
    inner = Turns(torch.arange(len(kept)), type(turns.rollouts).of(_renumbered(turns, begins)))
    found = returns(rewards[kept], inner, gamma)
    return turns.put_back(found[step])


def _renumbered(turns: Turns, begins: Tensor) -> Tensor:
    """The rollout of each row that begins a step, in turn order."""
    return turns.rollouts.index[begins[turns.order]]


def turn_returns(
    rewards: Tensor, rollout: Tensor, *, gamma: float = 1.0, how: Returns = "sum", dtype: str = "float32"
) -> Tensor:
    """The discounted return of each turn, in the order of the rows, as it is; or its largest discounted reward.

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
    found, position = r[turns.order].clone(), turns.rollouts.position()
    back = turns.rollouts.rows(turns.rollouts.size()) - 1 - position
    for place in range(1, int(back.max()) + 1 if len(back) else 0):
        at = torch.nonzero(back == place).squeeze(1)
        found[at] = torch.maximum(found[at], gamma * found[at + 1])
    return turns.put_back(found)


def step_reward(  # noqa: PLR0913  what the two proposals set
    rewards: Tensor,
    group: Tensor,
    rollout: Tensor,
    *,
    gamma: float = 1.0,
    how: Returns = "sum",
    normalise: float = 1.0,
    eps: float = 1e-8,
) -> Tensor:
    """verifiers: the return of each turn against those of all turns of its group, in float64 with ddof 0.

    Args:
        rewards: [N] float, 0 where missing.
        group: [N] int64, the prompt.
        rollout: [N] int64.
        gamma: discount γ.
        how: as in `turn_returns`.
        normalise: 0 for the returns as they are.
        eps: added to the standard deviation.
    """
    to_go = turn_returns(rewards, rollout, gamma=gamma, how=how, dtype="float64")
    if not normalise:
        return to_go
    mean, std, _ = moments(to_go, group, ddof=0)
    return (to_go - mean) / (std + eps)


def trinity_gigpo(  # noqa: PLR0913  what the rule needs
    rewards: Tensor,
    group: Tensor,
    step: Tensor,
    rollout: Tensor,
    turn: Tensor,
    anchor: Tensor,
    *,
    gamma: float = 1.0,
    weight: float = 1.0,
    divide: bool = False,
    eps: float = 1e-6,
) -> Tensor:
    """GiGPO of Trinity-RFT: the total of a run against the runs of its task, and returns against equal states of the batch.

    Args:
        rewards: [N] float, the reward of each step, 0 where missing.
        group: [N] int64, the task.
        step: [N] int64, the batch.
        rollout: [N] int64, the run.
        turn: [N] float, the number of the step.
        anchor: [N] int64; a step without one has no step term.
        gamma: discount γ.
        weight: of the step term.
        divide: whether to divide by the standard deviation; else by 1, and eps is added all the same.
        eps: added to what is divided by.

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
    below = (std if divide else torch.ones_like(std)) + eps
    of_state = torch.where(size > 1, (to_go - mean) / below, 0)
    return of_run + weight * of_state


def _roll_normalised(
    values: Tensor, group: Tensor, step: Tensor, grouping: str, method: str
) -> Tensor:
    """ROLL: minus the mean, over the standard deviation; 0 where that is 1e-6 or less, and for the only value."""
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
    gamma: float = 0.95,
    grouping: Grouping = "batch",
    method: Method = "identity",
    episode_weight: float = 1.0,
    weight: float = 1.0,
    clip: float = 0.0,
) -> Tensor:
    """GiGPO of ROLL: the score of the episode over step rows, and returns against equal states of the batch.

    Args:
        rewards: [N] float, the score of each step.
        group: [N] int64, the group of trajectories.
        step: [N] int64, the batch.
        rollout: [N] int64, the trajectory.
        turn: [N] float, the number of the step.
        anchor: [N] int64; no state is a state like any other.
        episode: [N] float.
        gamma: discount γ.
        grouping: what the episode term is compared with.
        method: how both terms are normalised.
        episode_weight: of the episode term.
        weight: of the step term.
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
    gamma: float = 0.95,
    grouping: Grouping = "batch",
    method: Method = "identity",
    clip: float = 0.0,
) -> Tensor:
    """ROLL: the return of each step, normalised over the steps of its group or of the batch; the knobs of `roll_gigpo`."""
    to_go = returns(rewards.float(), Turns.of(rollout, turn), gamma)
    found = _roll_normalised(to_go, group, step, grouping, method)
    return found.clamp(-clip, clip) if clip else found


def hgpo(  # noqa: PLR0913  one knob per version of the rule
    rewards: Tensor,
    group: Tensor,
    rollout: Tensor,
    anchor: Tensor,
    episode: Tensor,
    *,
    gamma: float = 0.95,
    history: int = 2,
    alpha: float = 1.0,
    shift: float = 1.0,
    zeros: bool = True,
    base: bool = False,
    divide: bool = True,
    eps: float = 1e-6,
) -> Tensor:
    """HGPO: the return of a turn against those of equal histories, the longer the history the more it weighs.

    Args:
        rewards: [N] float, the reward of each turn.
        group: [N] int64, the prompt.
        rollout: [N] int64.
        anchor: [N] int64.
        episode: [N] float.
        gamma: discount γ.
        history: how many states before that of the turn a history may have, K.
        alpha: the exponent of the weight of a history of k states.
        shift: added to k in that weight; 0 for plain k, without eps in the sum of weights.
        zeros: whether an advantage of exactly 0 counts in the weighted mean.
        base: whether the episode term of verl-agent is the item of k = 0.
        divide: whether to divide by the standard deviation, ddof 0.
        eps: added to that.

    Returns:
        [N] float32; 0 where no other turn has an equal history.
    """
    turns = Turns.of(rollout)
    to_go = returns(rewards.float(), turns, gamma)
    items = []
    if base:
        item = _episode_term(episode.float(), group, turns, count="rows", divide=divide, eps=eps)
        items.append((0, item, torch.ones_like(item, dtype=torch.bool)))
    for k, key in enumerate(histories(group, anchor, turns, history + 1), start=1):
        mean, std, size = moments(to_go, key, ddof=0)
        centred = to_go - mean
        items.append((k, centred / (std + eps) if divide else centred, size > 1))
    above, below = torch.zeros_like(to_go), torch.zeros_like(to_go)
    for k, item, there in items:
        counts = there if zeros else there & (item != 0)
        weight = torch.where(counts, (k + shift) ** alpha, 0.0).to(to_go.dtype)
        above, below = above + weight * item.nan_to_num(nan=0.0), below + weight
    return torch.where(below > 0, above / (below + (eps if shift else 0.0)), 0)


def histories(group: Tensor, anchor: Tensor, turns: Turns, longest: int) -> list[Tensor]:
    """For each k a number that turns of one prompt share whose last k states are equal; [N] int64 each.

    Turns that have fewer than k states, or one without a name among them, share theirs with no other.
    """
    key = paired(group, anchor)
    at = torch.arange(len(group))
    found = [key]
    for _ in range(longest - 1):
        at = torch.where(at < 0, -1, turns.before[at.clamp(min=0)]) if len(at) else at
        state = torch.where(at < 0, -1, anchor[at.clamp(min=0)]) if len(at) else at
        key = paired(key, state)
        found.append(key)
    return found


def others_at_turn(
    rewards: Tensor, group: Tensor, turn: Tensor, *, divide: bool = True, eps: float = 1e-4
) -> Tensor:
    """PipelineRL: the reward minus the mean of the other rows of its group at the same turn, in float64.

    Args:
        rewards: [N] float.
        group: [N] int64.
        turn: [N] float, the number of the turn.
        divide: whether to divide by the standard deviation of all of them, ddof 1.
        eps: added to that.

    Returns:
        [N] float64; 0 where no other rollout of the group has such a turn.
    """
    r = rewards.double()
    mean, std, size = moments(r, paired(group, torch.unique(turn, return_inverse=True)[1]))
    others = (mean * size - r) / (size - 1)
    centred = torch.where(size > 1, r - others, 0)
    return centred / (std + eps) if divide else centred


def turn_level_z(
    rewards: Tensor, group: Tensor, rollout: Tensor, turn: Tensor, episode: Tensor, *, weight: float = 1.0
) -> Tensor:
    """atropos: each turn against the same turn of all rollouts of its group, one that ended before counting 0, and the outcome.

        A_{i,τ} = (r_{i,τ} − m_τ)/s_τ + weight · (S_i − m)/s, ddof 0, s = 1 where it is 0

    Args:
        rewards: [N] float, the reward of each turn.
        group: [N] int64.
        rollout: [N] int64.
        turn: [N] float, the order of the turns.
        episode: [N] float, the outcome.
        weight: of the outcome.

    Returns:
        [N] float64.
    """
    turns = Turns.of(rollout, turn)
    r, place = rewards.double(), turns.position
    begins = place == 0
    mean, std, many = moments(episode.double(), group, among=begins, ddof=0)
    outcome = (episode.double() - mean) / torch.where(std == 0, 1, std)
    _, _, size = moments(r, paired(group, place))
    at = paired(group, place)
    total, squares = r.new_zeros(len(r)), r.new_zeros(len(r))
    total.index_add_(0, at, r)
    average = (total[at] / many)
    squares.index_add_(0, at, (r - average) ** 2)
    # Those that ended before are as far from the mean as 0 is.
    variance = (squares[at] + (many - size) * average**2) / many
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
    gamma: float = 0.9,
    beta: float = 1.0,
    output_weight: float = 0.0,
    input_weight: float = 0.0,
    turns_weight: float = 0.0,
) -> Tensor:
    """prime-rl: progress of a state score, smeared over the turns that led to it, beside the level of the rollout.

        A_{i,t} = L_i − mean L + beta · (c_t − c̄), L_i = S_i − penalty_i + Σ Δ_i

    Args:
        rewards: [N] float, the score of the state after each turn, NaN where it was not scored.
        group: [N] int64.
        rollout: [N] int64.
        turn: [N] float, the order of the turns.
        episode: [N] float, the final reward S.
        lengths: [N] float, trained tokens of each turn.
        input_tokens: [N] float, tokens of the prompt and the environment.
        gamma: how much less of the progress an earlier turn gets.
        beta: of the credit.
        output_weight: of the length penalty, for the trained tokens; each is a share of the most in the group, times the
            group's mean reward.
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


def progress(scores: Tensor, turns: Turns, gamma: float) -> tuple[Tensor, Tensor]:
    """How much each turn raised the score of the state, and what it collects of the rises after it.

    Args:
        scores: [N] float, NaN for a turn without a score, which made no progress.
        turns: the turns.
        gamma: a rise at turn t gives turn k a share γ^(t−k), all shares together 1.

    Returns:
        [N] and [N]. The first score of a rollout is where it starts, and no rise.

    Example:
        >>> turns = Turns.of(torch.tensor([0, 0, 0]))
        >>> rise, credit = progress(torch.tensor([0.0, 0.5, 1.5]), turns, 1.0)
        >>> rise.tolist(), [round(share, 4) for share in credit.tolist()]
        ([0.0, 0.5, 1.0], [0.5833, 0.5833, 0.3333])
    """
    order, segments = turns.order, turns.rollouts
    values = scores[order]
    there, place = values.isfinite(), torch.arange(len(values), dtype=torch.float64)
    # The latest scored turn up to each, as a running maximum within the rollout.
    latest = torch.where(there, place, -1.0)
    latest = torch.cummax(latest, dim=0).values if len(latest) else latest
    start = segments.rows(torch.cumsum(segments.size(), dim=0) - segments.size())
    previous = torch.full_like(latest, -1.0)
    previous[1:] = latest[:-1]
    known = there & (previous >= start)
    rise = torch.where(known, values.nan_to_num(nan=0.0) - values[previous.clamp(min=0).long()], 0.0)
    at = segments.position().double()
    norm = at + 1 if gamma == 1 else (1 - gamma ** (at + 1)) / (1 - gamma)
    credit = segments.discounted(rise / norm, gamma)
    return turns.put_back(rise), turns.put_back(credit)


def turn_level_credit(
    rewards: Tensor,
    rollout: Tensor,
    turn: Tensor,
    macro: Tensor,
    *,
    gamma: float = 1.0,
    how: Credit = "return_to_go",
    macro_weight: float = 1.0,
    weight: float = 1.0,
) -> Tensor:
    """NeMo-RL: the advantage of the rollout and the credit of the turn, each with a weight; neither is normalised.

    Args:
        rewards: [N] float, the reward of each turn; only turns with one count.
        rollout: [N] int64.
        turn: [N] float, the order of the turns.
        macro: [N] float, the advantage of the rollout.
        gamma: discount γ.
        how: the credit: the reward of the turn, or its return.
        macro_weight: of the advantage of the rollout.
        weight: of the credit.
    """
    r = rewards.nan_to_num(nan=0.0)
    credit = Turns.of(rollout, turn).to_go(r, gamma) if how == "return_to_go" else r
    return (macro_weight * macro + weight * credit).float()


def dynamic(rewards: Tensor, group: Tensor, rollout: Tensor, *, by: Literal["turn", "trajectory"] = "turn") -> Tensor:
    """RLinf: the reward of a turn against all turns of its question, or the mean of a trajectory against the trajectories.

    Args:
        rewards: [N] float, the reward of each turn.
        group: [N] int64, the question.
        rollout: [N] int64, the trajectory.
        by: what is compared.

    Returns:
        [N] float32; NaN for the only one.
    """
    r, turns = rewards.float(), Turns.of(rollout)
    among = None
    if by == "trajectory":
        r, among = turns.total(r) / turns.count, turns.position == 0
    mean, std, size = moments(r, group, among=among)
    return torch.where(size > 1, (r - mean) / (std + 1e-6), torch.nan)


def over_threshold(
    rewards: Tensor, group: Tensor, step: Tensor, *, std_threshold: float = -1.0, **rule: float | str
) -> Tensor:
    """Trinity-RFT: `arithmetic.standardised`, NaN in groups of one and of a standard deviation of the threshold or less.

    Args:
        rewards: [N] float.
        group: [N] int64.
        step: [N] int64.
        std_threshold: the threshold; below 0 for none.
        **rule: knobs of `arithmetic.standardised`.
    """
    found = standardised(rewards, group, step, **rule)  # type: ignore[arg-type]
    if std_threshold < 0:
        return found
    _, std, size = moments(rewards.to(found.dtype), group)
    return torch.where((size <= 1) | (std <= std_threshold), torch.nan, found)
