"""Candidate groupings of the rows."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from typing import overload

import numpy as np
from numpy.typing import NDArray

from advcli.common.errors import DataError
from advcli.dataset.grouping import group, sizes_of
from advcli.records.table import Grouping, RewardTable

_SEEN = 20_000
_LARGEST = 256
# Groups larger than this on average are covered by the batch-level rules instead.
_MOST = 65_536


class Kind(Enum):
    """What defines a group."""

    KEY = "the key, as recognised or asked for"
    CUT = "the key, its rows cut by a size"
    OVER_STEPS = "the key, whatever the step"
    POSITION = "consecutive rows, cut by a size"
    STEP = "one step"


@dataclass(frozen=True, eq=False)
class Partition:
    """One way to group the rows.

    Attributes:
        label: in words, for display.
        grouping: the groups.
        kind: what defines a group.
    """

    label: str
    grouping: Grouping
    kind: Kind


class Partitions(Sequence[Partition]):
    """Groupings, computed lazily: usually the first one suffices."""

    def __init__(self, ways: Iterator[Partition]) -> None:
        self._ways = ways
        self._known: list[Partition] = []

    @overload
    def __getitem__(self, place: int) -> Partition: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Partition]: ...
    def __getitem__(self, place: int | slice) -> Partition | Sequence[Partition]:
        """The partition at an index; later ones are not computed."""
        if isinstance(place, slice) or place < 0:
            return self._until(None)[place]
        return self._until(place)[place]

    def __len__(self) -> int:
        return len(self._until(None))

    def __bool__(self) -> bool:
        return bool(self._until(0))

    def _until(self, position: int | None) -> list[Partition]:
        """The partitions up to an index, or all for None; duplicates are dropped."""
        while position is None or len(self._known) <= position:
            partition = next(self._ways, None)
            if partition is None:
                break
            group = partition.grouping.group
            if partition.grouping.count and not any(
                np.array_equal(group, other.grouping.group) for other in self._known
            ):
                self._known.append(partition)
        return self._known


def partitions(table: RewardTable, n: int | None = None) -> Partitions:
    """The groupings to try, most likely first, without duplicates.

    By the detected key (split by `n` if given); keys split by the most common size; without the step; by position,
    as trainers that reshape do; whole steps.

    Args:
        table: the narrow columns.
        n: rows per group, if the user set it.
    """
    return Partitions(_ways(table, n))


def _ways(table: RewardTable, n: int | None) -> Iterator[Partition]:
    size, largest = n, 0
    if table.choice.prompt or n is not None:
        with suppress(DataError):
            given = group(table, n)
            sizes = sizes_of(given.group, given.count)
            size, largest = n or next(iter(sizes), None), max(sizes, default=0)
            yield Partition(given.rule, given, Kind.KEY)
    choice = table.choice
    if choice.prompt and size and 1 < size < largest and n is None:
        with suppress(DataError):
            cut = group(table, size)
            yield Partition(cut.rule, cut, Kind.CUT)
    if choice.prompt and table.step is not None and choice.step_in_key:
        with suppress(DataError):
            loose = group(replace(table, choice=replace(choice, step_in_key=False)), n)
            yield Partition(f"{loose.rule}, over all steps", loose, Kind.OVER_STEPS)
    yield from _positional(table, size)
    whole = _whole(table)
    if len(table.key) <= _MOST * whole.grouping.count:
        yield whole


def _positional(table: RewardTable, size: int | None) -> Iterator[Partition]:
    """Consecutive rows, split by the most common size or by the size at which the advantages sum to 0."""
    bare = replace(table, key=np.where(table.key < 0, -1, 0), choice=replace(table.choice, prompt=()))
    for n in dict.fromkeys((size, _balanced(table.logged))):
        if n and n > 1:
            yield Partition(f"position, {n} rows each", group(bare, n), Kind.POSITION)


def _whole(table: RewardTable) -> Partition:
    """All rows of a step."""
    keys = np.where(table.key < 0, -1, 0 if table.step is None else table.step)
    whole = replace(table, key=keys, step=None, choice=replace(table.choice, prompt=("step",), step=None))
    grouping = group(whole, len(keys))
    return Partition("all rows" if table.step is None else "all rows of a step", grouping, Kind.STEP)


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
    tolerance = 1e-5 * np.abs(values).max()
    # Most n are ruled out by their first sum.
    possible = (n for n in range(2, min(_LARGEST, len(values) // 2) + 1) if abs(total[n]) <= n * tolerance)
    return next((n for n in possible if np.abs(np.diff(total[::n])).max(initial=0) <= n * tolerance), None)
