"""How rows are stored in the records of a dump, and the rules of a format about its rows."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    """How rows are stored in a record: a line, an element of an array, or a row of a parquet file.

    Attributes:
        name: "rows", "ones", "lists" or "nested".
        path: the list with one value or object per row; "" if a record is a row.
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
        name: its name.
        inputs: columns or paths that it needs; `A?` for an optional one, which is null if missing.
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
        """The required inputs."""
        return tuple(name for name in self.inputs if not name.endswith("?"))


@dataclass(frozen=True)
class Condition:
    """A condition that a row must meet to count.

    Attributes:
        expression: as `--where` takes it.
        columns: the columns that it needs.
        said: how messages describe rows that do not meet it, after "is" or "are".
        asked: whether the user asked for it; a value that it cannot be evaluated on is then an error.
        number: whether its numeric value is needed, not only whether it is true.
    """

    expression: str
    columns: tuple[str, ...]
    said: str
    asked: bool = False
    number: bool = False


@dataclass(frozen=True)
class Rules:
    """Which rows are not rollouts, and what must hold for the rows of a group.

    Attributes:
        conditions: what every row must meet to count, in this order.
        evaluation: a column that is true for rows of an evaluation; these are dropped if there are other rows.
        same: columns that must be equal in all rows of a group.
        apart: columns that tell the run, model or epoch of a row: groups that mix several are reported.
        checks: names of checks in `advcli.io.formats.traps`.
        appended: whether truncated lines are skipped, because the writer continues after a crash.
        alone: whether every row is expected to be a group of its own.
    """

    conditions: tuple[Condition, ...] = ()
    evaluation: str | None = None
    same: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    appended: bool = False
    alone: bool = False

    def columns(self) -> tuple[str, ...]:
        """The columns to read."""
        needed = [name for condition in self.conditions for name in condition.columns]
        marks = [self.evaluation] if self.evaluation else []
        return tuple(dict.fromkeys((*needed, *marks, *self.same, *self.apart)))


NO_RULES = Rules()
"""Every row is a rollout."""
