"""The new columns, some rows at a time."""

from collections.abc import Callable

import pyarrow as pa


class Slices:
    """Hands out the rows of a table in order."""

    def __init__(self, table: pa.Table, advance: Callable[[int], None] = lambda rows: None) -> None:
        self._table = table.combine_chunks()
        self._done = 0
        self._advance = advance

    def __call__(self, rows: int) -> pa.RecordBatch:
        """The next `rows` rows as one batch."""
        part = self._table.slice(self._done, rows).combine_chunks()
        self._done += rows
        self._advance(self._done)
        arrays = [
            column.chunk(0) if column.num_chunks else pa.array([], column.type) for column in part.columns
        ]
        return pa.record_batch(arrays, schema=part.schema)
