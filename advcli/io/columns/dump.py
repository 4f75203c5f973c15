"""A dump whose columns are to be chosen: what is known of it, and the doubts that came up."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from advcli.common.errors import DataError
from advcli.common.wording import either, shortened
from advcli.io.columns.evidence import Evidence
from advcli.io.formats.format import Format
from advcli.records.layout import Layout
from advcli.records.table import ColumnOptions

Kinds = Mapping[str, str]
"""Column → "number", "text", "nested" or "other"."""


@dataclass(frozen=True)
class Doubt:
    """A choice that could well be another one.

    Attributes:
        said: what was chosen, and what speaks against it.
        hint: the option that settles it.
    """

    said: str
    hint: str

    def __str__(self) -> str:
        return f"{self.said}; try {self.hint}"


@dataclass(frozen=True)
class Dump:
    """What is known of the inputs when columns are chosen.

    Attributes:
        kinds: the columns and what they hold.
        options: what the user asked for.
        form: the format.
        layout: how rows lie in a record.
        evidence: what some rows hold.
        doubts: what could well be chosen otherwise.
    """

    kinds: Kinds
    options: ColumnOptions
    form: Format
    layout: Layout
    evidence: Evidence
    doubts: list[Doubt] = field(default_factory=list)

    def doubt(self, said: str, hint: str) -> None:
        """Note that a choice could well be another one."""
        self.doubts.append(Doubt(said, hint))

    def one_of(self, found: Sequence[str], what: str, flag: str) -> str | None:
        """The first of some columns, which all hold the same; None if there is none.

        Raises:
            DataError: they differ.
        """
        different = [name for name in found[1:] if not self.evidence.same(found[0], name)]
        if different:
            several = [found[0], *different]
            raise DataError(
                f"{len(several)} columns can be the {what}: {', '.join(several)}", hint=flags(flag, several)
            )
        return found[0] if found else None


def flags(flag: str, columns: Sequence[str]) -> str:
    """An option with each of some columns, as a choice.

    Example:
        >>> flags("--reward", ["a", "b c"])
        "--reward a or --reward 'b c'"
    """
    return either([f"{flag} {shlex.quote(name)}" for name in columns])


def quoted(columns: Sequence[str]) -> str:
    """Some columns as a choice.

    Example:
        >>> quoted(["a", "b"])
        "'a' or 'b'"
    """
    return either([f"'{name}'" for name in columns])


def listed(kinds: Kinds, limit: int = 12) -> str:
    """The names of some columns."""
    names = [name for name in kinds if not name.startswith("@")]
    return shortened(names, limit)
