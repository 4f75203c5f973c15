"""Write a table of results (the points of a sweep, the prompts of two runs): one row each."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from advcli.errors import UsageError
from advcli.io import atomic
from advcli.records.table import Source

if TYPE_CHECKING:
    import pandas as pd

_WRITERS: Mapping[str, Callable[["pd.DataFrame", BinaryIO], object]] = {
    ".parquet": lambda frame, file: frame.to_parquet(file, index=False),
    ".csv": lambda frame, file: frame.to_csv(file, index=False, lineterminator="\n"),
    ".jsonl": lambda frame, file: frame.to_json(file, orient="records", lines=True, double_precision=15),
}


def check(path: Path, sources: Sequence[Source], *, force: bool, hint: str = "sweep.parquet") -> None:
    """Refuse a path before any work is done.

    Raises:
        UsageError: the file exists or is an input, or its suffix is none of .parquet, .csv, .jsonl.
        DataError: there is no folder to write into.
    """
    if path.suffix not in _WRITERS:
        raise UsageError(f"--out {path}: expected {', '.join(_WRITERS)}", hint=f"--out {hint}")
    atomic.check(path, sources, force=force)


def write(
    path: Path, points: Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any]], *, force: bool
) -> None:
    """Write rows, or columns by name, in the form that the suffix names, whole or not at all."""
    import pandas as pd

    frame = pd.DataFrame(points if isinstance(points, Mapping) else list(points))
    with atomic.replacing(path, force=force) as file:
        _WRITERS[path.suffix](frame, file)
