"""The ways in which the rows may have been grouped."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from advcli.errors import DataError
from advcli.grouping import group, sizes_of
from advcli.records.table import Grouping, RewardTable

_SEEN = 20_000
_LARGEST = 256
# Groups of more rows on average are no groups; the rules of the batch stand for them.
_MOST = 65_536


@dataclass(frozen=True, eq=False)
class Partition:
    """One way to group the rows.

    Attributes:
        label: in words, as it is shown.
        grouping: the groups.
        given: whether it is the one that was recognised or asked for.
    """

    label: str
    grouping: Grouping
    given: bool = False


def partitions(table: RewardTable, n: int | None = None) -> list[Partition]:
    """The groupings that are tried, the likeliest first; of equal ones, the first.

    By key as recognised (cut by `n` if asked for); keys cut by the commonest size; without the step; by position,
    as trainers that reshape do; whole steps.

    Args:
        table: the narrow columns.
        n: rows per group, if the user named it.
    """
    found: list[Partition] = []
    for partition in _ways(table, n):
        grouping = partition.grouping
        known = (np.array_equal(grouping.group, other.grouping.group) for other in found)
        if grouping.count and not any(known):
            found.append(partition)
    return found


def _ways(table: RewardTable, n: int | None) -> Iterator[Partition]:
    size = n
    if table.choice.prompt or n is not None:
        with suppress(DataError):
            given = group(table, n)
            size = n or next(iter(sizes_of(given.group, given.count)), None)
            yield Partition(given.rule, given, given=True)
    choice = table.choice
    if choice.prompt and size and size > 1 and n is None:
        with suppress(DataError):
            cut = group(table, size)
            yield Partition(cut.rule, cut)
    if choice.prompt and table.step is not None and choice.step_in_key:
        with suppress(DataError):
            loose = group(replace(table, choice=replace(choice, step_in_key=False)), n)
            yield Partition(f"{loose.rule}, over all steps", loose)
    yield from _positional(table, size)
    whole = _whole(table)
    if len(table.key) <= _MOST * whole.grouping.count:
        yield whole


def _positional(table: RewardTable, size: int | None) -> Iterator[Partition]:
    """Consecutive rows, cut by the commonest size or by the one at which the advantages sum to 0."""
    bare = replace(table, key=np.where(table.key < 0, -1, 0), choice=replace(table.choice, prompt=()))
    for n in dict.fromkeys((size, _balanced(table.logged))):
        if n and n > 1:
            yield Partition(f"position, {n} rows each", group(bare, n))


def _whole(table: RewardTable) -> Partition:
    """All rows of a step."""
    keys = np.where(table.key < 0, -1, 0 if table.step is None else table.step)
    whole = replace(table, key=keys, step=None, choice=replace(table.choice, prompt=("step",), step=None))
    grouping = group(whole, len(keys))
    return Partition("all rows" if table.step is None else "all rows of a step", grouping)


def _balanced(logged: NDArray[np.float64] | None) -> int | None:
    """The smallest n for which every n consecutive advantages sum to 0; None if there is none.

    Example:
        >>> _balanced(np.array([0.75, -0.25, -0.25, -0.25, 0.5, 0.5, -0.5, -0.5]))
        4
    """
    values = np.nan_to_num(logged[:_SEEN]) if logged is not None else np.empty(0)
    if not values.any():
        return None
    total = np.concatenate([[0.0], np.cumsum(values)])
    for n in range(2, min(_LARGEST, len(values) // 2) + 1):
        sums = np.diff(total[::n])
        if np.abs(sums).max(initial=0) <= 1e-5 * n * np.abs(values).max():
            return n
    return None
