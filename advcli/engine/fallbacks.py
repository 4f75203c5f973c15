"""Advantages for rows that have none: the only row of a group, or a row without a reward."""

from collections.abc import Mapping

import torch
from torch import Tensor

from advcli.common.errors import DataError
from advcli.common.wording import Remark, counted, verb
from advcli.tensors.masks import chosen, some
from advcli.tensors.turns import Turns


def singletons(
    original: Tensor, columns: Mapping[str, Tensor], valid: Tensor, rule: str, *, by_turn: bool = False
) -> Tensor:
    """[N] advantages with the rule for singletons applied: groups of one valid row, with `by_turn` of one rollout."""
    first = valid
    if by_turn:
        first = valid & (Turns.of(torch.where(valid, columns["rollout"], -1)).position == 0)
    group = columns["group"]
    sizes = torch.bincount(chosen(group, first), minlength=int(group.max()) + 1 if len(group) else 0)
    if not some(sizes == 1):
        return original
    alone = valid & (sizes[group.clamp(min=0)] == 1)
    if rule == "error" and alone.any():
        count = int((sizes == 1).sum())
        raise DataError(
            f"{counted(count, 'group')} {verb(count, 'has', 'have')} one valid row (first: row {_first(alone)}), "
            "expected two or more",
            hint="--singleton null, zero or raw",
        )
    fill = {"zero": torch.zeros_like(original), "raw": columns["rewards"]}
    return torch.where(alone, fill.get(rule, torch.full_like(original, torch.nan)), original)


def missing_rewards(original: Tensor, group: Tensor, valid: Tensor, rule: str) -> Tensor:
    """[N] advantages with the rule for rows without a usable reward applied; rows without a group stay undefined."""
    if rule == "null":
        return original
    missing = ~valid & (group >= 0)
    if rule == "error" and missing.any():
        raise DataError(
            f"{_are(int(missing.sum()), 'reward')} missing (first: row {_first(missing)}), expected a finite number",
            hint="--missing null or zero",
        )
    return torch.where(missing, 0.0, original) if rule == "zero" else original


def bounded(
    advantages: Tensor, columns: Mapping[str, Tensor], valid: Tensor
) -> tuple[Tensor, tuple[Remark, ...]]:
    """Advantages with overflows replaced by NaN, and a remark about them.

    Args:
        advantages: [N] float.
        columns: the rewards and groups, [N] each.
        valid: [N] bool, the rows used in the computation.
    """
    overflowed = torch.isinf(advantages)
    large = valid & (columns["rewards"].abs() > torch.finfo(advantages.dtype).max ** 0.5)
    if some(large):
        # An overflow inside the computation surfaces as NaN.
        group = columns["group"].clamp(min=0)
        with_large = torch.zeros(int(group.max()) + 1, dtype=torch.bool, device=group.device)
        with_large[group[large]] = True
        overflowed |= valid & with_large[group] & advantages.isnan()
    if not some(overflowed):
        return advantages, ()
    text = "too large for a float: null"
    count = int(overflowed.sum())
    remark = Remark(count, "advantage", f"{{}} is {text}", f"{{}} are {text}")
    return torch.where(overflowed, torch.nan, advantages), (remark,)


def _are(count: int, noun: str) -> str:
    return f"{counted(count, noun)} {verb(count, 'is', 'are')}"


def _first(mask: Tensor) -> int:
    """Position of the first True, counted from 1 as in a file."""
    return int(torch.nonzero(mask)[0]) + 1
