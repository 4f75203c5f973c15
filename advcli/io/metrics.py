"""Writes trainer-style metrics: a JSON object per step, one per line."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from advcli.common.errors import UsageError
from advcli.io import atomic
from advcli.io.write import Target
from advcli.records.table import Source


def check(path: Path, sources: Sequence[Source], goals: Sequence[Target], *, force: bool) -> None:
    """Check the path before any work is done.

    Raises:
        UsageError: the file exists, is an input, or is the output for the rows.
        DataError: there is no folder to write into.
    """
    if any(goal.path and goal.path.resolve() == path.resolve() for goal in goals):
        raise UsageError(f"{path} is where the annotated rows go", hint="another --metrics")
    atomic.check(path, sources, force=force, flag="--metrics")


def write(path: Path, records: Sequence[Mapping[str, Any]], *, force: bool) -> None:
    """Write the records as JSON Lines, atomically."""
    with atomic.replacing(path, force=force, flag="--metrics") as file:
        for record in records:
            file.write(json.dumps(record, allow_nan=False).encode() + b"\n")
