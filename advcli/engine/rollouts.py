"""Rollouts of several rows: collapse each to one row, compute, and broadcast the result to all its rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from advcli.common.errors import DataError
from advcli.common.wording import Remark, counted
from advcli.engine.weighing import weighted
from advcli.frameworks.rule import Unit
from advcli.records.settings import AdvantageTable
from advcli.tensors.segments import Segments
from advcli.tensors.turns import turn_order

REWARDS = ("last", "first", "sum")
"""How a rollout gets its reward: from its last or first turn that has one, or as the sum of its turns."""

# Columns summed over the turns.
_SUMMED = ("lengths", "kl", "tokens")
# Columns with one number per token, flattened row by row.
_PER_TOKEN = (
    "values",
    "log_probs",
    "rollout_log_probs",
    "teacher_log_probs",
    "sum_pi_squared",
    "mask",
    "trained",
    "token_kl",
    "entropies",
)


def differing(number: int, how: str, place: str = "") -> Remark:
    """A remark about rollouts whose rows have different rewards, only one of which counts.

    Args:
        number: how many rollouts.
        how: which reward counts, "last" or "first".
        place: the first of their rows, as file:line.
    """
    first = f" (first: {place})" if place else ""
    text = f"rows with different rewards{first}: the {how} turn's counts"
    return Remark(number, "rollout", f"{{}} has {text}", f"{{}} have {text}")


@dataclass(frozen=True)
class Rollouts:
    """Maps rows to rollouts.

    Attributes:
        index: [N] int64 in [0, R), the rollout of each row; a row without one is a rollout of its own.
        count: R.
        order: [N] int64, the rows sorted by rollout, then by turn.
    """

    index: Tensor
    count: int
    order: Tensor

    @classmethod
    def of(cls, index: Tensor, turn: Tensor | None = None) -> "Rollouts":
        """Sort the turns.

        Args:
            index: [N] int64, numbered in order of first appearance; a subset of the rows may have gaps.
            turn: [N] float, the turn number within the rollout; None or NaN for file order.

        Example:
            >>> Rollouts.of(torch.tensor([0, 1, 0]), torch.tensor([2.0, 0.0, 1.0])).order.tolist()
            [2, 0, 1]
        """
        index = Segments.dense(index).index
        order = turn_order(index, None if turn is None else turn.nan_to_num(nan=0.0))
        return cls(index, int(index.max()) + 1 if len(index) else 0, order)

    @cached_property
    def segments(self) -> Segments:
        """The rollouts as segments of the rows in `order`."""
        return Segments(self.index[self.order], self.count, None)

    @cached_property
    def turns(self) -> Tensor:
        """[R] int64, the number of rows in each rollout."""
        return torch.bincount(self.index, minlength=self.count)

    @cached_property
    def several(self) -> bool:
        """Whether any rollout has several rows."""
        return bool((self.turns > 1).any())

    @cached_property
    def last(self) -> Tensor:
        """[R] int64, the row of each rollout's last turn."""
        return self.order[torch.cumsum(self.turns, dim=0) - 1]

    def reward(self, rewards: Tensor, how: str) -> Tensor:
        """The reward of each rollout.

        Args:
            rewards: [N] float, NaN or ±inf where missing.
            how: one of `REWARDS`; turns without a reward are skipped.

        Returns:
            [R]; where no turn has a reward, the last turn's (missing) value.

        Example:
            >>> two = Rollouts.of(torch.tensor([0, 0, 1]))
            >>> two.reward(torch.tensor([0.5, torch.nan, 1.0]), "last").tolist()
            [0.5, 1.0]
        """
        values = rewards[self.order]
        present = values.isfinite()
        if how == "sum":
            total = self.segments.sum(
                torch.where(present | values.isnan(), values.nan_to_num(nan=0.0), torch.nan)
            )
        else:
            position = torch.arange(len(values), device=values.device, dtype=torch.float64)
            sign = 1.0 if how == "last" else -1.0
            result = sign * self.segments.max(torch.where(present, sign * position, -torch.inf))
            total = values[result.nan_to_num(posinf=0.0, neginf=0.0).long()]
        none = self.segments.sum(present.to(rewards.dtype)) == 0
        return torch.where(none, rewards[self.last], total)

    def disagree(self, rewards: Tensor, least: float = 0.0) -> Tensor:
        """[R] bool, the rollouts whose turns' rewards differ by more than `least`."""
        values = rewards[self.order]
        present = values.isfinite()
        high = self.segments.max(torch.where(present, values, -torch.inf))
        low = self.segments.min(torch.where(present, values, torch.inf))
        return high - low > least

    def collapsed(self, columns: Mapping[str, Tensor], how: str) -> dict[str, Tensor]:
        """The columns with one row per rollout.

        Args:
            columns: as `advantages.run` takes them.
            how: how a rollout gets its reward, see `reward`.

        Returns:
            [R] each: rewards as `reward` gives them, lengths and KL summed over the turns, the tokens of all turns
            concatenated, and the last turn's value of everything else.
        """
        result = {}
        for name, column in columns.items():
            if name in ("rollout", "turn"):
                continue
            if name == "weights":
                result[name] = column
            elif name in _PER_TOKEN:
                result[name] = column[self.tokens(columns["tokens"])]
            elif name == "rewards":
                result[name] = self.reward(column, how)
            elif name == "parts":
                result[name] = torch.stack([self.reward(part, how) for part in column.unbind(dim=1)], dim=1)
            elif name in _SUMMED:
                result[name] = self.summed(column)
            else:
                result[name] = column[self.last]
        return result

    def summed(self, values: Tensor) -> Tensor:
        """[R] the sum over each rollout's turns."""
        return self.segments.sum(values[self.order])

    def tokens(self, counts: Tensor) -> Tensor:
        """[T] int64, token positions, ordered so that the turns of a rollout are contiguous."""
        starts = (torch.cumsum(counts, dim=0) - counts)[self.order]
        counts = counts[self.order]
        begins = torch.cumsum(counts, dim=0) - counts
        return torch.arange(int(counts.sum()), device=counts.device) + torch.repeat_interleave(
            starts - begins, counts
        )

    def broadcast(self, result: AdvantageTable) -> AdvantageTable:
        """[N] each: every row gets the result of its rollout ([R] each, on the CPU)."""
        index = self.index
        same = result.processed is result.original
        original = result.original[index]
        processed = original if same else result.processed[index]
        return replace(
            result, original=original, processed=processed, kept=result.kept[index], per_rollout=result
        )


