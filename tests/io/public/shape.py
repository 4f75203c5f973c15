"""What a public file looks like, and what a person who opened it would choose."""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


@dataclass(frozen=True)
class Shape:
    """A file in the shape of a public one; its contents are invented.

    Attributes:
        file: its name, and by its ending how it is written: .jsonl, .json (one document), .parquet or .csv.
        content: its rows; for .json the document; for .csv the text.
        note: what is special about it, and the arithmetic of the numbers below, in words.
        reward: the columns whose sum is the reward; none if the file cannot be read.
        group_by: the columns of a group.
        groups: how many groups there are.
        advantages: reward − mean of the group, worked out by hand, in the order of the file; None for a missing reward.
        step: the column of the step.
        args: what has to be typed besides the file: without them it is refused, and they stand in the hint, command by command.
        said: words of the error, where that is the right outcome; else of what is said beside the result.
    """

    file: str
    content: Any
    note: str
    reward: Sequence[str] = ()
    group_by: Sequence[str] = ()
    groups: int = 0
    advantages: Sequence[float | None] = ()
    step: str | None = None
    args: Sequence[tuple[str, ...]] = ()
    said: Sequence[str] = field(default=())

    def write(self, folder: Path) -> Path:
        """Write the file, and return its path."""
        path = folder / self.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_WRITERS[path.suffix](self.content))
        return path


def _json_lines(rows: list[Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _parquet(rows: list[Any]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out)
    return out.getvalue()


_WRITERS = {
    ".jsonl": _json_lines,
    ".json": lambda document: json.dumps(document, indent=1).encode(),
    ".parquet": _parquet,
    ".csv": str.encode,
    ".log": str.encode,
}


def chat(text: str, role: str = "user") -> list[dict[str, str]]:
    """A conversation of one message."""
    return [{"role": role, "content": text}]


# Rewards of two prompts with four answers each: means 2/4 and 3/4.
FOUR = (1.0, 0.0, 0.0, 1.0), (1.0, 1.0, 1.0, 0.0)
OF_FOUR = [0.5, -0.5, -0.5, 0.5, 0.25, 0.25, 0.25, -0.75]
FOUR_IN_WORDS = "1, 0, 0, 1 have the mean 1/2: ±1/2; 1, 1, 1, 0 have 3/4: 1/4 three times and −3/4."
