"""Reward shaping by a response's length relative to its group.

Rows without a reward are excluded from the statistics and stay without one; a row without a length gets NaN.
"""

import torch
from torch import Tensor

from advcli.shaping.groups import Groups

_BINARY = 1e-6
_THREE = 3


def right(rewards: Tensor, correct: Tensor | None) -> Tensor:
    """[N] bool, the correct rows: `correct` is neither 0 nor NaN; without it, the reward is above 0."""
    return rewards > 0 if correct is None else correct.nan_to_num(nan=0.0) != 0


def linear(  # noqa: PLR0913  the columns and weights of the source
    rewards: Tensor,
    group: Tensor,
    length: Tensor | None,
    input_tokens: Tensor | None,
    num_turns: Tensor | None,
    *,
    output: float = 0.25,
    input: float = 0.1,
    turns: float = 0.1,
) -> Tensor:
    """Penalize output, input and turns, each relative to the group's largest, scaled by the group's mean reward.

        r_i − mean(r) · (output · L_i / max L + input · I_i / max I + turns · T_i / max T)

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, -1 for none.
        length: [N] generated tokens; may be None if its weight is 0, like the next two.
        input_tokens: [N] input tokens.
        num_turns: [N] turns.
        output: weight of the length.
        input: weight of the input tokens.
        turns: weight of the turns.

    Returns:
        [N]; a group with mean reward 0 is unchanged. A largest value below 1 counts as 1.

    Source:
        prime-rl 559b4477, src/prime_rl/orchestrator/algo/grpo.py; the advantage there is r' − mean r'.
    """
    groups = Groups.of(rewards, group)
    share = torch.zeros_like(rewards)
    for weight, values in ((output, length), (input, input_tokens), (turns, num_turns)):
        if weight and values is not None:
            share = share + weight * values / groups.max(values).clamp(min=1)
    return rewards - groups.mean(rewards) * share


def length_limit(
    rewards: Tensor, group: Tensor, length: Tensor, *, max: float, coef: float = 0.25, gated: float = 0.0
) -> Tensor:
    """Penalize the length relative to the maximum length, scaled by the group's mean reward.

        r_i − coef · mean(r) · L_i / max, with `gated` the penalty times r_i

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, -1 for none.
        length: [N] tokens.
        max: the maximum length.
        coef: the penalty at `max`, as a share of the mean reward.
        gated: non-zero to multiply the penalty by the reward.

    Source:
        prime-rl 7f777138, orchestrator/advantage.py (`gate_by_correctness`).
    """
    penalty = coef * Groups.of(rewards, group).mean(rewards) * length / max
    return rewards - (penalty * rewards if gated else penalty)


def efficiency(rewards: Tensor, group: Tensor, cost: Tensor) -> Tensor:
    """Raise the best rewards of a group by how much cheaper they are than the average of the best.

        r_i (1 + clip(1 − c_i / mean c of the correct, 0, 1)) where r_i = max r > 0

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, -1 for none.
        cost: [N] tokens or turns.

    Returns:
        [N]; no bonus if the mean cost is 0.

    Source:
        prime-rl d7b3ae20, orchestrator/advantage.py (success-gated efficiency).
    """
    groups = Groups.of(rewards, group)
    best = groups.max(rewards)
    correct = (rewards >= best) & (best > 0)
    mean = groups.mean(cost, correct)
    bonus = torch.where(mean > 0, (1 - cost / mean).clamp(0, 1), 0.0)
    return torch.where(correct, rewards * (1 + bonus), rewards)


def gr3(rewards: Tensor, group: Tensor, length: Tensor, *, alpha: float = 0.33) -> Tensor:
    """Divide the reward by one plus a multiple of the length relative to the group's mean.

        r_i / (1 + alpha · L_i / mean L)

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, -1 for none.
        length: [N] tokens.
        alpha: weight of the length.

    Source:
        GR³ as in prime-rl c1bbbf92, orchestrator/advantage.py (`length_shaping_alpha`).
    """
    mean = Groups.of(rewards, group).mean(length)
    relative = torch.where(mean == 0, torch.where(length.isnan(), length, 0.0), length / mean)
    return rewards / (1 + alpha * relative)


