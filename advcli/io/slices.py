"""Slices the new columns into batches."""

from collections.abc import Callable

import pyarrow as pa

from advcli.io.collect.cells import one_array


class Slices:
    """Returns the rows of a table in order, batch by batch."""

    def __init__(self, table: pa.Table, advance: Callable[[int], None] = lambda rows: None) -> None:
        self._columns = [one_array(column) for column in table.columns]
        self._schema = table.schema
        self._done = 0
        self._advance = advance

    def __call__(self, rows: int) -> pa.RecordBatch:
        """The next `rows` rows as one batch."""
        part = [column.slice(self._done, rows) for column in self._columns]
        self._done += rows
        self._advance(self._done)
        return pa.record_batch(part, schema=self._schema)
