"""What the first rows say about a column, so that it is chosen by what it holds and not by its name alone."""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from advcli.io.collect.keys import is_empty, key_text
from advcli.io.layouts.paths import ABSENT, find

Rows = Sequence[Mapping[str, Any]]

# Of fewer rows it cannot be told whether a number is a counter.
_FEW = 6
# A column with less than this share of the values of another one is nearly empty beside it.
_SPARSE = 0.5

_BEYOND = 1e300


@dataclass(frozen=True)
class Column:
    """What some rows hold of a column.

    Attributes:
        cells: its values; null where a row lacks it.
    """

    cells: Sequence[Any]

    @cached_property
    def there(self) -> list[Any]:
        """The values that are neither null, NaN nor empty."""
        return [cell for cell in self.cells if cell is not None and cell == cell and not is_empty(cell)]

    @property
    def is_empty(self) -> bool:
        """Whether there are rows, and no value in any."""
        return bool(self.cells) and not self.there

    @cached_property
    def keys(self) -> list[str]:
        """The text under which each value is compared."""
        return [key_text(cell) for cell in self.cells]

    @property
    def is_unique(self) -> bool:
        """Whether no two rows share a value."""
        return len(self.cells) > 1 and len(set(self.keys)) == len(self.cells)

    @cached_property
    def numbers(self) -> list[float]:
        """Its numbers; none if it holds anything else."""
        # Beyond the range of a float, an integer is no reward, step or length.
        result = [cell for cell in self.there if isinstance(cell, int | float) and abs(cell) < _BEYOND]
        return result if len(result) == len(self.there) else []

    @property
    def is_whole(self) -> bool:
        """Whether it holds whole numbers only."""
        return bool(self.numbers) and all(
            isinstance(number, int) or number.is_integer() for number in self.numbers
        )

    @property
    def is_flag(self) -> bool:
        """Whether it holds true and false only."""
        return bool(self.numbers) and all(number in (0, 1) for number in self.numbers)

    @property
    def is_counter(self) -> bool:
        """Whether it is a whole number that only grows, or differs in every row."""
        numbers, distinct = self.numbers, len(set(self.numbers))
        if not self.is_whole or len(numbers) < _FEW or distinct < 3:
            return False
        return distinct == len(numbers) or all(one <= two for one, two in pairwise(numbers))

    @property
    def is_length(self) -> bool:
        """Whether it can be a number of tokens: whole, and never negative."""
        return not self.there or (self.is_whole and min(self.numbers) >= 0)


def makes_groups(keys: Sequence[Hashable]) -> bool:
    """Whether the keys of some rows make several groups, and nearly all of them of more than one row.

    Example:
        >>> makes_groups("aabb"), makes_groups("aabbc"), makes_groups("abcd"), makes_groups("aaaa")
        (True, True, False, False)
    """
    sizes = Counter(keys)
    # The last group may be cut off where the sample ends.
    return len(sizes) > 1 and sum(size == 1 for size in sizes.values()) <= 1


