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
        inputs: columns or paths that it needs; `A?` for one that may be missing, which is null then.
        target: "package.module:function", called with one value per input.
        kind: "number" or "text".
    """

    name: str
    inputs: tuple[str, ...]
    target: str
    kind: str = "number"

    def columns(self) -> tuple[str, ...]:
        """The inputs, one name each."""
        return tuple(name.removesuffix("?") for name in self.inputs)

    def needed(self) -> tuple[str, ...]:
        """The inputs that must be there."""
        return tuple(name for name in self.inputs if not name.endswith("?"))


@dataclass(frozen=True)
class Condition:
    """What a row must meet to count.

    Attributes:
        expression: as `--where` takes it.
        columns: the columns that it needs.
        said: what is said of rows that do not meet it, after "is" or "are".
        asked: whether the user asked for it, so that a value it cannot be told of is an error.
        number: whether what it gives is wanted as a number, and not only whether it holds.
    """

    expression: str
    columns: tuple[str, ...]
    said: str
    asked: bool = False
    number: bool = False


@dataclass(frozen=True)
class Rules:
    """Which rows are no rollouts, and what must hold for those of a group.

    Attributes:
        conditions: what every row must meet to count, in this order.
        evaluation: a column that is true where a row belongs to an evaluation; such rows are left out where others are.
        same: columns that must be equal in all rows of a group.
        apart: columns that say which run, model or epoch a row comes from: groups of several are said.
        checks: names of checks in `advcli.io.formats.traps`.
        appended: whether lines that break off are skipped, because the writer goes on after a crash.
        alone: whether every row is a group of its own, and that is as it should be.
    """

    conditions: tuple[Condition, ...] = ()
    evaluation: str | None = None
    same: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    appended: bool = False
    alone: bool = False

    def columns(self) -> tuple[str, ...]:
        """The columns that have to be read."""
        needed = [name for condition in self.conditions for name in condition.columns]
        marks = [self.evaluation] if self.evaluation else []
        return tuple(dict.fromkeys((*needed, *marks, *self.same, *self.apart)))


NO_RULES = Rules()
"""Every row is a rollout."""
