"""A batch of rows read from a file, and the handling of bad rows."""

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
        lines: [n] int64 line (JSON Lines) or row (parquet) of each row, counted from 1; a range if they are consecutive and
            the batches of the source cover all of its rows.
        remaining: how many rows of the source remain, including this batch; 0 if unknown.
    """

    name: str
    columns: Mapping[str, Cells]
    lines: "NDArray[np.int64] | range"
    remaining: int = 0

    def position(self, row: int) -> str:
        """Source and line of a row of the batch, as shown to the user."""
        return f"{self.name}:{self.lines[row]}"


@dataclass
class BadRows:
    """Stops at the first bad row, or counts them.

    Attributes:
        skip: count instead of stopping (`--on-bad-row skip`).
        broken: count truncated lines instead of stopping, whatever `skip` is.
        count: how many were skipped.
        first: what was wrong with the first one.
        empty: how many records hold no row.
        encrypted: the encrypted columns, which can't be read.
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
            message: position, value, and what was expected.
            hint: what to try; "--on-bad-row skip" if nothing better is known.
            torn: whether it is a truncated line.

        Raises:
            DataError: unless such rows are skipped.
        """
        if not (self.skip or (torn and self.broken)):
            raise DataError(message, hint=hint or "--on-bad-row skip")
        self.count += 1
        self.first = self.first or message

    def warnings(self) -> tuple[str, ...]:
        """One message for each kind of thing that was skipped."""
        empty = f"{counted(self.empty, 'record')} {verb(self.empty, 'holds', 'hold')} no row"
        bad = f"{counted(self.count, 'bad row')} skipped (first: {self.first})"
        names = shortened(sorted(self.encrypted), 5)
        hidden = f"skipped the encrypted {verb(len(self.encrypted), 'column', 'columns')} {names}"
        return tuple(
            text
            for text, occurred in ((hidden, self.encrypted), (bad, self.count), (empty, self.empty))
            if occurred
        )
