"""What the first rows show about a column, so that it is chosen by its values and not by its name alone."""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from advcli.io.collect.keys import is_empty, key_text
from advcli.io.layouts.paths import ABSENT, find

Rows = Sequence[Mapping[str, Any]]

# With fewer rows, a counter can't be recognized.
_FEW = 6
# A column with less than this share of another column's values counts as nearly empty.
_SPARSE = 0.5

_BEYOND = 1e300


@dataclass(frozen=True)
class Column:
    """The values of a column in some rows.

    Attributes:
        cells: the values; None where a row lacks the column.
    """

    cells: Sequence[Any]

    @cached_property
    def present(self) -> list[Any]:
        """The values that are neither null, NaN nor empty."""
        return [cell for cell in self.cells if cell is not None and cell == cell and not is_empty(cell)]

    @property
    def is_empty(self) -> bool:
        """Whether there are rows, but none has a value."""
        return bool(self.cells) and not self.present

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
        """The numbers; empty if the column holds anything else."""
        # An integer near or beyond the float range is no reward, step or length.
        result = [cell for cell in self.present if isinstance(cell, int | float) and abs(cell) < _BEYOND]
        return result if len(result) == len(self.present) else []

    @property
    def is_whole(self) -> bool:
        """Whether it holds only whole numbers."""
        return bool(self.numbers) and all(
            isinstance(number, int) or number.is_integer() for number in self.numbers
        )

    @property
    def is_flag(self) -> bool:
        """Whether it holds only true and false."""
        return bool(self.numbers) and all(number in (0, 1) for number in self.numbers)

    @property
    def is_counter(self) -> bool:
        """Whether it holds whole numbers that never decrease, or differ in every row."""
        numbers, distinct = self.numbers, len(set(self.numbers))
        if not self.is_whole or len(numbers) < _FEW or distinct < 3:
            return False
        return distinct == len(numbers) or all(before <= after for before, after in pairwise(numbers))

    @property
    def is_length(self) -> bool:
        """Whether it can be a number of tokens: whole and never negative."""
        return not self.present or (self.is_whole and min(self.numbers) >= 0)


def makes_groups(keys: Sequence[Hashable]) -> bool:
    """Whether the keys of some rows form several groups, nearly all with more than one row.

    Example:
        >>> makes_groups("aabb"), makes_groups("aabbc"), makes_groups("abcd"), makes_groups("aaaa")
        (True, True, False, False)
    """
    sizes = Counter(keys)
    # The last group may be cut off where the sample ends.
    return len(sizes) > 1 and sum(size == 1 for size in sizes.values()) <= 1


class Evidence:
    """A sample of the rows of the inputs, read on first use.

    Args:
        rows: returns the rows; none if nothing is known. Lists of numbers may be left out.
        whole: returns a few rows with all lists.
        of: the record of each of the latter rows; empty if every row is a record.
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
        """The values of a column; no cells for a derived column."""
        if name not in self._known:
            cells = [row[name] if name in row else find(row, name) for row in self._rows()]
            # A column that no row has is derived.
            exists = any(cell is not ABSENT for cell in cells)
            self._known[name] = Column([None if cell is ABSENT else cell for cell in cells] if exists else ())
        return self._known[name]

    def in_lists(self, name: str) -> list[Any]:
        """The numbers in a column of lists; empty if a list holds anything else."""
        lists = (result for row in self._whole() if isinstance(result := row.get(name), list))
        items = [item for result in lists for item in result]
        return items if all(item is None or isinstance(item, int | float) for item in items) else []

    def list_sizes(self, name: str) -> set[int]:
        """The lengths of the lists in a column."""
        return {len(cell) for row in self._whole() if isinstance(cell := row.get(name), list)}

    def sparse(self, name: str, others: Sequence[str]) -> bool:
        """Whether a column is nearly empty compared to the fullest of some others."""
        fullest = max((len(self.of(other).present) for other in others), default=0)
        return len(self.of(name).present) < _SPARSE * fullest

    def differs_within_records(self, name: str) -> bool:
        """Whether an exploded record has several values of a column."""
        keys = [key_text(row.get(name)) for row in self._whole()]
        return len(set(zip(self._of, keys, strict=False))) > len(set(self._of))

    def in_records(self, names: Sequence[str]) -> bool:
        """Whether, for most keys in some columns, the exploded rows of a key come from several records."""
        records: dict[Hashable, set[int]] = {}
        for row, record in zip(self._whole(), self._of, strict=False):
            records.setdefault(tuple(key_text(row.get(name)) for name in names), set()).add(record)
        return sum(len(result) > 1 for result in records.values()) * 2 > len(records)

    def same(self, left: str, right: str) -> bool:
        """Whether two columns are equal in all rows; False without rows."""
        cells = self.of(left).cells
        return bool(cells) and self.of(left).keys == self.of(right).keys

    def share_rows(self, names: Sequence[str]) -> bool:
        """Whether some rows share the values of these columns; True if unknown."""
        keys = self.keys(names)
        return not keys or len(set(keys)) < len(keys)

    def keys(self, names: Sequence[str]) -> list[Hashable]:
        """The combined key of some columns in each row; empty if one of them is derived."""
        if not all(self.of(name).cells for name in names):
            return []
        return list(zip(*(self.of(name).keys for name in names), strict=True)) if names else []

    def groups_well(self, name: str, with_: Sequence[str] = ()) -> bool:
        """Whether the values of a column form several groups, nearly all with more than one row."""
        column = self.of(name)
        if len(column.present) < len(column.cells) or (column.numbers and not column.is_whole):
            return False
        return makes_groups(self.keys((name, *with_)))

    def spreads_evenly(self, name: str, group: Sequence[str]) -> int:
        """How many values of a column every group has, if at least two, the same and equally often (twice or more); else 0."""
        if not all(self.of(part).cells for part in group):
            return 0
        column = self.of(name)
        if not column.cells or len(column.present) < len(column.cells):
            return 0
        counts: dict[Hashable, Counter[str]] = {}
        for key, value in zip(self.keys(group), column.keys, strict=True):
            counts.setdefault(key, Counter())[value] += 1
        result = list(counts.values())
        if (
            len(result) < 2
            or len(result[0]) < 2
            or any(values.keys() != result[0].keys() for values in result)
        ):
            return 0
        sizes = {size for values in result for size in values.values()}
        return len(result[0]) if len(sizes) == 1 and sizes != {1} else 0

    def in_blocks(self, name: str) -> bool:
        """Whether equal values of a column are adjacent."""
        keys = self.of(name).keys
        runs = sum(1 for position, key in enumerate(keys) if not position or key != keys[position - 1])
        return runs == len(set(keys))

    def numbers_rows(self, name: str, within: str) -> bool:
        """Whether a column counts the rows of each value of another one: 0, 1, 2, … or from any other number on.

        Half of the values, and two of them, must have several rows.
        """
        if not self.of(name).is_whole or len(self.of(name).present) < len(self.of(name).cells):
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