class Evidence:
    """Some rows of the inputs, read when they are first asked for.

    Args:
        rows: gives them; none if nothing is known. Lists of numbers may be left out.
        whole: gives a few with every list.
        of: of which record each of the latter is; empty if each is one.
    """

    def __init__(
        self,
        rows: Callable[[], Rows] = lambda: (),
        whole: Callable[[], Rows] | None = None,
        of: Sequence[int] = (),
    ) -> None:
        self._rows = rows
        self._whole = whole or rows
        self._of = of
        self._known: dict[str, Column] = {}

    def of(self, name: str) -> Column:
        """What they hold of a column; no cells for one that is made of others."""
        if name not in self._known:
            cells = [row[name] if name in row else find(row, name) for row in self._rows()]
            # A column that no row has is made of others.
            there = any(cell is not ABSENT for cell in cells)
            self._known[name] = Column([None if cell is ABSENT else cell for cell in cells] if there else ())
        return self._known[name]

    def in_lists(self, name: str) -> list[Any]:
        """The numbers in a column of lists; none where a list holds anything else."""
        lists = (result for row in self._whole() if isinstance(result := row.get(name), list))
        items = [item for result in lists for item in result]
        return items if all(item is None or isinstance(item, int | float) for item in items) else []

    def list_sizes(self, name: str) -> set[int]:
        """The lengths of the lists in a column."""
        return {len(cell) for row in self._whole() if isinstance(cell := row.get(name), list)}

    def sparse(self, name: str, beside: Sequence[str]) -> bool:
        """Whether a column is nearly empty compared with the fullest of some others."""
        best = max((len(self.of(other).there) for other in beside), default=0)
        return len(self.of(name).there) < _SPARSE * best

    def differs_within_records(self, name: str) -> bool:
        """Whether a record of which several rows are made has several values of a column."""
        keys = [key_text(row.get(name)) for row in self._whole()]
        return len(set(zip(self._of, keys, strict=False))) > len(set(self._of))

    def in_records(self, names: Sequence[str]) -> bool:
        """Whether exploded rows that are equal in some columns come from several records, for most of their values."""
        records: dict[Hashable, set[int]] = {}
        for row, record in zip(self._whole(), self._of, strict=False):
            records.setdefault(tuple(key_text(row.get(name)) for name in names), set()).add(record)
        return sum(len(result) > 1 for result in records.values()) * 2 > len(records)

    def same(self, one: str, two: str) -> bool:
        """Whether two columns hold the same in all rows, of which there is at least one."""
        cells = self.of(one).cells
        return bool(cells) and self.of(one).keys == self.of(two).keys

    def share_rows(self, names: Sequence[str]) -> bool:
        """Whether some rows share the values of these columns, as far as that is known."""
        keys = self.keys(names)
        return not keys or len(set(keys)) < len(keys)

    def keys(self, names: Sequence[str]) -> list[Hashable]:
        """The values of some columns together, row by row; none if one of them is made of others."""
        if not all(self.of(name).cells for name in names):
            return []
        return list(zip(*(self.of(name).keys for name in names), strict=True)) if names else []

    def groups_well(self, name: str, with_: Sequence[str] = ()) -> bool:
        """Whether the values of a column make several groups, and nearly all of them of more than one row."""
        column = self.of(name)
        if len(column.there) < len(column.cells) or (column.numbers and not column.is_whole):
            return False
        return makes_groups(self.keys((name, *with_)))

    def spreads_evenly(self, name: str, group: Sequence[str]) -> int:
        """How many values of a column every group has, each in equally many rows, two or more; 0 if it is not so."""
        if not all(self.of(part).cells for part in group):
            return 0
        column = self.of(name)
        if not column.cells or len(column.there) < len(column.cells):
            return 0
        counts: dict[Hashable, Counter[str]] = {}
        for key, value in zip(self.keys(group), column.keys, strict=True):
            counts.setdefault(key, Counter())[value] += 1
        result = list(counts.values())
        if len(result) < 2 or len(result[0]) < 2 or any(one.keys() != result[0].keys() for one in result):
            return 0
        sizes = {size for one in result for size in one.values()}
        return len(result[0]) if len(sizes) == 1 and sizes != {1} else 0

    def in_blocks(self, name: str) -> bool:
        """Whether the rows of each value of a column follow each other."""
        keys = self.of(name).keys
        runs = sum(1 for position, key in enumerate(keys) if not position or key != keys[position - 1])
        return runs == len(set(keys))

    def numbers_rows(self, name: str, within: str) -> bool:
        """Whether a column counts the rows of each value of another one: 0, 1, 2, … or from any other number on.

        Half of the values, and two of them, must have several rows.
        """
        if not self.of(name).is_whole or len(self.of(name).there) < len(self.of(name).cells):
            return False
        rows: dict[str, list[float]] = {}
        for value, number in zip(self.of(within).keys, self.of(name).numbers, strict=False):
            rows.setdefault(value, []).append(number)
        several = [counts for counts in rows.values() if len(counts) > 1]
        counted = all(sorted(counts) == [min(counts) + at for at in range(len(counts))] for counts in several)
        return len(several) > 1 and 2 * len(several) >= len(rows) and counted

    def usual_size(self, name: str) -> int:
        """How many rows most values of a column have; 0 if nothing is known of it."""
        sizes = Counter(Counter(self.of(name).keys).values())
        return sizes.most_common(1)[0][0] if sizes else 0
