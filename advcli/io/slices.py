"""The new columns, some rows at a time."""

from collections.abc import Callable

import pyarrow as pa

from advcli.io.values import one_array


class Slices:
    """Hands out the rows of a table in order.

    Attributes:
        schema: of the table.
    """

    def __init__(self, table: pa.Table, advance: Callable[[int], None] = lambda rows: None) -> None:
        self.schema = table.schema
        self._rows = _one_batch(table)
        self._done = 0
        self._advance = advance

    def __call__(self, rows: int) -> pa.RecordBatch:
        """The next `rows` rows as one batch."""
        part = self._rows.slice(self._done, rows)
        self._done += rows
        self._advance(self._done)
        return part


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    batches = table.to_batches()
    if len(batches) == 1:
        return batches[0]
    return pa.record_batch([one_array(column) for column in table.columns], schema=table.schema)
