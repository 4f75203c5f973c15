"""Writes a table of results, such as the points of a sweep or the prompts of two runs."""

import io
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from advcli.common.errors import UsageError
from advcli.common.wording import writable
from advcli.io import atomic
from advcli.records.table import Source

leftovers = atomic.leftovers
Columns = Mapping[str, Sequence[Any]]

# A spreadsheet interprets a cell that begins with one of these as a formula, unless a quote precedes it.
_FORMULAS = tuple("=+-@\t\r")
_QUOTED = frozenset(',"\r\n')


def check(path: Path, sources: Sequence[Source], *, force: bool, hint: str = "sweep.parquet") -> None:
    """Check the path before any work is done.

    Raises:
        UsageError: the file exists or is an input, or its suffix is none of .parquet, .csv, .jsonl.
        DataError: there is no folder to write into.
    """
    if path.suffix not in _WRITERS:
        raise UsageError(f"--out {path}: expected {', '.join(_WRITERS)}", hint=f"--out {hint}")
    atomic.check(path, sources, force=force)


def write(path: Path, points: Sequence[Mapping[str, Any]] | Columns, *, force: bool) -> None:
    """Write rows, or columns by name, atomically and in the format of the suffix."""
    columns: Columns = points if isinstance(points, Mapping) else _columns(points)
    content = io.BytesIO()
    _WRITERS[path.suffix]({name: _listed(cells) for name, cells in columns.items()}, content)
    with atomic.replacing(path, force=force) as file:
        file.write(content.getvalue())


def _columns(rows: Sequence[Mapping[str, Any]]) -> Columns:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _listed(cells: Any) -> Sequence[Any]:  # noqa: ANN401  a sequence, or what numpy or torch has in its place
    """The cells as Python numbers and texts."""
    listed: Sequence[Any] = cells.tolist() if hasattr(cells, "tolist") else cells
    return listed


def _plain(cell: Any) -> Any:  # noqa: ANN401  any cell
    """A cell as every format supports it: null for NaN and ±inf, and valid UTF-8."""
    if isinstance(cell, float) and not math.isfinite(cell):
        return None
    return writable(cell) if isinstance(cell, str) else cell


def _parquet(columns: Columns, file: BinaryIO) -> None:
    """Numbers stay numbers where all are undefined: the files of several runs have the same types."""
    arrays = {
        name: pa.array(
            map(_plain, cells), pa.float64() if any(isinstance(cell, float) for cell in cells) else None
        )
        for name, cells in columns.items()
    }
    pq.write_table(pa.table(arrays), file)


def _jsonl(columns: Columns, file: BinaryIO) -> None:
    for row in _rows(columns):
        text = json.dumps(
            dict(zip(columns, row, strict=True)), ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )
        file.write(text.encode() + b"\n")


def _csv(columns: Columns, file: BinaryIO) -> None:
    for row in (tuple(columns), *_rows(columns)):
        file.write(",".join(map(_csv_cell, row)).encode() + b"\n")


def _csv_cell(cell: object) -> str:
    if not isinstance(cell, str):
        return "" if cell is None else str(cell)
    text = f"'{cell}" if cell.startswith(_FORMULAS) else cell
    return (
        f'"{text.replace(chr(34), chr(34) * 2)}"'
        if _QUOTED.intersection(text) or text != text.strip()
        else text
    )


def _rows(columns: Columns) -> Iterator[tuple[Any, ...]]:
    return zip(*(map(_plain, cells) for cells in columns.values()), strict=True)


_WRITERS: Mapping[str, Callable[[Columns, BinaryIO], None]] = {
    ".parquet": _parquet,
    ".csv": _csv,
    ".jsonl": _jsonl,
}
