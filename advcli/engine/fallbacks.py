"""What a row gets that has no advantage of its own: the only one of its group, or one without a reward."""

from collections.abc import Mapping

import torch
from torch import Tensor

from advcli.errors import DataError
from advcli.tensors.masks import chosen
from advcli.tensors.segments import Segments
from advcli.wording import counted, verb


def singletons(original: Tensor, columns: Mapping[str, Tensor], valid: Tensor, rule: str) -> Tensor:
    """Give the only valid row of a group what the rule says."""
    segments = Segments.of(chosen(columns["group"], valid))
    if not (segments.size() == 1).any():
        return original
    alone = torch.zeros_like(valid)
    alone[valid] = segments.rows(segments.size()) == 1
    if rule == "error" and alone.any():
        many = int(alone.sum())
        raise DataError(
            f"{counted(many, 'group')} {verb(many, 'has', 'have')} one valid row (first: row {_first(alone)}), "
            "expected two or more",
            hint="--singleton null, zero or raw",
        )
    fill = {"zero": torch.zeros_like(original), "raw": columns["rewards"]}
    return torch.where(alone, fill.get(rule, torch.full_like(original, torch.nan)), original)


def missing_rewards(original: Tensor, group: Tensor, valid: Tensor, rule: str) -> Tensor:
    """Give rows without a usable reward what the rule says; rows without a group stay undefined."""
    if rule == "null":
        return original
    missing = ~valid & (group >= 0)
    if rule == "error" and missing.any():
        raise DataError(
            f"{_are(int(missing.sum()), 'reward')} missing (first: row {_first(missing)}), expected a finite number",
            hint="--missing null or zero",
        )
    return torch.where(missing, 0.0, original) if rule == "zero" else original


def _are(many: int, noun: str) -> str:
    return f"{counted(many, noun)} {verb(many, 'is', 'are')}"


def _first(mask: Tensor) -> int:
    """Position of the first True, counted from 1 as in a file."""
    return int(torch.nonzero(mask)[0]) + 1
