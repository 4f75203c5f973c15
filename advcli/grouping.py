"""Which rows belong together, and what looks wrong with it."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from advcli.errors import DataError, UsageError
from advcli.records import Grouping, RewardTable
from advcli.runs import met_with_several, numbered, paired, places
from advcli.words import counted, verb


def group(table: RewardTable, n: int | None = None, *, singletons_expected: bool = False) -> Grouping:
    """Number the groups of a data set.

    The rows of one key (prompt, and step when the rule has one) are a group. With `n` they are cut, in file
    order, into groups of n; without any key, consecutive rows (of one step) are.

    Args:
        table: the narrow columns.
        n: rows per group, or None.
        singletons_expected: whether groups of one are what the user wants.

    Returns:
        The group of each row, numbered in order of first appearance.

    Raises:
        DataError: every group has one row.
        UsageError: `n` is below 1.
    """
    if n is not None and n < 1:
        raise UsageError(f"n is {n}, expected rows per prompt, 1 or more", hint="--n 8")
    usable = table.key >= 0
    # Mostly every row is: then nothing has to be taken out and put back.
    rows = slice(None) if usable.all() else usable
    key = numbered(table.key[rows])
    if table.step is not None and table.choice.step in _columns(table):
        key = paired(key, table.step[rows])
    if n is not None:
        key = paired(key, places(key) // n)
    groups = np.full(len(table.key), -1, dtype=np.int64)
    groups[rows] = key
    count = int(groups.max(initial=-1)) + 1
    sizes = sizes_of(groups, count)
    if count > 1 and set(sizes) == {1} and not singletons_expected and n != 1:
        raise _all_singletons(_columns(table), count, n)
    columns = _columns(table)
    return Grouping(groups, count, columns, _rule(columns, n), _lint(table, sizes, count, n, groups))


def sizes_of(group: NDArray[np.int64], count: int) -> dict[int, int]:
    """Group size → number of groups, the most frequent size first."""
    sizes = np.bincount(group[group >= 0], minlength=count)
    found, first, many = np.unique(sizes, return_index=True, return_counts=True)
    # Of two that are as frequent the one that is met first.
    order = np.lexsort((first, -many))
    return dict(zip(found[order].tolist(), many[order].tolist(), strict=True))


def _columns(table: RewardTable) -> tuple[str, ...]:
    """The columns whose equal values make a group."""
    with_step = table.step is not None and (table.choice.step_in_key or not table.choice.prompt)
    return (*table.choice.prompt, *([str(table.choice.step)] if with_step else []))


def _rule(columns: tuple[str, ...], n: int | None) -> str:
    named = " + ".join(f"'{name}'" for name in columns) or "consecutive rows"
    return named if n is None else f"{named}, cut by {n}"


def _lint(
    table: RewardTable, sizes: Mapping[int, int], count: int, n: int | None, group: NDArray[np.int64]
) -> tuple[str, ...]:
    """One line for each thing that looks wrong."""
    checks = (
        _one_group(table, count, n),
        _leftovers(sizes, n),
        _multiples(table, sizes, n),
        _across_steps(table, group),
    )
    return tuple(filter(None, checks))


def _one_group(table: RewardTable, count: int, n: int | None) -> str | None:
    if count != 1 or n is not None or len(table.key) == 1:
        return None
    where = " + ".join(table.choice.prompt)
    return f"all {len(table.key):,} rows are one group: '{where}' is the same in every row"


def _leftovers(sizes: Mapping[int, int], n: int | None) -> str | None:
    if n is None:
        return None
    left = {size: many for size, many in sizes.items() if size != n}
    if not left:
        return None
    count = sum(left.values())
    rows = sum(size * many for size, many in left.items())
    kept = verb(count, "kept as it is", "kept as they are")
    return f"{counted(count, 'group')} of fewer than {n} rows left over ({counted(rows, 'row')}), {kept}"


def _multiples(table: RewardTable, sizes: Mapping[int, int], n: int | None) -> str | None:
    if n is not None or len(sizes) < 2:
        return None
    mode = next(iter(sizes))
    many = sum(groups for size, groups in sizes.items() if size > mode > 1 and size % mode == 0)
    if not many:
        return None
    cure = f"--n {mode}" if table.step is not None else f"--n {mode} or --step-col COL"
    return (
        f"{counted(many, 'group')} {verb(many, 'has', 'have')} a multiple of {mode} rows: the same prompt drawn more than once? "
        f"try {cure}"
    )


def _across_steps(table: RewardTable, group: NDArray[np.int64]) -> str | None:
    """Groups that mix rows of several steps; only possible when the step is not part of the key."""
    if table.step is None or (table.choice.step_in_key or not table.choice.prompt):
        return None
    many = met_with_several(group[group >= 0], table.step[group >= 0])
    if not many:
        return None
    named = ",".join((*table.choice.prompt, str(table.choice.step)))
    return (
        f"{counted(many, 'group')} {verb(many, 'mixes', 'mix')} rows of several steps; try --group-by {named}"
    )


def _all_singletons(columns: tuple[str, ...], count: int, n: int | None) -> DataError:
    named = " + ".join(f"'{name}'" for name in columns)
    differs = "differs" if len(columns) == 1 else "differ together"
    ways = ["--prompt-col COL with a column that the rows of a prompt share"]
    ways += [f"--group-by {columns[0]}"] if len(columns) > 1 else []
    ways += ["--n ROWS_PER_PROMPT"] if n is None and not columns else []
    cause = " (verl's uid ends in _session_index)" if "uid" in columns else ""
    return DataError(
        f"every group has one row: {named} {differs} in all {count:,} rows, so the key names the row, not the prompt{cause}",
        hint=" or ".join(ways),
    )