def alp(
    rewards: Tensor, group: Tensor, length: Tensor, correct: Tensor | None, *, beta: float = 1e-7
) -> Tensor:
    """Penalize each token in proportion to how often the prompt is solved.

        r_i − beta · L_i · max(solve rate, 1 / K)

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, -1 for none.
        length: [N] tokens.
        correct: [N], non-zero where solved; None for rewards above 0.
        beta: penalty per token for a prompt that is always solved.

    Source:
        ALP, arXiv:2506.05256; K is the number of rows of the group.
    """
    groups = Groups.of(rewards, group)
    count = groups.count(groups.used)
    rate = torch.maximum(groups.count(right(rewards, correct)), torch.ones_like(count)) / count
    return rewards - beta * length * rate


def grpo_lead(  # noqa: PLR0913  the columns and knobs of the source
    rewards: Tensor,
    group: Tensor,
    length: Tensor,
    correct: Tensor | None,
    *,
    alpha: float = 0.05,
    eps: float = 1e-6,
    above: float = 4000.0,
) -> Tensor:
    """Scale correct rewards by the z-score of their length among the correct ones, in groups of long responses.

        r_i · exp(−alpha · z_i), z_i = (L_i − mean L) / (std L + eps) over the correct rows, ddof 1

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, -1 for none.
        length: [N] tokens.
        correct: [N], non-zero where correct; None for rewards above 0.
        alpha: weight of the length.
        eps: added to the standard deviation, which is 1 with one correct row.
        above: applies only to groups whose three shortest responses are longer than this on average; with fewer than
            three rows, always.

    Source:
        GRPO-LEAD 9344bef7, verl/trainer/main_ppo.py; arXiv:2504.09696.
    """
    groups = Groups.of(rewards, group)
    # Ties go to the first rows, so that exactly three count as the shortest.
    counted = groups.counted(length)
    position = groups.segments.rank(torch.where(counted, length, torch.inf))
    long = (groups.count(counted) < _THREE) | (groups.mean(length, position < _THREE) > above)
    solved = right(rewards, correct)
    std = torch.where(groups.count(groups.counted(length, solved)) > 1, groups.std(length, solved), 1.0)
    z = (length - groups.mean(length, solved)) / (std + eps)
    return torch.where(long & solved, rewards * torch.exp(-alpha * z), rewards)


def kimi(
    rewards: Tensor, group: Tensor, length: Tensor, correct: Tensor | None, *, weight: float = 1.0
) -> Tensor:
    """Add a reward for short correct responses, and a penalty for long ones.

        r_i + weight · λ_i where correct, r_i + weight · min(0, λ_i) where not, λ_i = 0.5 − (L_i − min L) / (max L − min L)

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, -1 for none.
        length: [N] tokens, or characters as in open-r1.
        correct: [N], non-zero where correct; None for rewards above 0.
        weight: weight of the term.

    Returns:
        [N]; unchanged if all lengths of the group are equal.

    Source:
        Kimi k1.5, arXiv:2501.12599, section 2.3.3; open-r1 1416fa0c, src/open_r1/rewards.py.
    """
    groups = Groups.of(rewards, group)
    low, high = groups.min(length), groups.max(length)
    term = 0.5 - (length - low) / torch.where(high > low, high - low, 1.0)
    term = torch.where(high > low, torch.where(right(rewards, correct), term, term.clamp(max=0)), 0.0)
    return rewards + weight * torch.where(length.isnan(), length, term)