def by_rollout(
    rollouts: Rollouts,
    columns: Mapping[str, Tensor],
    unit: Unit,
    compute: Callable[[Mapping[str, Tensor]], AdvantageTable],
    *,
    who: str,
) -> AdvantageTable:
    """Compute on one row per rollout, and broadcast the result to its rows.

    Args:
        rollouts: the rollout of each row.
        columns: as `advantages.run` takes them.
        unit: what is counted.
        compute: gives the advantages of [R] columns, on the CPU.
        who: the name of the rule, for messages.

    Raises:
        DataError: the framework rejects such rollouts.
    """
    if unit.counts == "refused":
        raise DataError(f"{who} refuses rollouts of several rows", hint="--count rows")
    if unit.differ is not None:
        _refuse_differing(who, rollouts, columns["rewards"], unit.differ)
    result = compute(rollouts.collapsed(columns, unit.reward))
    if result.weights is not None:
        return _with_weights(rollouts, rollouts.broadcast(result), columns["tokens"])
    if not unit.at_last or "lengths" not in columns:
        return rollouts.broadcast(result)
    empty = columns["lengths"] == 0
    result = rollouts.broadcast(_where(result, empty[rollouts.last], 0.0))
    return replace(_where(result, empty, torch.nan), kept=result.kept & ~empty)


def divided(
    result: AdvantageTable, rollouts: Rollouts, columns: Mapping[str, Tensor], by: str
) -> AdvantageTable:
    """Advantages divided by the rows of their rollout, or by its tokens times the rows of its step.

    Args:
        result: [N] each, on the CPU.
        rollouts: the rollout of each row.
        columns: as `advantages.run` takes them.
        by: "rows", or "tokens" as in a loss that is a mean over rollouts.
    """
    divisor = rollouts.turns.double()
    if by == "tokens":
        steps = Segments.of(columns["step"].cpu())
        divisor = rollouts.summed(columns["lengths"].cpu()) * steps.rows(steps.size())[rollouts.last]
    inner = result.per_rollout and _over(result.per_rollout, divisor)
    return replace(_over(result, divisor[rollouts.index]), per_rollout=inner)


def _over(result: AdvantageTable, divisor: Tensor) -> AdvantageTable:
    original = result.original / divisor
    same = result.processed is result.original
    return replace(
        result,
        original=original,
        processed=original if same else result.processed / divisor,
        weighted=None if result.weighted is None else result.weighted / divisor,
    )


def _with_weights(rollouts: Rollouts, result: AdvantageTable, counts: Tensor) -> AdvantageTable:
    """The result with its token weights moved from rollout order to row order."""
    assert result.weights is not None
    weights = torch.empty_like(result.weights)
    weights[rollouts.tokens(counts)] = result.weights
    return weighted(result, weights, counts)


def _where(result: AdvantageTable, rows: Tensor, value: float) -> AdvantageTable:
    """The result with `value` as the advantage of the given rows."""
    original = torch.where(rows, value, result.original)
    same = result.processed is result.original
    return replace(
        result,
        original=original,
        processed=original if same else torch.where(rows, value, result.processed),
    )


def _refuse_differing(who: str, rollouts: Rollouts, rewards: Tensor, least: float) -> None:
    """Reject rollouts whose rows have different rewards.

    Raises:
        DataError: there is one.
    """
    differ = rollouts.disagree(rewards, least)
    if differ.any():
        row = int(torch.nonzero(differ[rollouts.index])[0]) + 1
        raise DataError(
            f"{who} refuses rollouts whose rows differ in their reward: {counted(int(differ.sum()), 'rollout')} "
            f"(first: row {row})",
            hint="--count rows",
        )
