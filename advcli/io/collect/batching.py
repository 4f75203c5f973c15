"""Joins small batches before they are collected: for a thousand small files, the time goes into calls, not rows.

Results and errors are the same as for the batches one by one.
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

# A batch of more rows is added alone; up to so many rows and bytes of small batches are queued.
_MAX_BATCH_ROWS = 4096
_MAX_QUEUED_ROWS = 1 << 15
_MAX_QUEUED_BYTES = 4 << 20


@dataclass(frozen=True, kw_only=True)
class Joined(Batch):
    """Batches of several sources, concatenated.

    Attributes:
        names: the source of each batch.
        starts: [K] the first row of each batch.
    """

    names: Sequence[str]
    starts: NDArray[np.int64]

    def position(self, row: int) -> str:
        """Source and line of a row, as shown to the user."""
        return f"{self.names[int(np.searchsorted(self.starts, row, side='right')) - 1]}:{self.lines[row]}"


class BatchQueue:
    """Passes batches to a collector, and joins small ones first.

    Call `flush` at the end, and before raising an error: an error in a queued batch comes first.

    Args:
        collector: the batches are added to it.
    """

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._queued: list[Batch] = []
        self._types: dict[str, pa.DataType] = {}
        self._queued_rows = self._queued_bytes = 0

    def add(self, batch: Batch) -> None:
        """Add a batch, at once or joined with those that follow.

        Raises:
            DataError: as `Collector.add`, for this batch or an earlier one.
        """
        types = self._joinable_types(batch)
        columns: Mapping[str, Any] = batch.columns
        if types is None or types != self._types:
            self.flush()
        if types is None:
            _add(self._collector, batch)
            return
        self._types = types
        self._queued.append(batch)
        self._queued_rows += len(batch.lines)
        self._queued_bytes += sum(cells.nbytes for cells in columns.values())
        if self._queued_rows > _MAX_QUEUED_ROWS or self._queued_bytes > _MAX_QUEUED_BYTES:
            self.flush()

    def flush(self) -> None:
        """Add the queued batches.

        Raises:
            DataError: as `Collector.add`.
        """
        queued, self._queued, self._queued_rows, self._queued_bytes = self._queued, [], 0, 0
        if len(queued) < 2:
            for batch in queued:
                _add(self._collector, batch)
            return
        try:
            self._collector.add(_joined(queued))
        except (DataError, UnicodeDecodeError, OverflowError):
            # Report the first error of the first bad batch, not that of the column checked first.
            collector = self._collector.fresh()
            for batch in queued:
                _add(collector, batch)
            raise

    def _joinable_types(self, batch: Batch) -> dict[str, pa.DataType] | None:
        """The types of the columns; None for a batch that is added alone."""
        columns: Mapping[str, Any] = batch.columns
        if self._collector.bad_rows.skip or not 0 < len(batch.lines) <= _MAX_BATCH_ROWS:
            # The first skipped row is reported, and it may be a line that could not be parsed, so the order matters.
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
