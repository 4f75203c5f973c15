"""Tables logged with W&B, in the folder of a run."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from advcli.common.errors import DataError
from advcli.io.formats.format import Contents, Format, Opener

_STEP = re.compile(r"_(\d+)_[0-9a-f]{8,}\.table\.json$")

ROWS = (
    Format(
        name="wandb-table",
        requires=(),
        files=("*.table.json",),
        opener=Opener(
            r"\s*\{\s*\"(columns|data|index|ncols|nrows|_type|column_types)\"\s*:",
            "advcli.io.formats.wandb:opened",
        ),
        summary="a W&B table, files/media/table/<key>_<step>_<hash>.table.json",
        source="wandb/sdk/data_types/table.py",
        switch="wandb.log with a Table: wandb/run-*/files/media/table/",
        traps=(
            "the step in the name counts W&B's steps: it is used only if the table has no step",
            "with log_mode MUTABLE a file repeats the rows of the one before: read once",
        ),
    ),
)


def opened(path: Path, name: str) -> Contents | None:
    """The rows of a table; None if the document is not a table.

    Raises:
        DataError: two columns have the same name, or the number of values in a row differs from the number of columns.
    """
    table = json.loads(path.read_bytes())
    columns, data = table.get("columns"), table.get("data")
    if not (
        isinstance(columns, list) and isinstance(data, list) and all(isinstance(row, list) for row in data)
    ):
        return None
    names = [str(column) for column in columns]
    if len(set(names)) < len(names):
        twice = sorted({column for column in names if names.count(column) > 1})
        raise DataError(f"{name}: the column {', '.join(twice)} is there twice, expected unique names")
    return Contents(_rows(names, data, name), format="wandb-table")


def _rows(columns: list[str], data: list[list[Any]], name: str) -> Iterator[Mapping[str, Any]]:
    step = _STEP.search(name)
    extra = {"step": int(step.group(1))} if step and not {"step", "global_step"} & set(columns) else {}
    for number, row in enumerate(data, start=1):
        if len(row) != len(columns):
            raise DataError(
                f"{name}: row {number} has {len(row)} values, expected {len(columns)}, one per column"
            )
        yield {**dict(zip(columns, row, strict=True)), **extra}
