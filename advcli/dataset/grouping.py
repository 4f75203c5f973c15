"""Groups rows, and warns about groups that look wrong."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath

import numpy as np
from numpy.typing import NDArray

from advcli.common.errors import DataError, UsageError
from advcli.common.wording import counted, verb
from advcli.records.mergeable import Mergeable
from advcli.records.table import Grouping, RewardTable
from advcli.tensors.codes import first_rows, met_with_several, numbered, paired, places

_LARGEST = 1 << 31


def group(
    table: RewardTable, n: int | None = None, *, singletons_expected: bool = False, part: bool = False
) -> Grouping:
    """Number the groups of a data set.

    Rows with the same key (prompt, and step if the rule has one) form a group. With `n` they are split, in file
    order, into groups of n; without any key, consecutive rows (of one step) are.

    Args:
        table: the columns of the first pass.
        n: rows per group, or None.
        singletons_expected: whether the user wants groups of one row.
        part: whether these are only some groups of a data set, so that no warnings are computed.

    Returns:
        The group of each row, numbered in order of first appearance.

    Raises:
        DataError: every group has one row.
        UsageError: `n` is below 1, or too large.
    """
    if n is not None and not 1 <= n <= _LARGEST:
        raise UsageError(f"n is {n}, expected rows per prompt, from 1 to {_LARGEST:,}", hint="--n 8")
    if n is None and not table.choice.prompt:
        # The user asked for rows without groups.
        n = 1
    usable = table.key >= 0
    # Usually all rows are usable, and nothing has to be filtered.
    rows = slice(None) if usable.all() else usable
    key = table.key[rows]
    if table.step is not None and table.choice.step in _columns(table):
        key = paired(key, table.step[rows])
    else:
        key = numbered(key)
    if n is not None:
        key = paired(key, _places(key, None if table.rollout is None else table.rollout[rows]) // n)
    groups = key
    if len(key) < len(table.key):
        groups = np.full(len(table.key), -1, dtype=np.int64)
        groups[rows] = key
    count = int(groups.max(initial=-1)) + 1
    columns = _columns(table)
    rollout, remarks = _rollouts(table, groups, count)
    if part:
        return Grouping(groups, count, columns, _rule(table.choice.prompt, columns, n), rollout=rollout)
    seen = Sizes(len(table.key), count, sizes_of(groups, count), mixed(table, groups))
    refuse_singletons(table, seen, n, expected=singletons_expected)
    if rollout is not None:
        seen = replace(seen, sizes=sizes_of(groups[first_rows(rollout)], count))
    rule = _rule(table.choice.prompt, columns, n)
    return Grouping(groups, count, columns, rule, (*lint(table, seen, n), *remarks), rollout)


def _places(key: NDArray[np.int64], rollout: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """[N] the position of each row's rollout among the rollouts of its key."""
    if rollout is None:
        return places(key)
    index = _numbered(key, rollout)
    return places(key[first_rows(index)])[index]


def _numbered(group: NDArray[np.int64], rollout: NDArray[np.int64]) -> NDArray[np.int64]:
    """[N] the rollout of each row, numbered in order of first appearance: rows of a group with the same name.

    Args:
        group: [N] int64, -1 for rows without a group, each of which is its own rollout.
        rollout: [N] int64 digest, -1 for rows that are their own rollout.
    """
    alone = (rollout < 0) | (group < 0)
    pairs = paired(np.where(alone, 0, group), numbered(rollout))
    return numbered(np.where(alone, len(pairs) + np.arange(len(pairs)), pairs))


def _rollouts(
    table: RewardTable, groups: NDArray[np.int64], count: int
) -> tuple[NDArray[np.int64] | None, tuple[str, ...]]:
    """The rollout of each row, None if each has one row, and remarks about it.

    A column chosen as the rollout id by its name alone is checked: with one rollout per group, it is a step or a prompt
    by another name, and without turns the rows of a rollout must have the same reward.
    """
    if table.rollout is None or not len(groups):
        return None, ()
    rollout = _numbered(groups, table.rollout)
    rollouts = int(rollout.max()) + 1
    if rollouts == len(rollout):
        return None, ()
    if not table.choice.sure:
        name = table.choice.rollout[0]
        hint = f"--rollout-col {name} if it is one"
        if rollouts == count + int((groups < 0).sum()):
            return None, (f"'{name}' is one value in every group, so it is no rollout id; {hint}",)
        if table.turn is None and _differ(table.rewards, rollout, rollouts):
            remark = (
                f"rows with one '{name}' have different rewards and no turn, so it is no rollout id; {hint}"
            )
            return None, (remark,)
    return rollout, ()


