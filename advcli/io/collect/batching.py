"""Batches of few rows, taken in together: of a thousand small files it is the calls that take the time, not the rows.

What comes of it is what comes of them one by one, an error too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from advcli.common.errors import DataError
from advcli.io.collect.batch import Batch
from advcli.io.collect.collector import Collector

# A batch of more rows is taken in alone; so many rows and bytes of others may wait.
_FEW = 4096
_WAITING = 1 << 15
_BYTES = 4 << 20


@dataclass(frozen=True, kw_only=True)
class Joined(Batch):
    """Batches of several sources, one after the other.

    Attributes:
        names: the source of each.
        starts: [K] the first row of each.
    """

    names: Sequence[str]
    starts: NDArray[np.int64]

    def place(self, row: int) -> str:
        """Where a row stands, as it is shown to the user."""
        return f"{self.names[int(np.searchsorted(self.starts, row, side='right')) - 1]}:{self.lines[row]}"


class Together:
    """Hands batches to a collector, small ones together.

    Whoever is done, or leaves with an error, asks for what is waiting: an error in it comes first.

    Args:
        collector: takes them in.
    """

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._waiting: list[Batch] = []
        self._types: dict[str, pa.DataType] = {}
        self._rows = self._bytes = 0

    def add(self, batch: Batch) -> None:
        """Take in a batch, now or with those that follow.

        Raises:
            DataError: as `Collector.add`, of this batch or of one before.
        """
        types = self._joined_by(batch)
        columns: Mapping[str, Any] = batch.columns
        if types is None or types != self._types:
            self.flush()
        if types is None:
            _add(self._collector, batch)
            return
        self._types = types
        self._waiting.append(batch)
        self._rows += len(batch.lines)
        self._bytes += sum(cells.nbytes for cells in columns.values())
        if self._rows > _WAITING or self._bytes > _BYTES:
            self.flush()

    def flush(self) -> None:
        """Take in what is waiting.

        Raises:
            DataError: as `Collector.add`.
        """
        waiting, self._waiting, self._rows, self._bytes = self._waiting, [], 0, 0
        if len(waiting) < 2:
            for batch in waiting:
                _add(self._collector, batch)
            return
        try:
            self._collector.add(_joined(waiting))
        except (DataError, UnicodeDecodeError, OverflowError):
            # The first error of the first batch that has one, not that of the column that is looked at first.
            alone = self._collector.anew()
            for batch in waiting:
                _add(alone, batch)
            raise

    def _joined_by(self, batch: Batch) -> dict[str, pa.DataType] | None:
        """The types of the columns; None for a batch that is taken in alone."""
        columns: Mapping[str, Any] = batch.columns
        if self._collector.bad_rows.skip or not 0 < len(batch.lines) <= _FEW:
            # Of the rows that are skipped the first is reported, also among lines that never came to be a row.
            return None
        if not columns or not all(isinstance(cells, pa.Array) for cells in columns.values()):
            return None
        return {name: cells.type for name, cells in columns.items()}


def _joined(batches: Sequence[Batch]) -> Joined:
    columns: dict[str, Any] = {
        name: pa.concat_arrays([batch.columns[name] for batch in batches]) for name in batches[0].columns
    }
    sizes = np.array([len(batch.lines) for batch in batches])
    lines = np.concatenate([batch.lines for batch in batches])
    names, starts = [batch.name for batch in batches], np.cumsum(sizes) - sizes
    return Joined(batches[0].name, columns, lines, names=names, starts=starts)


def _add(collector: Collector, batch: Batch) -> None:
    try:
        collector.add(batch)
    except (UnicodeDecodeError, OverflowError) as error:
        raise DataError(f"{batch.name}: a value cannot be read ({error})", hint="other columns") from error
