"""A slice of a data set on its way from a file to the narrow columns, and what to do with bad rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from advcli.common.errors import DataError
from advcli.common.wording import counted, shortened, verb
from advcli.io.collect.cells import Cells


@dataclass(frozen=True)
class Batch:
    """Some consecutive rows of one source.

    Attributes:
        name: the source.
        columns: column → its cells.
        lines: [n] int64 line (JSON Lines) or row (parquet) of each row, counted from 1; a range where these are consecutive and
            all batches of the source together have every one of its rows.
        left: how many rows of its source come from here on, those of the batch among them; 0 if that is not known.
    """

    name: str
    columns: Mapping[str, Cells]
    lines: "NDArray[np.int64] | range"
    left: int = 0

    def place(self, row: int) -> str:
        """Where a row of the batch stands, as it is shown to the user."""
        return f"{self.name}:{self.lines[row]}"


@dataclass
class BadRows:
    """Stops at the first bad row, or counts them.

    Attributes:
        skip: count instead of stopping (`--on-bad-row skip`).
        broken: count lines that break off instead of stopping, whatever `skip` says.
        count: how many were skipped.
        first: what was wrong with the first one.
        empty: records that hold no row.
        encrypted: columns that nobody can read.
    """

    skip: bool = False
    broken: bool = False
    count: int = 0
    first: str = ""
    empty: int = 0
    encrypted: set[str] = field(default_factory=set)

    def add(self, message: str, *, hint: str | None = None, torn: bool = False) -> None:
        """Report one bad row.

        Args:
            message: where it stands, what it holds, what was expected.
            hint: what to try; "--on-bad-row skip" if nothing better is known.
            torn: whether it is a line that breaks off.

        Raises:
            DataError: unless such rows are skipped.
        """
        if not (self.skip or (torn and self.broken)):
            raise DataError(message, hint=hint or "--on-bad-row skip")
        self.count += 1
        self.first = self.first or message

    def warnings(self) -> tuple[str, ...]:
        """What was skipped, in words."""
        empty = f"{counted(self.empty, 'record')} {verb(self.empty, 'holds', 'hold')} no row"
        bad = f"{counted(self.count, 'bad row')} skipped (first: {self.first})"
        names = shortened(sorted(self.encrypted), 5)
        hidden = f"skipped the encrypted {verb(len(self.encrypted), 'column', 'columns')} {names}"
        return tuple(
            text
            for text, there in ((hidden, self.encrypted), (bad, self.count), (empty, self.empty))
            if there
        )