def _differ(rewards: NDArray[np.float64], rollout: NDArray[np.int64], count: int) -> bool:
    """Whether any rollout has rows with different rewards."""
    known = np.isfinite(rewards)
    high, low = np.full(count, -np.inf), np.full(count, np.inf)
    np.maximum.at(high, rollout[known], rewards[known])
    np.minimum.at(low, rollout[known], rewards[known])
    return bool((high > low).any())


@dataclass(frozen=True)
class Mixed(Mergeable):
    """Numbers of groups that mix rows that may not belong together.

    Attributes:
        steps: groups with rows of several steps; only possible when the step is not part of the key.
        files: groups with rows of several files.
    """

    steps: int = 0
    files: int = 0


@dataclass(frozen=True)
class Sizes:
    """The group sizes of a data set.

    Attributes:
        rows: number of all rows.
        count: number of groups.
        sizes: group size → number of groups, the most frequent size first.
        mixed: groups that mix rows that may not belong together.
    """

    rows: int
    count: int
    sizes: Mapping[int, int]
    mixed: Mixed = Mixed()


def refuse_singletons(table: RewardTable, seen: Sizes, n: int | None, *, expected: bool) -> None:
    """Raise an error if every group has one row, unless that is expected.

    Raises:
        DataError: every group has one row.
    """
    expected = expected or table.choice.rules.alone
    if seen.count > 1 and set(seen.sizes) == {1} and not expected and n != 1:
        raise _all_singletons(table, seen.count)


def sizes_of(group: NDArray[np.int64], count: int) -> dict[int, int]:
    """Group size → number of groups, the most frequent size first; ties in order of first appearance."""
    return by_frequency(sizes_met(group, count))


def sizes_met(
    group: NDArray[np.int64], count: int, begins: NDArray[np.int64] | None = None
) -> dict[int, tuple[int, int]]:
    """Group size → number of groups, and the row where the first of them begins.

    Args:
        group: [N] int64 in [0, G), -1 for rows without a group.
        count: G.
        begins: [G] the first row of each group; None if groups are numbered in that order.
    """
    grouped = group >= 0
    sizes = np.bincount(group if grouped.all() else group[grouped], minlength=count)
    if count and begins is None and (sizes == sizes[0]).all():
        # Usually all groups have one size, and nothing has to be sorted.
        return {int(sizes[0]): (count, 0)}
    result, first, groups = np.unique(sizes, return_index=True, return_counts=True)
    if begins is not None:
        # Groups may not be numbered in the order in which they begin.
        order = np.argsort(begins)
        first = begins[order][np.unique(sizes[order], return_index=True)[1]]
    return dict(zip(result.tolist(), zip(groups.tolist(), first.tolist(), strict=True), strict=True))


def by_frequency(sizes: Mapping[int, tuple[int, int]]) -> dict[int, int]:
    """Group size → number of groups, the most frequent size first, from `sizes_met`."""
    order = sorted(sizes, key=lambda size: (-sizes[size][0], sizes[size][1]))
    return {size: sizes[size][0] for size in order}


def met_together(
    left: Mapping[int, tuple[int, int]], right: Mapping[int, tuple[int, int]]
) -> dict[int, tuple[int, int]]:
    """The result of `sizes_met` for two parts with whole groups, merged.

    Example:
        >>> met_together({8: (3, 40)}, {8: (1, 2), 4: (1, 0)})
        {8: (4, 2), 4: (1, 0)}
    """
    result = dict(left)
    for size, (count, first) in right.items():
        before, earlier = result.get(size, (0, first))
        result[size] = (before + count, min(earlier, first))
    return result


def _columns(table: RewardTable) -> tuple[str, ...]:
    """The columns whose values identify a group."""
    with_step = table.step is not None and (table.choice.step_in_key or not table.choice.prompt)
    return (*table.choice.prompt, *([str(table.choice.step)] if with_step else []))


def _rule(prompt: tuple[str, ...], columns: tuple[str, ...], n: int | None) -> str:
    if n == 1 and not prompt:
        return "each row alone, as there is no prompt"
    named = " + ".join(f"'{name}'" for name in columns) or "consecutive rows"
    return named if n is None else f"{named}, cut by {n}"


def lint(table: RewardTable, seen: Sizes, n: int | None) -> tuple[str, ...]:
    """Warnings about groups that look wrong, one line each.

    Args:
        table: the table, or a part of it: only the choice and whether there are steps matter.
        seen: the group sizes.
        n: rows per group, or None.
    """
    checks = (
        _one_group(table, seen, n),
        _leftovers(seen.sizes, n),
        _multiples(table, seen.sizes, n),
        _across_steps(table, seen.mixed.steps),
        # Files of one row are no runs.
        _across_files(table, seen.mixed.files) if seen.rows > len(table.names) else None,
    )
    return tuple(filter(None, checks))


