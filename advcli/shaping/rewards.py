"""Reward shaping steps of trainers, as pure functions."""

from torch import Tensor


def overlong(
    rewards: Tensor,
    lengths: Tensor,
    *,
    max: float,
    buffer: float,
    factor: float = 1.0,
    cap: float = 0.0,
) -> Tensor:
    """Penalize overlong responses, with a penalty that grows linearly over a buffer before the maximum length.

        r_i + min(0, (max − buffer − L_i) / buffer · factor)

    Args:
        rewards: [N] float, NaN where missing, in the unit of the dump.
        lengths: [N] float, tokens per row.
        max: the maximum length, in tokens.
        buffer: tokens before `max` over which the penalty grows from 0 to `factor`.
        factor: the penalty at `max`, in the unit of the rewards.
        cap: non-zero to limit the penalty to `factor`, since a row can be longer than `max`.

    Returns:
        [N], dtype and device of `rewards`; NaN where the reward or the length is NaN.

    Raises:
        RuntimeError: the columns differ in length.

    Source:
        Yu et al. 2025, DAPO, arXiv:2503.14476, equation 13, where a row beyond `max` gets −factor. verl
        (workers/reward_manager/dapo.py) and NeMo RL have no cap; OpenRLHF has one.

    Example:
        >>> import torch
        >>> r, tokens = torch.tensor([1.0, 1.0, 1.0]), torch.tensor([50.0, 90.0, 120.0])
        >>> (
        ...     overlong(r, tokens, max=100, buffer=20).tolist(),
        ...     overlong(r, tokens, max=100, buffer=20, cap=1).tolist(),
        ... )
        ([1.0, 0.5, -1.0], [1.0, 0.5, 0.0])
    """
    penalty = ((max - buffer - lengths.to(rewards.dtype)) / buffer * factor).clamp(max=0)
    return rewards + (penalty.clamp(min=-factor) if cap else penalty)


def affine(rewards: Tensor, *, scale: float = 1.0, shift: float = 0.0) -> Tensor:
    """Shift, then scale.

        scale · (r_i + shift)

    Args:
        rewards: [N] float, NaN where missing.
        scale: factor.
        shift: added first, in the unit of the rewards.

    Returns:
        [N], dtype and device of `rewards`.

    Source:
        AReaL, areal/trainer/ppo/actor.py: reward_bias is the shift, reward_scaling the scale.

    Example:
        >>> import torch
        >>> affine(torch.tensor([1.0, 0.0]), scale=10, shift=-0.5).tolist()
        [5.0, -5.0]
    """
    return scale * (rewards + shift)


def clip(rewards: Tensor, *, min: float, max: float) -> Tensor:
    """Clip rewards to a range.

    Args:
        rewards: [N] float, NaN where missing.
        min: lowest reward.
        max: highest reward.

    Returns:
        [N], dtype and device of `rewards`; NaN stays NaN.

    Source:
        TRL, trl/trainer/rloo_trainer.py: reward_clip_range.

    Example:
        >>> import torch
        >>> clip(torch.tensor([7.0, 0.5]), min=-1, max=1).tolist()
        [1.0, 0.5]
    """
    return rewards.clamp(min, max)


def less_kl(rewards: Tensor, kl: Tensor, *, coef: float) -> Tensor:
    """Subtract the KL divergence from the reference policy.

        r_i − coef · KL_i

    Args:
        rewards: [N] float, NaN where missing.
        kl: [N] float, KL of each row in nats; for a list per row, the sum over its tokens.
        coef: β, in the unit of the rewards per nat.

    Returns:
        [N], dtype and device of `rewards`; NaN where the reward or the KL is NaN.

    Source:
        Ouyang et al. 2022, arXiv:2203.02155, equation 2; verl's use_kl_in_reward.

    Example:
        >>> import torch
        >>> less_kl(torch.tensor([1.0]), torch.tensor([2.0]), coef=0.25).tolist()
        [0.5]
    """
    # Two operations, rounded separately as in trainers.
    return rewards - coef * kl
