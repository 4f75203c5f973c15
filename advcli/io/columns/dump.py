"""What is known about a dump while its columns are chosen, and the doubtful choices."""

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
    """A doubtful choice.

    Attributes:
        message: what was chosen, and what contradicts it.
        hint: the option that resolves it.
    """

    message: str
    hint: str

    def __str__(self) -> str:
        return f"{self.message}; try {self.hint}"


@dataclass(frozen=True)
class Dump:
    """What is known about the inputs while columns are chosen.

    Attributes:
        kinds: column → kind.
        options: what the user asked for.
        form: the format.
        layout: how rows are nested in a record.
        evidence: a sample of the rows.
        doubts: the doubtful choices.
    """

    kinds: Kinds
    options: ColumnOptions
    form: Format
    layout: Layout
    evidence: Evidence
    doubts: list[Doubt] = field(default_factory=list)

    def doubt(self, message: str, hint: str) -> None:
        """Record a doubtful choice."""
        self.doubts.append(Doubt(message, hint))

    def one_of(self, candidates: Sequence[str], role: str, flag: str) -> str | None:
        """The first of some columns if all are equal; None if there are none.

        Raises:
            DataError: they differ.
        """
        different = [name for name in candidates[1:] if not self.evidence.same(candidates[0], name)]
        if different:
            several = [candidates[0], *different]
            raise DataError(
                f"{len(several)} columns can be the {role}: {', '.join(several)}", hint=flags(flag, several)
            )
        return candidates[0] if candidates else None


def flags(flag: str, columns: Sequence[str]) -> str:
    """An option with each of some columns, as alternatives.

    Example:
        >>> flags("--reward", ["a", "b c"])
        "--reward a or --reward 'b c'"
    """
    return either([f"{flag} {shlex.quote(name)}" for name in columns])


def quoted(columns: Sequence[str]) -> str:
    """Some columns as alternatives.

    Example:
        >>> quoted(["a", "b"])
        "'a' or 'b'"
    """
    return either([f"'{name}'" for name in columns])


def listed(kinds: Kinds, limit: int = 12) -> str:
    """The names of the columns, shortened to `limit`."""
    names = [name for name in kinds if not name.startswith("@")]
    return shortened(names, limit)