def _one_group(table: RewardTable, seen: Sizes, n: int | None) -> str | None:
    if seen.count != 1 or n is not None or seen.rows == 1:
        return None
    rows = sum(size * count for size, count in seen.sizes.items())
    if rows < 2:
        return None
    where = " + ".join(table.choice.prompt)
    why = "they stand in one record" if "@line" in where else f"'{where}' is the same in every row"
    ways = " or ".join(f"--prompt-col {shlex.quote(name)}" for name in table.choice.likely)
    return f"all {rows:,} rows are one group: {why}" + (f"; try {ways}" if ways else "")


def _leftovers(sizes: Mapping[int, int], n: int | None) -> str | None:
    if n is None:
        return None
    smaller = {size: groups for size, groups in sizes.items() if size != n}
    if not smaller:
        return None
    count = sum(smaller.values())
    rows = sum(size * groups for size, groups in smaller.items())
    kept = verb(count, "kept as it is", "kept as they are")
    return f"{counted(count, 'group')} of fewer than {n} rows left over ({counted(rows, 'row')}), {kept}"


def _multiples(table: RewardTable, sizes: Mapping[int, int], n: int | None) -> str | None:
    if n is not None or len(sizes) < 2:
        return None
    mode = next(iter(sizes))
    count = sum(groups for size, groups in sizes.items() if size > mode > 1 and size % mode == 0)
    if not count:
        return None
    hint = f"--n {mode}" if table.step is not None else f"--n {mode} or --step-col COL"
    return (
        f"{counted(count, 'group')} {verb(count, 'has', 'have')} a multiple of {mode} rows: "
        "the same prompt drawn more than once? "
        f"try {hint}"
    )


def mixed(table: RewardTable, group: NDArray[np.int64]) -> Mixed:
    """Count the groups that mix rows of several steps or files, which may not belong together.

    Args:
        table: the columns of the first pass, in file order.
        group: [N] the group of each row, -1 for rows that are left out.
    """
    usable = group >= 0
    steps = files = 0
    if table.step is not None and not table.choice.step_in_key and table.choice.prompt:
        steps = met_with_several(group[usable], table.step[usable])
    if _may_reach_over_files(table):
        source = np.repeat(np.arange(len(table.rows)), table.rows)
        files = met_with_several(group[usable], source[usable])
    return Mixed(steps, files)


def _may_reach_over_files(table: RewardTable) -> bool:
    """Whether a group can have rows of several files without the user having asked for it."""
    choice = table.choice
    own = {"@file", "@folder", "@line"} & set(choice.prompt)
    return len(table.names) > 1 and bool(choice.prompt) and not own and choice.step_in_key


def _across_files(table: RewardTable, count: int) -> str | None:
    if not count:
        return None
    parents = {PurePath(name).parent for name in table.names}
    folders = {parent.name for parent in parents}
    # @folder is only the last part of the path, so these must be distinct.
    position = "@folder" if 1 < len(folders) == len(parents) < len(table.names) else "@file"
    what = "folder" if position == "@folder" else "file"
    columns = shlex.quote(",".join((*_columns(table), position)))
    return (
        f"{counted(count, 'group')} {verb(count, 'has', 'have')} rows of several files; if each {what} is a step or a run "
        f"of its own, try --group-by {columns}"
    )


def _across_steps(table: RewardTable, count: int) -> str | None:
    if not count:
        return None
    named = ",".join((*table.choice.prompt, str(table.choice.step)))
    return f"{counted(count, 'group')} {verb(count, 'mixes', 'mix')} rows of several steps; try --group-by {named}"


def _all_singletons(table: RewardTable, count: int) -> DataError:
    columns = _columns(table)
    named = " + ".join(f"'{name}'" for name in columns)
    differs = "differs" if len(columns) == 1 else "differ together"
    cause = ", as verl's uid ends in _session_index" if "uid" in columns else ""
    options = [f"--prompt-col {shlex.quote(name)}" for name in table.choice.likely]
    what = "prompts"
    if len(columns) > len(table.choice.prompt) and len(np.unique(table.key)) < len(table.key):
        # The prompts have several rows, and the column taken as the step counts them.
        what, options = "groups", [f"--group-by {shlex.quote(','.join(table.choice.prompt))}"]
    return DataError(
        f"each of {count:,} {what} has one row ({named} {differs} in all of them{cause}), so there is nothing to "
        "compare it with",
        hint=" or ".join([*options, "--estimator batch_norm, which compares all rows"]),
    )
