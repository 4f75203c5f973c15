"""Tables and sentences about rollouts of several rows."""

import math
from collections.abc import Iterator, Sequence

from advcli.records.results.inspection import Turns
from advcli.render.bars import bar
from advcli.render.numbers import count, number, share, short

# Number of lines by turns; the longest rollouts are merged into one more.
_SHOWN = 10

_Table = tuple[Sequence[str], list[Sequence[str]]]


def figures(turns: Turns) -> _Table:
    """Header and one line: counts, and the mean reward by rollouts and by rows."""
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
    """How often turns begin in the same state, and the signal that this gives groups of equal rewards."""
    result = turns.anchors
    if result is None or not result.turns:
        return
    yield (
        f"states: {count(result.states)} in {count(result.turns)} turns; "
        f"{share(result.shared_share)} of the turns begin in the same state as another turn of their group"
    )
    if not math.isnan(result.only_share):
        yield (
            f"groups with signal through states alone: {share(result.only_share)}; with equal rewards: "
            f"{share(result.dead_share)}"
        )


def by_turns(turns: Turns) -> _Table:
    """Header and lines: the mean reward by the number of turns; the longest rollouts are merged."""
    shown, rest = turns.by_turns[:_SHOWN], turns.by_turns[_SHOWN:]
    lines = [(f"{part.turns:,}", part.rollouts, part.reward_mean) for part in shown]
    if rest:
        rewarded = [part for part in rest if not math.isnan(part.reward_mean)]
        total = sum(part.rollouts for part in rewarded)
        mean = sum(part.rollouts * part.reward_mean for part in rewarded) / total if total else math.nan
        lines.append((f"{rest[0].turns:,} or more", sum(part.rollouts for part in rest), mean))
    rewards = [reward for _, _, reward in lines]
    cells = [(name, count(total), short(reward), bar(reward, rewards)) for name, total, reward in lines]
    return ("turns", "rollouts", "reward", ""), [*cells]
