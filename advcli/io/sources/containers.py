"""Converts files that are neither parquet nor JSON Lines to one of these, once.

The catalog lists such files (`Format.opener`). Their rows are written to the folder of temporary copies, as
parquet if they come as arrow batches and as JSON Lines otherwise, so that all other code only reads these two.
"""

import io
import json
import shutil
import sqlite3
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from advcli.common.errors import AdvcliError, DataError
from advcli.common.registry import load
from advcli.io.formats.catalog import FORMATS
from advcli.io.formats.format import Contents, Format
from advcli.io.parquet.storable import storable, storable_schema
from advcli.records.table import Source

_CHUNK = 1 << 20
_UNREADABLE = (
    pa.ArrowException,
    sqlite3.Error,
    zipfile.BadZipFile,
    OSError,
    ValueError,
    KeyError,
    RuntimeError,  # an encrypted zip
    NotImplementedError,  # an unknown compression in a zip
)


@dataclass(frozen=True)
class Unpacked:
    """A converted file.

    Attributes:
        layout: "parquet", "jsonl", or "" for an embedded file whose type is still to be detected.
        contents: the result of the opener.
    """

    layout: str
    contents: Contents


def opener(name: str, head: bytes) -> Format | None:
    """The first format whose opener may read a file; None for a file that needs no opener."""
    return next(iter(_openers(name, head)), None)


def unpacked(name: str, path: Path, head: bytes, target: Path) -> Unpacked | None:
    """Write the rows of a file to `target`.

    Args:
        name: its name, without a compression suffix.
        path: the decompressed file.
        head: its first bytes.
        target: the file to write.

    Returns:
        The converted file; None if no opener reads it.

    Raises:
        DataError: it is broken, or has no readable rows.
    """
    try:
        for form in _openers(name, head):
            assert form.opener is not None
            contents: Contents | None = load(form.opener.target)(path, name)
            if contents is not None:
                return Unpacked(_write(contents.rows, target, name), contents)
    except AdvcliError:
        raise
    except _UNREADABLE as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(
            f"{name}: its rows cannot be read ({reason})", hint="writing or copying the file again"
        ) from error
    return None


def repeated(sources: Sequence[Source]) -> dict[str, str]:
    """The tables whose rows are all repeated at the start of the next one: name → why it is skipped."""
    pairs = (
        (table, following)
        for table, following in pairwise(sources)
        if table.format and table.format == following.format
    )
    return {
        table.name: f"its rows are repeated in {PurePath(following.name).name}"
        for table, following in pairs
        if _starts_with(following.path, table.path)
    }


def _starts_with(path: Path, other: Path) -> bool:
    """Whether a file begins with the bytes of another one."""
    with path.open("rb") as file, other.open("rb") as head:
        while piece := head.read(_CHUNK):
            if file.read(len(piece)) != piece:
                return False
    return True


def _openers(name: str, head: bytes) -> list[Format]:
    return [form for form in FORMATS if form.opener and form.opener.fits(name, head)]


def _write(rows: Iterable[Any], target: Path, name: str) -> str:
    """Write rows in the suitable container, which is returned."""
    if isinstance(rows, pa.RecordBatchReader):
        schema = storable_schema(rows.schema, name)
        with pq.ParquetWriter(target, schema) as writer:
            for batch in rows:
                writer.write_batch(storable(batch, schema))
        return "parquet"
    with target.open("wb") as out:
        if isinstance(rows, io.IOBase):
            with rows:
                shutil.copyfileobj(rows, out, _CHUNK)
            return ""
        for row in rows:
            out.write(_line(row))
    return "jsonl"


def _line(row: Mapping[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass") + b"\n"
