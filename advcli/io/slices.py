"""The new columns, some rows at a time."""

from collections.abc import Callable

import pyarrow as pa

from advcli.io.values import one_array


class Slices:
    """Hands out the rows of a table in order."""

    def __init__(self, table: pa.Table, advance: Callable[[int], None] = lambda rows: None) -> None:
        self._table = table.combine_chunks()
        self._done = 0
        self._advance = advance

    def __call__(self, rows: int) -> pa.RecordBatch:
        """The next `rows` rows as one batch."""
        part = self._table.slice(self._done, rows)
        self._done += rows
        self._advance(self._done)
        return pa.record_batch([one_array(column) for column in part.columns], schema=part.schema)
