"""The inputs of a dump in Python: found and read once, and kept as long as the dump."""

import tempfile
import weakref
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from advcli.common.errors import DataError, UsageError
from advcli.common.wording import one_line
from advcli.io.inputs import opened
from advcli.io.read import read
from advcli.io.sources.find import stamp
from advcli.records.table import ColumnOptions, RewardTable, Source

FRAME = "frame"
"""The name of a frame in place of a file name: its third row is `frame:3`."""


class Inputs:
    """Inputs with a cache of the tables read from them.

    Args:
        names: the inputs as typed.
        sources: their files.
        stack: closed when the inputs are garbage-collected; deletes temporary copies.
        skip_bad_rows: count bad rows instead of stopping at the first.
    """

    def __init__(
        self, names: Sequence[str], sources: Sequence[Source], stack: ExitStack, *, skip_bad_rows: bool
    ) -> None:
        self.names = tuple(names)
        self.sources = list(sources)
        self.skip_bad_rows = skip_bad_rows
        self._tables: dict[str, RewardTable] = {}
        weakref.finalize(self, stack.close)

    @classmethod
    def of_files(cls, names: Sequence[str], *, skip_bad_rows: bool) -> "Inputs":
        """Inputs from files, folders, globs or URLs."""
        stack = ExitStack()
        sources = stack.enter_context(opened(names))
        return cls(names, sources, stack, skip_bad_rows=skip_bad_rows)

    @classmethod
    def of_frame(cls, frame: Any, *, skip_bad_rows: bool) -> "Inputs":  # noqa: ANN401  a table of any package
        """Inputs from a table in memory, which is written to a temporary file."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        from advcli.io.parquet.storable import storable, storable_schema

        table = arrow_table(frame)
        if not table.num_rows:
            raise DataError(f"{FRAME}: no rows, expected one per response")
        schema = storable_schema(table.schema, FRAME)
        stack = ExitStack()
        path = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="advcli-"))) / f"{FRAME}.parquet"
        pq.write_table(pa.Table.from_batches([storable(one, schema) for one in table.to_batches()]), path)
        source = Source(FRAME, path, "parquet", None, stamp(path))
        return cls((FRAME,), [source], stack, skip_bad_rows=skip_bad_rows)

    def table(self, options: ColumnOptions, *, refused: Collection[str], refuse_missing: bool) -> RewardTable:
        """The table from `io.read.read`, cached by its arguments."""
        key = repr((options, sorted(refused), refuse_missing))
        if key not in self._tables:
            self._tables[key] = read(
                self.sources,
                options,
                refused=refused,
                skip_bad_rows=self.skip_bad_rows,
                refuse_missing=refuse_missing,
            )
        return self._tables[key]


def arrow_table(frame: Any) -> Any:  # noqa: ANN401  a table of any package
    """Convert a table of any package to pyarrow.

    Raises:
        UsageError: it is not a table.
        DataError: a column cannot be stored.
    """
    import pyarrow as pa

    if not hasattr(frame, "__arrow_c_stream__") or getattr(frame, "ndim", 2) == 1:
        hint = (
            "df.collect()"
            if hasattr(frame, "collect")
            else "a DataFrame of pandas or polars, or a pyarrow table"
        )
        raise UsageError(f"{one_line(frame)} is not a table", hint=hint)
    try:
        return pa.table(frame)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, ValueError, TypeError) as error:
        why = "; ".join(map(str, error.args))
        raise DataError(
            f"{FRAME}: a column cannot be stored ({why})", hint="one type per column, or leaving it out"
        ) from error


@dataclass(frozen=True)
class Held:
    """Adapts `Inputs` to the prefetch of a request.

    Attributes:
        inputs: the inputs.
        refuse_missing: stop at the first missing reward.
    """

    inputs: Inputs
    refuse_missing: bool = False

    def sources(self) -> list[Source]:
        """The inputs."""
        return self.inputs.sources

    def table(
        self, sources: Sequence[Source], options: ColumnOptions, refused: Collection[str]
    ) -> RewardTable | None:
        """The table of these inputs; None if they are other inputs, because a file has changed."""
        if list(sources) != self.inputs.sources:
            return None
        return self.inputs.table(options, refused=refused, refuse_missing=self.refuse_missing)
