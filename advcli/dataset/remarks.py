"""Remarks about a data set and its advantages, one sentence each."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from advcli.common.wording import counted, shortened, summed, verb
from advcli.dataset.load import DataSet
from advcli.engine.rollouts import differing
from advcli.frameworks.rule import KL, Rule, Unit
from advcli.records.settings import AdvantageTable
from advcli.records.table import Choice
from advcli.tensors.codes import first_rows, met_with_several
from advcli.tensors.masks import chosen, every, finite, undefined
from advcli.tensors.segments import Segments

# Names of columns in one line.
_NAMES = 4


def notes(data: DataSet, original: Tensor, rule: Rule | None = None) -> Iterator[str]:
    """Notes about the choices made, and other useful facts.

    Args:
        data: the data set.
        original: [N] the original advantage.
        rule: the framework's rule, if its numbers were reproduced.
    """
    yield from notes_of(data, reused_keys(data), *logged(data, original), rule)


def notes_of(data: DataSet, reused: int, rows: int, distance: float, rule: Rule | None) -> Iterator[str]:
    """`notes`, given the counts.

    Args:
        data: the data set, or one without rows that was read in the same way.
        reused: number of prompts drawn at several steps.
        rows: number of rows with a logged and an original advantage.
        distance: the largest difference of the two.
        rule: the framework's rule, if its numbers were reproduced.
    """
    yield _chosen(data)
    if reused:
        yield _reused_note(reused)
    if rows:
        name = data.table.choice.logged
        comparison = f"differs from original by at most {distance:.2g}" if distance else "equals original"
        yield f"logged '{name}' {comparison} in {counted(rows, 'row')}"
    has_kl = data.table.choice.kl_column
    missing = [what for what in rule.lost if not (what == KL and has_kl)] if rule is not None else []
    if rule is not None and missing:
        yield f"--like {rule.framework} can't reproduce {', '.join(missing)}: not in a dump"


def unit(data: DataSet, unit: Unit, shown: Mapping[str, AdvantageTable]) -> Iterator[str]:
    """Notes on whether rows or rollouts are counted, and on rollouts whose rows have different rewards.

    Args:
        data: the data set.
        unit: the unit that the chosen rule counts.
        shown: heading → advantages of each column.
    """
    if unit.counts != "turns":
        by_row = [label for label, result in shown.items() if result.per_rollout is None]
        yield from _counted(data, unit, by_row, all_=len(by_row) == len(shown))


def unit_alone(data: DataSet, unit: Unit) -> Iterator[str]:
    """The same where no advantage is computed."""
    yield from _counted(data, unit, (), all_=unit.counts == "rows")


def _counted(data: DataSet, unit: Unit, by_row: Sequence[str], *, all_: bool) -> Iterator[str]:
    rollouts = data.rollouts
    if rollouts is None:
        return
    differ = rollouts.disagree(data.rows.rewards)
    first = torch.nonzero(differ[rollouts.index])
    position = data.table.place(int(first[0])) if len(first) else ""
    count = int(differ.sum()) if unit.reward != "sum" else 0
    yield from unit_of(by_row, int(rollouts.turns.max()), count, unit.reward, position, all_=all_)


def unit_of(
    by_row: Sequence[str], most: int, differ: int, reward: str, place: str = "", *, all_: bool
) -> Iterator[str]:
    """`unit`, given the counts.

    Args:
        by_row: headings of the columns that count rows.
        most: number of rows of the longest rollout.
        differ: number of rollouts whose rows have different rewards.
        reward: how the reward of a rollout is computed.
        place: the first row of such a rollout, as file:line.
        all_: whether all columns count rows.
    """
    if all_:
        yield f"every row counts, so a rollout of {most:,} rows counts {most:,} times; --count rollouts counts each once"
    elif by_row:
        yield f"all figures are over rows, as {', '.join(by_row)} {verb(len(by_row), 'counts', 'count')} every row"
    elif differ:
        yield differing(differ, reward, place)


def warnings(
    data: DataSet, original: Tensor, rule: Rule | None = None, *, weights: Sequence[float] = ()
) -> Iterator[str]:
    """Warnings about the data set and its advantages.

    Args:
        data: the data set.
        original: [N] the original advantage.
        rule: the framework's rule, if its numbers were reproduced.
        weights: the reward weights from a configuration.
    """
    blocks = rule is None or not rule.positional or _in_blocks(data)
    nothing = every(undefined(original))
    why = no_comparison(data) if nothing else False
    yield from warnings_of(data, rule, weights=weights, undefined=nothing, blocks=blocks, no_comparison=why)


def warnings_of(
    data: DataSet,
    rule: Rule | None,
    *,
    weights: Sequence[float],
    undefined: bool,
    blocks: bool,
    no_comparison: bool,
) -> Iterator[str]:
    """`warnings`, given the counts.

    Args:
        data: the data set, or one without rows that was read in the same way and has its warnings.
        rule: the framework's rule, if its numbers were reproduced.
        weights: the reward weights from a configuration.
        undefined: whether no row has an advantage.
        blocks: whether all groups are contiguous blocks of one size.
        no_comparison: whether no group has two rewards.
    """
    yield from data.table.warnings
    if weights and not data.table.choice.skip_missing_parts:
        names = " + ".join(f"'{name}'" for name, _ in data.table.choice.rewards)
        yield f"the configuration's reward weights are not used: the reward is {names}; weigh it with --reward COL=WEIGHT"
    yield from data.grouping.warnings
    constant = _constant(data)
    if constant is not None:
        yield constant
    if undefined and rule is not None:
        cause = f"a row without a reward makes {rule.spoils} NaN, " if rule.spoils else ""
        yield f"no row has an advantage: in {rule.framework}'s {rule.estimator} {cause}n = 1: {rule.alone}"
    elif undefined:
        few = ": too few rows of a group have a reward" if no_comparison else ""
        yield f"no row has an advantage{few}"
    if rule is not None and rule.positional and not blocks:
        yield (
            f"{rule.framework} groups rows by position, and the groups of this dump are not contiguous blocks of one "
            f"size: {rule.as_in_the_run or 'it may have trained on other groups'}"
        )


def no_comparison(data: DataSet) -> bool:
    """Whether no group has two rewards."""
    rewarded = (data.rows.group >= 0) & finite(data.rows.rewards)
    return not bool((Segments.of(chosen(data.rows.group, rewarded), data.rows.count).size() > 1).any())


def _constant(data: DataSet) -> str | None:
    """The remark on a reward that is equal in all rows; None if it differs, or with fewer than two rows."""
    rewards = chosen(data.rows.rewards, finite(data.rows.rewards)).numpy()
    if len(rewards) < 2 or (rewards != rewards[0]).any():
        return None
    # No minus before a zero.
    return f"the reward is {rewards[0] + 0.0:g} in every row: {summed(dict(data.table.choice.rewards))}"


def _in_blocks(data: DataSet) -> bool:
    return Segments.of(data.rows.group.clamp(min=0), data.rows.count).width is not None


def columns(data: DataSet) -> dict[str, Any]:
    """Role → its column or columns; None if there is none."""
    choice = data.table.choice
    return {
        "group": list(data.grouping.columns),
        "reward": dict(choice.rewards),
        "outcomes": list(choice.outcomes),
        "step": choice.step,
        "rollout": list(choice.rollout) if data.rollouts is not None else None,
        "turn": choice.turn if data.rollouts is not None else None,
        "turn_rewards": choice.turn_list,
        "anchor": choice.role("anchor"),
        "length": choice.length,
        "baseline": choice.role("baselines"),
        "kl": choice.role("kl"),
        "logged": choice.logged,
    }


def inspected(data: DataSet) -> Iterator[str]:
    """Useful facts about the groups, in addition to the warnings."""
    sizes = Segments.of(data.rows.group[data.rows.group >= 0], data.rows.count).size()
    return inspected_of(data.table.choice, int((sizes == 1).sum()), reused_keys(data), mixed_by(data))


def inspected_of(choice: Choice, alone: int, reused: int, mixed: int) -> Iterator[str]:
    """`inspected`, given the counts.

    Args:
        choice: the columns that are read.
        alone: number of groups of one row.
        reused: number of prompts drawn at several steps.
        mixed: number of groups whose rows differ in the `--by` column.
    """
    if choice.unread:
        yield f"{_not_used(choice)}; to use one, pass --reward COL"
    if alone:
        yield f"{counted(alone, 'group')} of one row"
    if reused:
        yield _reused_note(reused)
    if mixed:
        yield (
            f"{counted(mixed, 'group')} {verb(mixed, 'has', 'have')} rows of several values of "
            f"'{choice.by}', and {verb(mixed, 'is', 'are')} split"
        )


def _reused_note(prompts: int) -> str:
    reused = f"{counted(prompts, 'prompt')} {verb(prompts, 'is', 'are')} drawn at several steps"
    return f"{reused}: each step is a group of its own"


def mixed_by(data: DataSet) -> int:
    """The number of groups whose rows differ in the `--by` column."""
    if data.table.by is None:
        return 0
    grouped = data.rows.group >= 0
    segments = Segments.of(data.rows.group[grouped], data.rows.count)
    by = torch.from_numpy(data.table.by)[grouped].double()
    return int((segments.max(by) > segments.min(by)).sum())


def reused_keys(data: DataSet) -> int:
    """The number of prompts drawn at more than one step; each step is then its own group."""
    table = data.table
    if table.step is None or not table.choice.step_in_key or not table.choice.prompt:
        return 0
    if table.key.min(initial=0) >= 0 and int(table.key.max(initial=-1)) + 1 == data.grouping.count:
        # As many prompts as groups.
        return 0
    # A group belongs to one step, so its first row is enough.
    first = first_rows(data.grouping.group)
    return met_with_several(table.key[first], table.step[first])


def _chosen(data: DataSet) -> str:
    """The choices of format, columns and layout, in one line."""
    choice = data.table.choice
    rewards = summed(dict(choice.rewards))
    parts = [f"format {choice.format}", f"groups: {data.grouping.rule}", f"reward: {rewards}"]
    if choice.layout.name != "rows":
        of = f" of '{choice.layout.path}'" if choice.layout.path else ""
        parts += [f"layout: {choice.layout.name}{of}"]
    if choice.step:
        parts += ["step: in the path" if choice.step == "@step" else f"step: '{choice.step}'"]
    if data.rollouts is not None:
        parts += [f"rollout: {' + '.join(map(repr, choice.rollout))}"]
        parts += [f"turn: '{choice.turn}'"] if choice.turn else []
    parts += [f"turn rewards: '{choice.turn_list}'"] if choice.turn_list else []
    parts += [f"{role}: '{name}'" for role, name in choice.roles]
    parts += [f"length: '{choice.length}'"] if choice.length else []
    return "; ".join([", ".join(parts), *([_not_used(choice)] if choice.unread else [])])


def _not_used(choice: Choice) -> str:
    names = [f"'{name}'" for name in choice.unread]
    return f"not used: {shortened(names, _NAMES)}"


def logged(data: DataSet, original: Tensor) -> tuple[int, float]:
    """The number of rows with a logged and an original advantage, and the largest difference of the two."""
    if data.table.logged is None:
        return 0, 0.0
    distance = (torch.from_numpy(data.table.logged) - original).abs()
    distance = distance[distance.isfinite()]
    return distance.numel(), float(distance.max()) if distance.numel() else 0.0
