"""The turns of rollouts: one row each, in the order of the file or of their numbers."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from advcli.tensors.segments import Segments


@dataclass(frozen=True)
class Turns:
    """Rows that are turns, and the rollouts that they belong to.

    Attributes:
        order: [N] int64, the rows, rollout after rollout, each in the order of its turns.
        rollouts: the rollouts as segments of the rows in `order`.
    """

    order: Tensor
    rollouts: Segments

    @classmethod
    def of(cls, rollout: Tensor, turn: Tensor | None = None) -> "Turns":
        """Sort the turns.

        Args:
            rollout: [N] int64, equal for the turns of one rollout.
            turn: [N] float, the number of each turn; None for the order of the rows. Equal numbers keep that order.

        Example:
            >>> Turns.of(torch.tensor([0, 1, 0]), torch.tensor([1.0, 0.0, 0.0])).order.tolist()
            [2, 0, 1]
        """
        index = Segments.dense(rollout).index
        first = torch.arange(len(index), device=index.device)
        if turn is not None:
            first = torch.argsort(turn, stable=True)
        order = first[torch.argsort(index[first], stable=True)]
        return cls(order, Segments.of(index[order]))

    def put_back(self, values: Tensor) -> Tensor:
        """Values in turn order as they belong to the rows, [N]."""
        return torch.empty_like(values).index_copy_(0, self.order, values)

    @cached_property
    def position(self) -> Tensor:
        """[N] int64, how many turns of its rollout come before each row."""
        return self.put_back(self.rollouts.position())

    @cached_property
    def count(self) -> Tensor:
        """[N] int64, how many turns the rollout of each row has."""
        return self.put_back(self.rollouts.rows(self.rollouts.size()))

    @cached_property
    def last(self) -> Tensor:
        """[N] bool, the last turn of each rollout."""
        return self.position == self.count - 1

    @cached_property
    def before(self) -> Tensor:
        """[N] int64, the row of the turn before; -1 for the first of a rollout."""
        found = torch.full_like(self.order, -1)
        found[1:] = torch.where(self.rollouts.position()[1:] > 0, self.order[:-1], -1)
        return self.put_back(found)

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
            turns: [N] bool, that turn: one in each rollout.
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
    """One number for each pair of two, [N] int64; a pair with -1 in the second is equal to no other.

    Example:
        >>> paired(torch.tensor([0, 0, 1, 0]), torch.tensor([7, 7, 7, -1])).tolist()
        [0, 0, 1, 2]
    """
    if not len(first):
        return first
    codes = Segments.dense(second).index
    pairs = Segments.dense(first).index * (int(codes.max()) + 1) + codes
    own = int(pairs.max()) + 1 + torch.arange(len(pairs), device=pairs.device)
    return torch.unique(torch.where(second < 0, own, pairs), return_inverse=True)[1]
