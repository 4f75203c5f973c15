"""Reward shaping that depends on the row alone, or on its exact duplicates."""

import math

import torch
from torch import Tensor

from advcli.shaping.groups import Groups
from advcli.shaping.lengths import right


def cosine(  # noqa: PLR0913  the knobs of the source
    rewards: Tensor,
    length: Tensor,
    correct: Tensor | None,
    *,
    max: float,
    short_right: float = 1.0,
    long_right: float = 0.5,
    short_wrong: float = -1.0,
    long_wrong: float = -0.5,
    clamp: float = 0.0,
) -> Tensor:
    """Replace the reward by half a cosine of the length, separately for right and wrong responses.

        long + ½ (short − long) (1 + cos(π L_i / max))

    Args:
        rewards: [N] float, NaN where missing; only used to see which rows have one, and without `correct` which are right.
        length: [N] tokens, or characters as in open-r1.
        correct: [N], non-zero where right; None for rewards above 0.
        max: the length at which the cosine ends.
        short_right: reward of a right response of length 0.
        long_right: reward of a right response of length `max`.
        short_wrong: reward of a wrong response of length 0.
        long_wrong: reward of a wrong response of length `max`.
        clamp: non-zero to give longer responses the reward at `max`; otherwise the cosine turns back.

    Source:
        Yeo et al. 2025, arXiv:2502.03373. TRL 1.16.0, trl/rewards/accuracy_rewards.py, clamps; open-r1 1416fa0c and
        ms-swift 4.6.0, rewards/orm.py, do not, and ms-swift has -0.5 and 0 for wrong responses.
    """
    share = length / max
    wave = (1 + torch.cos(math.pi * (share.clamp(max=1) if clamp else share))) / 2
    solved = right(rewards, correct)
    shaped = torch.where(
        solved,
        long_right + (short_right - long_right) * wave,
        long_wrong + (short_wrong - long_wrong) * wave,
    )
    return torch.where(rewards.isfinite(), shaped, rewards)


def stop_properly(rewards: Tensor, truncated: Tensor, *, coef: float) -> Tensor:
    """Scale the rewards of truncated responses.

        coef · r_i where truncated

    Args:
        rewards: [N] float, NaN where missing.
        truncated: [N], non-zero where the response was cut off.
        coef: factor on the reward, from 0 to 1.

    Source:
        NeMo-RL 7ea279ab, reward_functions.py (`stop_properly_penalty_coef`).
    """
    return torch.where(truncated.nan_to_num(nan=0.0) != 0, coef * rewards, rewards)


def effort(
    rewards: Tensor,
    length: Tensor,
    low: Tensor,
    *,
    weight: float,
    penalty: float = 1.0,
    bound: float = 64000.0,
) -> Tensor:
    """Reward short responses to prompts that ask for low effort, and penalize those beyond a bound.

        r_i + r_i · max(g_i, 0) + penalty · min(g_i, 0), g_i = min(1, weight · (1 − L_i / bound)), where low effort is asked

    Args:
        rewards: [N] float, NaN where missing.
        length: [N] tokens.
        low: [N], non-zero where the prompt asks for low effort.
        weight: weight of the length; 0 for none.
        penalty: weight of the excess over the bound.
        bound: the length without bonus or penalty.

    Source:
        NeMo-RL 7ea279ab, experience/rollouts.py (effort levels).
    """
    gain = (weight * (1 - length / bound)).clamp(max=1)
    shaped = rewards + rewards * gain.clamp(min=0) + penalty * gain.clamp(max=0)
    return torch.where(low.nan_to_num(nan=0.0) != 0, shaped, rewards)


def duplicate(rewards: Tensor, group: Tensor, response: Tensor, *, alpha: float = 1.0) -> Tensor:
    """Divide the reward of a response by a power of its number of duplicates in the group.

        r_i / c_i^alpha, c_i = equal responses in the group, including itself

    Args:
        rewards: [N] float, NaN where missing.
        group: [N] int64, -1 for none.
        response: [N], equal numbers for equal responses; NaN for a response that is treated as unique.
        alpha: 1 to share one reward among duplicates, 0 for no discount.

    Source:
        no framework; the discount of exact duplicates by their count.
    """
    groups = Groups.of(rewards, group)
    counted = groups.counted(response)
    codes = torch.unique(torch.where(counted, response, torch.inf), return_inverse=True)[1]
    pairs = groups.segments.index * (int(codes.max()) + 1 if len(codes) else 1) + codes
    pairs = torch.unique(pairs, return_inverse=True)[1]
    count = torch.bincount(pairs[counted], minlength=int(pairs.max()) + 1 if len(pairs) else 0)[pairs]
    return torch.where(counted, rewards / count.to(rewards.dtype) ** alpha, rewards)
