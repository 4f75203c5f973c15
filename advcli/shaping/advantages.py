"""Shaping of advantages after the estimator."""

import torch
from torch import Tensor

from advcli.shaping.groups import Groups
from advcli.shaping.lengths import right


def difficulty(  # noqa: PLR0913  the knobs of the source
    advantages: Tensor,
    rewards: Tensor,
    group: Tensor,
    correct: Tensor | None,
    *,
    low: float = 0.4,
    high: float = 1.5,
    middle: float = 0.75,
    steepness: float = 10.0,
) -> Tensor:
    """Weight advantages by prompt difficulty: right answers to hard prompts and wrong ones to easy prompts count more.

        A_i · (low + (high − low) / (1 + exp(steepness · (x − middle)))), x = share of right answers if A_i > 0, else 1 − it

    Args:
        advantages: [N] float, NaN where undefined.
        rewards: [N] float, NaN where missing.
        group: [N] int64, -1 for none.
        correct: [N], non-zero where right; None for rewards above 0.
        low: weight of an expected answer.
        high: weight of a surprising answer.
        middle: the share at which the weight is halfway between.
        steepness: steepness of the transition.

    Source:
        GRPO-LEAD 9344bef7, verl/trainer/ppo/core_algos.py; arXiv:2504.09696. z is the GRPO of verl there.
    """
    groups = Groups.of(rewards, group)
    share = groups.count(right(rewards, correct)) / groups.count(groups.used)
    answer_share = torch.where(advantages > 0, share, 1 - share)
    weight = low + (high - low) / (1 + torch.exp(steepness * (answer_share - middle)))
    return advantages * weight.to(advantages.dtype)


def entropy(advantages: Tensor, entropies: Tensor, *, alpha: float = 0.4, kappa: float = 2.0) -> Tensor:
    """Add a bonus for uncertain tokens, limited to a share of the advantage.

        A_t + min(alpha · H_t, |A_t| / kappa)

    Args:
        advantages: [T] float, the advantage at each token.
        entropies: [T] float, the entropy of the policy at each token, in nats.
        alpha: weight of the entropy.
        kappa: the bonus is at most |A| / kappa, so that no sign changes if kappa > 1.

    Returns:
        [T]; an advantage of 0 stays 0; NaN where the entropy is NaN.

    Source:
        Cheng et al. 2025, arXiv:2506.14758.
    """
    return advantages + torch.minimum(alpha * entropies, advantages.abs() / kappa)
