"""On-policy distillation: the advantage is the log-ratio of teacher over policy probability."""

import torch
from torch import Tensor


def distilled(teacher_log_probs: Tensor, log_probs: Tensor, *, dtype: str = "float32") -> Tensor:
    """The log-probability under the teacher minus that under the trainer's policy: one sample of minus the reverse KL.

    Args:
        teacher_log_probs: [T] float, of each token.
        log_probs: [T] float, under the trainer's policy.
        dtype: what the trainer computes in.

    Returns:
        [T] in `dtype`; the reward is not used.

    Example:
        >>> distilled(torch.tensor([-0.25, -2.0]), torch.tensor([-0.5, -1.0])).tolist()
        [0.25, -1.0]
    """
    teacher, student = (column.to(getattr(torch, dtype)) for column in (teacher_log_probs, log_probs))
    return teacher - student