def slack(  # noqa: PLR0913  the knobs of the source
    rewards: Tensor,
    group: Tensor,
    length: Tensor,
    completed: Tensor | None,
    *,
    threshold: float = 1.0,
    beta: float = 0.1,
    cap: float = 0.2,
    quantile: float = 0.25,
    relative: float = 0.1,
    absolute: float = 16.0,
    floor: float = 0.8,
) -> Tensor:
    """Penalize successes that exceed the short successes of their group by more than a slack.

        max(min(floor, r_i), r_i − min(cap, beta · max(0, L_i − ref · (1 + relative) − absolute) / ref))

    ref is a quantile of the lengths of the group's successes.

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, -1 for none.
        length: [N] tokens.
        completed: [N], 0 where the response was cut off, which doesn't count as a success; None if all count.
        threshold: the lowest reward of a success.
        beta: penalty per reference length beyond the slack.
        cap: largest penalty.
        quantile: the quantile used as the reference length.
        relative: slack as a share of the reference.
        absolute: slack in tokens.
        floor: the penalty lowers no success below this.

    Returns:
        [N]; unchanged with fewer than two successes in the group.

    Source:
        miles pull request 1573 (open), examples/experimental/search-r1/length_reward.py.
    """
    groups = Groups.of(rewards, group)
    success = rewards >= threshold
    if completed is not None:
        success = success & (completed.nan_to_num(nan=0.0) != 0)
    reference = groups.quantile(length, quantile, success)
    over = (length - reference * (1 + relative) - absolute).clamp(min=0)
    penalty = torch.where(over > 0, beta * over / reference, over).clamp(max=cap)
    lowered = torch.maximum(rewards.clamp(max=floor), rewards - penalty)
    return torch.where(success & (groups.count(success) > 1), lowered, rewards)


def pass_rate_length(rewards: Tensor, group: Tensor, length: Tensor, *, weight: float) -> Tensor:
    """Penalize long correct responses in proportion to the solve rate; only in groups with rewards 0 and 1.

        max(0, r_i − weight · share correct · L_i / longest correct) where r_i = 1

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, -1 for none.
        length: [N] tokens.
        weight: the penalty for the longest response to a prompt that is always solved.

    Source:
        NeMo-RL pull request 3852, nemo_rl/utils/length_penalty.py (`pass_rate_length_penalty_weight`).
    """
    groups = Groups.of(rewards, group)
    correct = _binary_correct(rewards, groups)
    share = groups.count(correct) / groups.count(groups.used)
    longest = groups.max(length, correct)
    relative = torch.where(longest > 0, length / longest, 0.0)
    return torch.where(correct, (rewards - weight * share * relative).clamp(min=0), rewards)


def group_length(rewards: Tensor, group: Tensor, length: Tensor, *, coef: float) -> Tensor:
    """Move reward from long to short correct responses of a group; only in groups with rewards 0 and 1.

        max(0, r_i + coef · (w_i − mean w)) where r_i = 1, w_i = 1 − (L_i − min L) / (max L − min L) over the correct rows

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, -1 for none.
        length: [N] tokens.
        coef: how much is moved.

    Returns:
        [N]; unchanged with fewer than two correct rows, or if their lengths are equal.

    Source:
        NeMo-RL pull request 3852, nemo_rl/utils/length_penalty.py (`group_total_length_penalty_coeff`).
    """
    groups = Groups.of(rewards, group)
    correct = _binary_correct(rewards, groups)
    low, high = groups.min(length, correct), groups.max(length, correct)
    weight = torch.where(high > low, 1 - (length - low) / (high - low), 0.0)
    moved = (rewards + coef * (weight - groups.mean(weight, correct))).clamp(min=0)
    return torch.where(correct & (groups.count(correct) > 1), moved, rewards)


def shortest(
    rewards: Tensor, group: Tensor, length: Tensor, correct: Tensor | None, *, bonus: float = 0.5
) -> Tensor:
    """Raise the reward of the shortest correct response of a group; of all of them in a tie.

        r_i + bonus where L_i is the smallest of the correct rows

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, -1 for none.
        length: [N] tokens.
        correct: [N], non-zero where correct; None for rewards above 0.
        bonus: the amount added.

    Source:
        prime-rl pull request 710.
    """
    solved = right(rewards, correct)
    first = solved & (length == Groups.of(rewards, group).min(length, solved))
    return torch.where(first, rewards + bonus, rewards)


def _binary_correct(rewards: Tensor, groups: Groups) -> Tensor:
    """[N] bool, the rows with reward 1 in groups whose rewards are all 0 or 1."""
    one, zero = ((rewards - level).abs() <= _BINARY for level in (1.0, 0.0))
    return one & (groups.count(groups.used & ~one & ~zero) == 0)
