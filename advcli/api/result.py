"""The advantages of a dump, row by row."""

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from advcli.common.errors import UsageError
from advcli.common.registry import load
from advcli.common.wording import either
from advcli.io.write import COLUMNS, SOURCE, TOKENS, TURNS, WEIGHTS
from advcli.pipeline import compute as pipeline
from advcli.pipeline.request import Request
from advcli.records.results.compute import ComputeResult
from advcli.render import tables
from advcli.render.views import shown

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from torch import Tensor


class Advantages:
    """The advantages of a dump: one entry per row, in the order of its rows.

    It is displayed as the tables that `advcli compute` prints.

    Attributes:
        original: [N] float64 on the CPU, the estimator's advantage; NaN where undefined.
        processed: [N] float64, what would be trained on: 0 on filtered rows, NaN where undefined.
        kept: [N] bool, False for filtered rows and where the advantage is undefined.
        group: [N] int64, rows with the same number were compared with each other; -1 for a skipped row.
        tokens: [T] float64, the advantage of each token, row after row; None if the estimator gives one per row.
        token_counts: [N] int64, tokens of each row; None likewise.
        turns: [T] float64, the advantage of each turn, rollout after rollout, if a row is a rollout with a list of turns;
            else None.
        turn_counts: [N] int64, turns of each row; None likewise.
        weight: [N] float64, the mean importance weight of a row's tokens; None if no filter weights.
        weighted: [N] float64, the processed advantage times `weight`; None likewise.
        summary: counts, settings and statistics, as `advcli compute --json` prints them.
        notes: which columns were used, one line each.
        warnings: what looks wrong, one line each.
    """

    original: "Tensor"
    processed: "Tensor"
    kept: "Tensor"
    group: "Tensor"
    tokens: "Tensor | None"
    token_counts: "Tensor | None"
    turns: "Tensor | None"
    turn_counts: "Tensor | None"
    weight: "Tensor | None"
    weighted: "Tensor | None"
    summary: ComputeResult
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    def __init__(self, request: Request) -> None:
        self._request = request
        computed = pipeline.advantages(request)
        result, report = computed.result, computed.report
        # Without filters both are the same tensor; cloned, so that writing to one does not change the other.
        same = result.processed is result.original
        self.original, self.kept = result.original, result.kept
        self.processed = result.processed.clone() if same else result.processed
        self.group = computed.data.rows.group
        self.tokens, self.token_counts = result.tokens, result.token_counts
        self.turns, self.turn_counts = result.turns, result.turn_counts
        self.weight, self.weighted = result.weight, result.weighted
        self.notes, self.warnings = report.notes, report.warnings
        self.summary = shown(
            ComputeResult.of(report), partial(tables.show, report), report.notes, report.warnings
        )

    def to_dict(self) -> dict[str, Any]:
        """Counts, settings and statistics as plain values, as `advcli compute --json` prints them."""
        return self.summary.to_dict()

    def to_arrow(self, columns: Sequence[str] | None = None) -> "pa.Table":
        """The rows of the dump with their advantages, as a pyarrow table.

        The table is the file that `advcli compute` writes: every column of the dump, then adv_original and
        adv_processed (float64, null where undefined), adv_kept (bool), adv_group (int64), and adv_tokens if the
        estimator gives one advantage per token; adv_weight, adv_weighted and adv_weight_tokens if a filter
        weights. This loads the whole dump; for one that is larger than memory use `Dump.write`.

        Args:
            columns: columns of the dump to include; None for all of them.

        Raises:
            DataError: the dump already has such a column, or values that no table can hold.
            UsageError: the dump has no such column.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        with tempfile.TemporaryDirectory(prefix="advcli-") as folder:
            output = pipeline.Output(out=f"{folder}/", layout="parquet")
            written = pipeline.compute(self._request, output).written
            parts = [pq.read_table(Path(path), memory_map=False) for path in written]
        table = parts[0] if len(parts) == 1 else pa.concat_tables(parts, promote_options="permissive")
        if columns is None:
            return table
        return table.select([*columns, *_added(table.column_names, columns)])

    def to_pandas(self, columns: Sequence[str] | None = None) -> "pd.DataFrame":
        """The rows of the dump with their advantages, as a pandas DataFrame; a frame that came from pandas keeps its index.

        Args:
            columns: columns of the dump to include; None for all of them.
        """
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame if columns is None else frame[[*columns, *_added(list(frame.columns), columns)]]

    def to_polars(self, columns: Sequence[str] | None = None) -> "pl.DataFrame":
        """The rows of the dump with their advantages, as a polars DataFrame.

        Args:
            columns: columns of the dump to include; None for all of them.

        Raises:
            MissingPackage: polars is not installed.
        """
        frame: pl.DataFrame = load("polars:from_arrow")(self.to_arrow(columns))
        return frame

    def __len__(self) -> int:
        return len(self.original)

    def __repr__(self) -> str:
        return repr(self.summary)

    def __rich__(self) -> Any:  # noqa: ANN401  a renderable of Rich
        return self.summary.__rich__()

    def _repr_html_(self) -> str | None:
        return self.summary._repr_html_()


def _added(existing: Sequence[str], columns: Sequence[str]) -> list[str]:
    """The added columns of a table; raises if a requested column does not exist."""
    absent = [name for name in columns if name not in existing]
    if absent:
        raise UsageError(f"no column '{absent[0]}'", hint=either(list(existing)))
    added = {f"adv_{name}" for name in (*COLUMNS, TOKENS, TURNS, *WEIGHTS, SOURCE)}
    return [name for name in existing if name in added and name not in columns]
