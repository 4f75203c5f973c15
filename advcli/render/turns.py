"""Rollouts of several rows as the rows of two tables, and a sentence."""

import math
from collections.abc import Iterator, Sequence

from advcli.records.results.inspection import Turns
from advcli.render.bars import bar
from advcli.render.numbers import count, number, share, short

# More numbers of turns than this are summed up in one line.
_SHOWN = 10

_Table = tuple[Sequence[str], list[Sequence[str]]]


def figures(turns: Turns) -> _Table:
    """Header and one line: how many there are, and what counting rows does to the mean reward."""
    header = ("rollouts", "turns: mean", "max", "several steps", "rewards differ", "reward", "by rows")
    cells = (
        count(turns.rollouts),
        short(turns.turns_mean),
        count(turns.turns_max),
        count(turns.several_steps),
        count(turns.differ),
        number(turns.reward_by_rollouts),
        number(turns.reward_by_rows),
    )
    return header, [cells]


def weight(turns: Turns) -> Iterator[str]:
    """The weight of the longest rollout in its group, counted both ways."""
    if not math.isnan(turns.largest_share_of_rows):
        of_rows, of_rollouts = share(turns.largest_share_of_rows), share(turns.its_share_of_rollouts)
        yield f"counted by rows, one rollout is {of_rows} of its group; by rollouts, {of_rollouts}"


def anchors(turns: Turns) -> Iterator[str]:
    """How often turns begin in the same state, and what that does to groups of equal rewards."""
    result = turns.anchors
    if result is None or not result.turns:
        return
    yield (
        f"states: {count(result.states)} in {count(result.turns)} turns; "
        f"{share(result.shared_share)} of the turns begin in one that "
        "another turn of their group begins in"
    )
    if not math.isnan(result.only_share):
        yield (
            f"groups with signal through states alone: {share(result.only_share)}; with equal rewards: "
            f"{share(result.dead_share)}"
        )


def by_turns(turns: Turns) -> _Table:
    """Header and lines: the mean reward by the number of turns; the longest rollouts together."""
    shown, rest = turns.by_turns[:_SHOWN], turns.by_turns[_SHOWN:]
    lines = [(f"{one.turns:,}", one.rollouts, one.reward_mean) for one in shown]
    if rest:
        known = [one for one in rest if not math.isnan(one.reward_mean)]
        many = sum(one.rollouts for one in known)
        mean = sum(one.rollouts * one.reward_mean for one in known) / many if many else math.nan
        lines.append((f"{rest[0].turns:,} or more", sum(one.rollouts for one in rest), mean))
    rewards = [reward for _, _, reward in lines]
    cells = [(name, count(many), short(reward), bar(reward, rewards)) for name, many, reward in lines]
    return ("turns", "rollouts", "reward", ""), [*cells]
