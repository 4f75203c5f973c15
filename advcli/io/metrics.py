"""Write trainer-style metrics: one JSON object per line and step."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from advcli.io import sink
from advcli.records import Source


def check(path: Path, sources: Sequence[Source], *, force: bool) -> None:
    """Refuse a path before any work is done; raises what `sink.check` raises."""
    sink.check(path, sources, force=force)


def write(path: Path, records: Sequence[Mapping[str, Any]], *, force: bool) -> None:
    """Write the records as JSON Lines, whole or not at all."""
    with sink.replacing(path, force=force) as file:
        for record in records:
            file.write(json.dumps(record, allow_nan=False).encode() + b"\n")
