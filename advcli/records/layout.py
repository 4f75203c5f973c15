"""How rows lie in the records of a dump, and what a format says about them beyond its columns."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    """How rows lie in a record: a line, an element of an array, a row of a parquet file.

    Attributes:
        name: "rows", "ones", "lists" or "nested".
        path: the list with one value or object per row; "" where a record is a row.
        split: columns known to have one value per row.
        whole: columns known to have one value for all rows.
        items: keys of the nested objects.
    """

    name: str = "rows"
    path: str = ""
    split: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    items: tuple[str, ...] = ()

    @property
    def exploded(self) -> bool:
        """Whether a record can have more than one row."""
        return self.name in ("lists", "nested")


PLAIN = Layout()
"""A record is a row."""


@dataclass(frozen=True)
class Derived:
    """A column that is computed from others, row by row.

    Attributes:
        name: the name that it goes by.
        inputs: columns or paths that it needs.
        target: "package.module:function", called with one value per input.
        kind: "number" or "text".
    """

    name: str
    inputs: tuple[str, ...]
    target: str
    kind: str = "number"


@dataclass(frozen=True)
class Condition:
    """What a row must meet to count.

    Attributes:
        expression: as `--where` takes it.
        columns: the columns that it needs.
        said: what is said of rows that do not meet it, after "is" or "are".
        asked: whether the user asked for it, so that a value it cannot be told of is an error.
    """

    expression: str
    columns: tuple[str, ...]
    said: str
    asked: bool = False


@dataclass(frozen=True)
class Rules:
    """Which rows are no rollouts, and what must hold for those of a group.

    Attributes:
        conditions: what every row must meet to count, in this order.
        last_of: a column that names a unit (a session of several outputs), and one that numbers its rows: only the
            last one counts. Empty if every row counts.
        same: columns that must be equal in all rows of a group.
        apart: columns that say which run, model or epoch a row comes from: groups of several are said.
        checks: names of checks in `advcli.io.formats.traps`.
    """

    conditions: tuple[Condition, ...] = ()
    last_of: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()

    def columns(self) -> tuple[str, ...]:
        """The columns that have to be read."""
        needed = (name for condition in self.conditions for name in condition.columns)
        return tuple(dict.fromkeys((*needed, *self.last_of, *self.same, *self.apart)))


NO_RULES = Rules()
"""Every row is a rollout."""
