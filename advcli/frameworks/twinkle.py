"""Drop-in replacements for twinkle's advantage classes.

Groups are positional: row i belongs to group i // num_generations. The arithmetic is that of
twinkle-kit 0.5.1 (`twinkle/advantage/grpo.py`, `rloo.py`): float32 for lists, else the dtype of the
tensor; ddof 1; 1e-8 added to the standard deviation. Dead groups are not special-cased, so rewards such as
eight times 0.1 give phantom advantages, as in training.

Twinkle's documentation shows −0.5 / 0.5 for `scale="group"`, but its code divides by the standard deviation,
and so do these classes. `scale="none"` gives the documented numbers.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

_EPS = 1e-8
_SCALES = ("group", "batch", "none")


class GRPOAdvantage:
    """Reward minus the mean of its group, divided by a standard deviation + 1e-8.

    Example:
        >>> GRPOAdvantage()([0.0, 1.0, 0.0, 1.0], num_generations=4, scale="none").tolist()
        [-0.5, 0.5, -0.5, 0.5]
    """

    def __call__(
        self, rewards: Tensor | Sequence[float], num_generations: int = 1, scale: str = "group", **_: object
    ) -> Tensor:
        """Compute the advantages.

        Args:
            rewards: [N] tensor or list; [N, K] is summed over the last axis.
            num_generations: rows per prompt. With 1, "group" returns the rewards unchanged, "none" subtracts the
                mean of the batch, and "batch" also divides by its standard deviation (by 1 if there is one row).
            scale: "group", "batch" (standard deviation of all raw rewards) or "none".
            **_: ignored, as twinkle does.

        Returns:
            [N] float, dtype and device of `rewards`; float32 for a list.

        Raises:
            ValueError: `num_generations` is not positive or does not divide N, or `scale` is unknown.
        """
        flat = _rows(rewards, num_generations, smallest=1, scale=scale)
        if num_generations == 1:
            return _ungrouped(flat, scale)
        grouped = flat.reshape(-1, num_generations)
        return _divided(grouped - grouped.mean(dim=1, keepdim=True), grouped, scale)


class RLOOAdvantage:
    """Reward minus the mean of the other rows of its group, divided by a standard deviation + 1e-8.

    Unlike the paper and most frameworks, twinkle divides by default.

    Example:
        >>> RLOOAdvantage()([1.0, 0.0, 0.0, 0.0], num_generations=4, scale="none")[0].item()
        1.0
    """

    def __call__(
        self, rewards: Tensor | Sequence[float], num_generations: int = 1, scale: str = "group", **_: object
    ) -> Tensor:
        """Compute the advantages.

        Args:
            rewards: [N] tensor or list; [N, K] is summed over the last axis.
            num_generations: rows per prompt, at least 2 (the default is twinkle's, and is an error).
            scale: "group", "batch" (standard deviation of all raw rewards) or "none".
            **_: ignored, as twinkle does.

        Returns:
            [N] float, dtype and device of `rewards`; float32 for a list.

        Raises:
            ValueError: `num_generations` is below 2 or does not divide N, or `scale` is unknown.
        """
        flat = _rows(rewards, num_generations, smallest=2, scale=scale)
        grouped = flat.reshape(-1, num_generations)
        others = (grouped.sum(dim=1, keepdim=True) - grouped) / (num_generations - 1)
        return _divided(grouped - others, grouped, scale)


def _rows(rewards: Tensor | Sequence[float], num_generations: int, *, smallest: int, scale: str) -> Tensor:
    """The rewards flattened to [N], after checking the arguments."""
    flat = rewards if isinstance(rewards, Tensor) else torch.tensor(rewards, dtype=torch.float32)
    if flat.dim() > 1:
        flat = flat.sum(dim=-1)
    if num_generations < smallest:
        raise ValueError(f"num_generations is {num_generations}, expected {smallest} or more")
    if flat.numel() % num_generations:
        raise ValueError(f"{flat.numel()} rewards cannot be divided into groups of {num_generations}")
    if scale not in _SCALES:
        raise ValueError(f"scale is '{scale}', expected one of {', '.join(_SCALES)}")
    return flat


def _ungrouped(flat: Tensor, scale: str) -> Tensor:
    """Twinkle's rule for one row per prompt."""
    if scale == "group":
        return flat
    centred = flat - flat.mean()
    if scale == "none":
        return centred
    return centred / ((flat.std() if flat.numel() > 1 else torch.ones_like(flat)) + _EPS)


def _divided(centred: Tensor, grouped: Tensor, scale: str) -> Tensor:
    """[G, n] centred rewards → [N], divided according to `scale`."""
    if scale == "group":
        centred = centred / (grouped.std(dim=1, keepdim=True) + _EPS)
    elif scale == "batch":
        centred = centred / (grouped.std() + _EPS)
    return centred.reshape(-1)
