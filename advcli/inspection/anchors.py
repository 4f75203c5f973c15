"""States before turns: how often turns share a state, and which groups have signal through states alone."""

from dataclasses import dataclass

import torch

from advcli.dataset.load import DataSet
from advcli.records.mergeable import Mergeable
from advcli.records.results.inspection import Anchors
from advcli.tensors.segments import Segments
from advcli.tensors.turns import Turns, paired

GAMMA = 0.95
"""The discount of returns in the GiGPO paper."""
# Returns that differ by less count as equal.
_SAME = 1e-9


@dataclass(frozen=True)
class AnchorsCount(Mergeable):
    """Mergeable counts of states, for whole groups.

    Attributes:
        turns: turns with a state.
        shared: those whose state occurs in another turn of the group.
        states: number of states, counted within each group.
        groups: groups with several rollouts.
        dead: those in which all rollouts have equal rewards.
        only: dead groups in which turns from the same state have different returns.
    """

    turns: int
    shared: int
    states: int
    groups: int
    dead: int
    only: int

    @classmethod
    def of(cls, data: DataSet) -> "AnchorsCount | None":
        """Count; None without a column of states or of rollouts.

        If the rows of a rollout have different rewards, they are rewards of turns; else they are the rollout's reward, which
        counts once.
        """
        if data.rollouts is None or "anchor" not in data.table.roles:
            return None
        columns = data.columns()
        grouped = columns["group"] >= 0
        columns = {
            name: columns[name][grouped]
            for name in ("rewards", "group", "rollout", "anchor", "turn")
            if name in columns
        }
        group, anchor, rewards = columns["group"], columns["anchor"], columns["rewards"].nan_to_num(nan=0.0)
        position = Turns.of(columns["rollout"]).position.double()
        turn = columns.get("turn")
        turns = Turns.of(
            columns["rollout"], position if turn is None else torch.where(turn.isnan(), position, turn)
        )
        by_turn = turns.most(rewards) > -turns.most(-rewards)
        rewards = torch.where(by_turn | turns.last, rewards, 0.0)
        to_go, total = turns.to_go(rewards, GAMMA), turns.total(rewards)
        groups = Segments.of(group, data.grouping.count)
        state = Segments.of(paired(group, anchor))
        named, alone = anchor >= 0, state.rows(state.size()) == 1
        differ = state.rows(state.max(to_go) - state.min(to_go)) > _SAME
        rollouts = groups.sum((turns.position == 0).double())
        several = rollouts > 1
        dead = several & (groups.max(total) - groups.min(total) <= _SAME)
        only = dead & (groups.max((differ & named).double()) > 0)
        return cls(
            turns=int(named.sum()),
            shared=int((named & ~alone).sum()),
            states=len(torch.unique(state.index[named])),
            groups=int(several.sum()),
            dead=int(dead.sum()),
            only=int(only.sum()),
        )

    def figures(self) -> Anchors:
        """The figures, once all groups are counted."""
        return Anchors(
            turns=self.turns,
            states=self.states,
            shared_share=self.shared / self.turns if self.turns else torch.nan,
            dead_share=self.dead / self.groups if self.groups else torch.nan,
            only_share=self.only / self.groups if self.groups else torch.nan,
        )
