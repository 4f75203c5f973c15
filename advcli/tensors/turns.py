"""Turns of rollouts: one row per turn, ordered by turn number or as in the file."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from advcli.tensors.segments import Segments


def turn_order(index: Tensor, turn: Tensor | None = None) -> Tensor:
    """The rows sorted by rollout, then by turn, [N] int64.

    Args:
        index: [N] int64, the rollout of each row.
        turn: [N] float, the number of each turn; None for row order. Ties stay in row order.

    Example:
        >>> turn_order(torch.tensor([0, 1, 0]), torch.tensor([1.0, 0.0, 0.0])).tolist()
        [2, 0, 1]
    """
    first = torch.arange(len(index), device=index.device)
    if turn is not None:
        first = torch.argsort(turn, stable=True)
    return first[torch.argsort(index[first], stable=True)]


@dataclass(frozen=True)
class Turns:
    """Rows that are turns, and the rollouts they belong to.

    Attributes:
        order: [N] int64, the rows sorted by rollout, then by turn.
        rollouts: the rollouts as segments of the rows in `order`.
    """

    order: Tensor
    rollouts: Segments

    @classmethod
    def of(cls, rollout: Tensor, turn: Tensor | None = None) -> "Turns":
        """Sort the turns.

        Args:
            rollout: [N] int64, equal for the turns of one rollout.
            turn: [N] float, the number of each turn; None for row order. Ties stay in row order.

        Example:
            >>> Turns.of(torch.tensor([0, 1, 0]), torch.tensor([1.0, 0.0, 0.0])).order.tolist()
            [2, 0, 1]
        """
        index = Segments.dense(rollout).index
        order = turn_order(index, turn)
        return cls(order, Segments.of(index[order]))

    def put_back(self, values: Tensor) -> Tensor:
        """Values in turn order → row order, [N]."""
        return torch.empty_like(values).index_copy_(0, self.order, values)

    @cached_property
    def position(self) -> Tensor:
        """[N] int64, how many turns of the rollout come before each row."""
        return self.put_back(self.rollouts.position())

    @cached_property
    def count(self) -> Tensor:
        """[N] int64, the number of turns in each row's rollout."""
        return self.put_back(self.rollouts.rows(self.rollouts.size()))

    @cached_property
    def last(self) -> Tensor:
        """[N] bool, the last turn of each rollout."""
        return self.position == self.count - 1

    @cached_property
    def before(self) -> Tensor:
        """[N] int64, the row of the previous turn; -1 for the first turn of a rollout."""
        result = torch.full_like(self.order, -1)
        result[1:] = torch.where(self.rollouts.position()[1:] > 0, self.order[:-1], -1)
        return self.put_back(result)

    def total(self, values: Tensor) -> Tensor:
        """[N] the sum over the turns of each row's rollout; `values`: [N] float."""
        return self.put_back(self.rollouts.rows(self.rollouts.sum(values[self.order])))

    def most(self, values: Tensor) -> Tensor:
        """[N] the largest value of each row's rollout; `values`: [N] float."""
        return self.put_back(self.rollouts.rows(self.rollouts.max(values[self.order])))

    def value_of(self, values: Tensor, turns: Tensor) -> Tensor:
        """[N] the value of one turn of each row's rollout.

        Args:
            values: [N] float.
            turns: [N] bool, that turn: exactly one per rollout.
        """
        return self.total(torch.where(turns, values, torch.zeros_like(values)))

    def to_go(self, values: Tensor, gamma: float) -> Tensor:
        """Σ_k γ^k v_{t+k} over each turn and those after it in its rollout, [N].

        Args:
            values: [N] float.
            gamma: the weight of the next turn.

        Example:
            >>> turns = Turns.of(torch.tensor([0, 0, 1]))
            >>> turns.to_go(torch.tensor([0.0, 1.0, 3.0]), 0.5).tolist()
            [0.5, 1.0, 3.0]
        """
        return self.put_back(self.rollouts.discounted(values[self.order], gamma))


def paired(first: Tensor, second: Tensor) -> Tensor:
    """One code per pair, [N] int64; a pair with -1 in the second gets its own code.

    Example:
        >>> paired(torch.tensor([0, 0, 1, 0]), torch.tensor([7, 7, 7, -1])).tolist()
        [0, 0, 1, 2]
    """
    if not len(first):
        return first
    codes = Segments.dense(second).index
    pairs = Segments.dense(first).index * (int(codes.max()) + 1) + codes
    own = int(pairs.max()) + 1 + torch.arange(len(pairs), device=pairs.device)
    index: Tensor = torch.unique(torch.where(second < 0, own, pairs), return_inverse=True)[1]
    return index


def same_turns(group: Tensor, turn: Tensor) -> Tensor:
    """One code per (group, turn number), [N] int64.

    Example:
        >>> same_turns(torch.tensor([0, 0, 0, 1]), torch.tensor([1.0, 2.0, 1.0, 1.0])).tolist()
        [0, 1, 0, 2]
    """
    return paired(group, torch.unique(turn, return_inverse=True)[1])


def histories(group: Tensor, anchor: Tensor, turns: Turns, longest: int) -> list[Tensor]:
    """For each k one code per group and last k states; [N] int64 each.

    Turns with fewer than k states, or with an unnamed one among them, get their own code.
    """
    key = paired(group, anchor)
    at = torch.arange(len(group), device=group.device)
    result = [key]
    for _ in range(longest - 1):
        at = torch.where(at < 0, -1, turns.before[at.clamp(min=0)])
        state = torch.where(at < 0, -1, anchor[at.clamp(min=0)])
        key = paired(key, state)
        result.append(key)
    return result


def progress(scores: Tensor, turns: Turns, gamma: float) -> tuple[Tensor, Tensor]:
    """How much each turn raised the score of the state, and its credit for its own rise and later ones.

    Args:
        scores: [N] float, NaN for a turn without a score, which made no progress.
        turns: the turns.
        gamma: a rise at turn t credits turn k with a share ∝ γ^(t−k); the shares sum to 1.

    Returns:
        [N] and [N]. The first score of a rollout is its starting point, not a rise.

    Example:
        >>> turns = Turns.of(torch.tensor([0, 0, 0]))
        >>> rise, credit = progress(torch.tensor([0.0, 0.5, 1.5]), turns, 1.0)
        >>> rise.tolist(), [round(share, 4) for share in credit.tolist()]
        ([0.0, 0.5, 1.0], [0.5833, 0.5833, 0.3333])
    """
    order, segments = turns.order, turns.rollouts
    values = scores[order]
    scored, position = values.isfinite(), torch.arange(len(values), dtype=torch.float64, device=values.device)
    # The latest scored turn so far, as a running maximum within the rollout.
    latest = torch.where(scored, position, -1.0)
    latest = torch.cummax(latest, dim=0).values if len(latest) else latest
    start = segments.rows(torch.cumsum(segments.size(), dim=0) - segments.size())
    previous = torch.full_like(latest, -1.0)
    previous[1:] = latest[:-1]
    known = scored & (previous >= start)
    rise = torch.where(known, values.nan_to_num(nan=0.0) - values[previous.clamp(min=0).long()], 0.0)
    at = segments.position().double()
    norm = at + 1 if gamma == 1 else (1 - gamma ** (at + 1)) / (1 - gamma)
    credit = segments.discounted(rise / norm, gamma)
    return turns.put_back(rise), turns.put_back(credit)
