"""A slice of a data set on its way from a file to the narrow columns, and what to do with bad rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from advcli.errors import DataError
from advcli.io.values import Cells


class Places(Protocol):
    """Where each row of a batch stands, made only when somebody asks."""

    def __getitem__(self, row: int) -> str:
        """As it is shown to the user."""

    def __len__(self) -> int:
        """The number of rows."""


@dataclass(frozen=True)
class Batch:
    """Some consecutive rows of one source.

    Attributes:
        columns: column → its cells.
        places: where each row stands, as it is shown to the user.
    """

    columns: Mapping[str, Cells]
    places: "Places"


@dataclass
class BadRows:
    """Stops at the first bad row, or counts them.

    Attributes:
        skip: count instead of stopping (`--on-bad-row skip`).
        count: how many were skipped.
        first: what was wrong with the first one.
    """

    skip: bool = False
    count: int = 0
    first: str = field(default="")

    def add(self, message: str, *, hint: str | None = None) -> None:
        """Report one bad row.

        Args:
            message: where it stands, what it holds, what was expected.
            hint: what to try; "--on-bad-row skip" if nothing better is known.

        Raises:
            DataError: unless bad rows are skipped.
        """
        if not self.skip:
            raise DataError(message, hint=hint or "--on-bad-row skip")
        self.count += 1
        self.first = self.first or message

    def warnings(self) -> tuple[str, ...]:
        """What was skipped, in words."""
        if not self.count:
            return ()
        return (f"{self.count:,} bad {'row' if self.count == 1 else 'rows'} skipped (first: {self.first})",)
