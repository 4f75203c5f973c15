"""Prepares turns as the rows of an estimator: fills in missing columns and flattens lists of turns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

import torch
from torch import Tensor

from advcli.common.errors import DataError
from advcli.common.wording import shortened
from advcli.engine.rollouts import Rollouts
from advcli.estimators.catalog import Estimator
from advcli.records.settings import AdvantageTable
from advcli.tensors.segments import Segments
from advcli.tensors.turns import Turns

# How many turns the warning lists.
_REACHED = 6
# Columns that are not copied to the turns when each turn becomes a row.
_LISTED = ("turn_rewards", "turn_counts")

_DEFAULTS: Mapping[str, Callable[[Mapping[str, Tensor], Turns], Tensor]] = {
    "episode": lambda columns, turns: _summed(columns["rewards"], turns),
    "valid": lambda columns, turns: torch.ones_like(columns["rewards"]),
    "env_step": lambda columns, turns: torch.full_like(columns["rewards"], torch.nan),
    "agent": lambda columns, turns: torch.zeros_like(columns["group"]),
    "input_tokens": lambda columns, turns: torch.zeros_like(columns["rewards"]),
}
"""Role → its default if the dump has no such column: a rollout's reward is the sum of its turns, every action is valid, ..."""
MADE = frozenset({"turn", *_DEFAULTS})
"""Columns with a default, which the dump need not have."""


def as_turns(
    columns: Mapping[str, Tensor],
    rollout: Tensor | None,
    compute: Callable[[Mapping[str, Tensor]], AdvantageTable],
    *,
    entry: Estimator,
    reward: str | None,
) -> AdvantageTable:
    """The advantages, computed with one row per turn.

    Args:
        columns: as `run` takes them, or with "turn_rewards" [T] and "turn_counts" [N] where a row is a rollout.
        rollout: [N] int64, the rollout of each row, or None.
        compute: gives the advantages of such columns.
        entry: the estimator.
        reward: "last" or "first" if every row repeats the reward of its rollout, which then counts once, at the last turn.

    Raises:
        DataError: no column says which rows are turns of one rollout.
    """
    needs = entry.needs
    if "turn_rewards" in columns:
        return _of_lists(columns, compute, entry)
    if rollout is None and ("rollout" in needs or "turn" not in columns):
        raise DataError(
            f"{entry.name} needs the turns of each rollout, but no column says which rows they are",
            hint="--rollout-col COL, or --turn-rewards-col COL with a list per row (in Python: rollouts, turn_rewards)",
        )
    if rollout is None:
        # Comparing turns of equal number needs the numbers only.
        rollout = torch.arange(len(columns["group"]))
    if reward in ("last", "first"):
        columns = {**columns, "rewards": _once(columns, rollout, reward)}
    full = completed({**columns, "rollout": rollout}, needs)
    return _with_reach(compute(full), full, entry)


def _with_reach(result: AdvantageTable, columns: Mapping[str, Tensor], entry: Estimator) -> AdvantageTable:
    """The result with a warning about how many rollouts reach each turn, if the estimator compares equal turns."""
    if not entry.biased:
        return result
    used = columns["group"] >= 0
    turns, count = torch.unique(columns["turn"][used], return_counts=True)
    if not len(count) or bool((count == count[0]).all()):
        return result
    reached = [f"{rows:,} turn {turn:g}" for turn, rows in zip(turns.tolist(), count.tolist(), strict=True)]
    warning = (
        f"{entry.name} compares equal turns, which is biased where the policy decides when to stop; rollouts that reach each: "
        f"{shortened(reached, _REACHED)}"
    )
    return replace(result, warnings=(*result.warnings, warning))


def completed(columns: Mapping[str, Tensor], needs: Sequence[str]) -> dict[str, Tensor]:
    """The columns plus defaults for those the estimator needs and the dump lacks."""
    result = dict(columns)
    turn = result.get("turn")
    turns = Turns.of(result["rollout"])
    position = turns.position.to(result["rewards"].dtype)
    result["turn"] = position if turn is None else torch.where(turn.isnan(), position, turn)
    return result | {
        role: make(result, turns) for role, make in _DEFAULTS.items() if role in needs and role not in result
    }


def _summed(rewards: Tensor, turns: Turns) -> Tensor:
    """[N] the sum of the turns that have a reward; NaN in rollouts without one."""
    scored = turns.total(rewards.isfinite().to(rewards.dtype)) > 0
    return torch.where(scored, turns.total(rewards.nan_to_num(nan=0.0)), torch.nan)


def _once(columns: Mapping[str, Tensor], rollout: Tensor, reward: str) -> Tensor:
    """[N] the reward of each rollout on its last turn, 0 on the others."""
    rollouts = Rollouts.of(rollout, columns.get("turn"))
    result = torch.zeros_like(columns["rewards"])
    result[rollouts.last] = rollouts.reward(columns["rewards"], reward)
    return result


def _of_lists(
    columns: Mapping[str, Tensor],
    compute: Callable[[Mapping[str, Tensor]], AdvantageTable],
    entry: Estimator,
) -> AdvantageTable:
    """Flatten lists of turns to rows, compute, and return the turns' advantages, with their mean as the rollout's."""
    counts = columns["turn_counts"]
    row = torch.repeat_interleave(counts)
    rollouts = Segments.of(row, len(counts))
    # A turn is numbered by its place in the list.
    per_turn = {
        name: column[row] if len(column) == len(counts) else column
        for name, column in columns.items()
        if name not in ("weights", "parts", "turn", *_LISTED)
    }
    turns = {"rewards": columns["turn_rewards"], "rollout": row}
    full = completed({"episode": columns["rewards"][row], **per_turn, **turns}, entry.needs)
    result = _with_reach(compute(full), full, entry)
    size = rollouts.size().to(result.original.dtype)
    original = rollouts.sum(result.original) / size
    return replace(
        result,
        original=original,
        processed=original,
        kept=~original.isnan(),
        turns=result.original,
        turn_counts=counts,
    )


def alike(texts: Sequence[str | None], group: Sequence[int], threshold: float) -> Tensor:
    """[N] int64, one code per state; a state gets the code of the first similar one in its group.

    Args:
        texts: the state before each turn, None for none.
        group: the prompt of each row.
        threshold: the ratio of `difflib.SequenceMatcher` from which two states count as equal.

    Returns:
        Numbers in order of first appearance, -1 for None.

    Example:
        >>> alike(["a red door", "a red doos", "the sea"], [0, 0, 0], 0.9).tolist()
        [0, 0, 1]
    """
    seen: dict[int, list[tuple[str, int]]] = {}
    result, count = [], 0
    for text, of in zip(texts, group, strict=True):
        if text is None:
            result.append(-1)
            continue
        known = seen.setdefault(of, [])
        similar = (code for first, code in known if SequenceMatcher(None, text, first).ratio() >= threshold)
        code = next(similar, None)
        if code is None:
            code, count = count, count + 1
            known.append((text, code))
        result.append(code)
    return torch.tensor(result, dtype=torch.int64)
