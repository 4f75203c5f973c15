"""Finds files whose rows are also in other files: compressed twins, copies, and files superseded in a table's log.

Spark writes parts into `_temporary` until its job is done. Delta Lake keeps the files of earlier versions next to the
current ones, and `_delta_log` lists which are current (Delta transaction log protocol, "Action reconciliation").
Iceberg lists them in Avro, which advcli can't read; the counts in its metadata show whether every file is current.
"""

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from itertools import groupby
from pathlib import Path, PurePath
from typing import Any, BinaryIO
from urllib.parse import unquote

import pyarrow.parquet as pq

from advcli.common.errors import DataError
from advcli.io.formats.derived import step_of

Opened = Callable[[Path, str], BinaryIO]
"""Opens a file, decompressed, by its path and its name."""

_PIECE = 1 << 20
# How many folders above a file a table is searched: one for each partition column.
_MAX_DEPTH = 6


def aside(root: str, names: Iterable[str]) -> dict[str, str]:
    """The files below a folder that table readers treat as hidden: name → reason.

    Example:
        >>> aside("t", ["t/part-0.parquet", "t/_temporary/0/part-0.parquet"])
        {'t/_temporary/0/part-0.parquet': "in '_temporary'"}
    """
    result: dict[str, str] = {}
    for name in names:
        parts = PurePath(name).relative_to(root).parts
        hidden = next((part for part in parts if part.startswith("_")), None)
        if hidden is not None:
            result[name] = f"in '{hidden}'" if len(parts) > 1 and hidden != parts[-1] else "hidden"
    return result


def superseded(files: Sequence[tuple[str, Path]]) -> dict[str, str]:
    """The files that the log of their table no longer lists: name → reason.

    Args:
        files: name and path of each.

    Raises:
        DataError: a table whose current rows only a reader of that table format can determine.
    """

    @cache
    def current(folder: Path) -> set[Path] | None:
        return _current(folder, [path for _, path in files if folder in path.parents])

    result = {}
    for name, path in files:
        for folder in list(path.parents)[:_MAX_DEPTH]:
            live = current(folder)
            if live is not None:
                if path not in live:
                    result[name] = "superseded according to the table's log"
                break
    return result


def twins(files: Sequence[tuple[str, Path]], codecs: Iterable[str], opened: Opened) -> dict[str, str]:
    """The compressed files that also exist uncompressed or with another codec: name → reason.

    Args:
        files: name and path of each.
        codecs: suffixes of compressed files.
        opened: opens a file, decompressed.

    Raises:
        DataError: two such files differ, so it is unclear which one is the dump.
    """
    plain = dict(files)
    result: dict[str, str] = {}
    stems: dict[str, str] = {name: name for name in plain}
    for name, path in files:
        stem = next((name.removesuffix(codec) for codec in codecs if name.endswith(codec)), None)
        if stem is None:
            continue
        other = stems.setdefault(stem, name)
        if other == name:
            continue
        if _digest(opened(path, name)) != _digest(opened(plain[other], other)):
            raise DataError(f"{other} and {name} differ, and only one can be the dump", hint=other)
        result[name] = f"the same as {PurePath(other).name}"
    return result


def copies(files: Sequence[tuple[str, Path]]) -> dict[str, str]:
    """The files with the same bytes as an earlier one of the same step: name → reason."""
    result: dict[str, str] = {}
    sized = sorted(
        ((path.stat().st_size, position) for position, (_, path) in enumerate(files)), key=lambda item: item
    )
    for _, same in groupby(sized, key=lambda item: item[0]):
        positions = [position for _, position in same]
        seen: dict[tuple[bytes, str | None], str] = {}
        for position in positions if len(positions) > 1 else ():
            name, path = files[position]
            with suppress(OSError):
                first = seen.setdefault((_digest(path.open("rb")), step_of(name)), name)
                if first != name:
                    result[name] = f"a copy of {first}"
    return result


def _digest(file: BinaryIO) -> bytes:
    digest = blake2b()
    with file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.digest()


def _current(folder: Path, files: Sequence[Path]) -> set[Path] | None:
    """The current files of a table; None for a folder that is not a table.

    Raises:
        DataError: only a reader of that table format can determine them.
    """
    if (folder / "_delta_log").is_dir():
        return _delta(folder)
    if (folder / ".hoodie").is_dir():
        raise _unknown(folder, "Hudi", "spark.read.format('hudi')")
    metadata = sorted((folder / "metadata").glob("*.metadata.json")) if (folder / "metadata").is_dir() else []
    return _iceberg(folder, metadata, files) if metadata else None


def _delta(folder: Path) -> set[Path]:
    """The current files in the log of a Delta table."""
    log = folder / "_delta_log"
    live: dict[str, Any] = {}
    version = -1
    checkpoints = sorted(log.glob("*.checkpoint*.parquet"))
    if checkpoints:
        version = int(checkpoints[-1].name.partition(".")[0])
        for checkpoint in checkpoints:
            if int(checkpoint.name.partition(".")[0]) == version:
                live |= _checkpoint(checkpoint)
    commits = sorted(int(file.stem) for file in log.glob("*.json") if file.stem.isdecimal())
    later = [number for number in commits if number > version]
    if later != list(range(version + 1, version + 1 + len(later))) or not (checkpoints or later):
        raise _unknown(folder, "Delta", "deltalake.DeltaTable(FOLDER).to_pyarrow_table()")
    for number in later:
        for action in _actions(log / f"{number:020d}.json"):
            if "remove" in action:
                live.pop(action["remove"]["path"], None)
            if "add" in action:
                live[action["add"]["path"]] = action["add"]
    if any(add.get("deletionVector") for add in live.values()):
        raise _unknown(folder, "Delta", "deltalake.DeltaTable(FOLDER).to_pyarrow_table()")
    return {folder / unquote(path) for path in live}


def _checkpoint(file: Path) -> dict[str, Any]:
    try:
        added = pq.read_table(file, columns=["add"]).column("add").to_pylist()
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{file}: not a readable checkpoint of a Delta table") from error
    return {add["path"]: add for add in added if add is not None and add.get("path")}


def _actions(file: Path) -> Iterator[Mapping[str, Any]]:
    try:
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.strip():
                yield json.loads(line)
    except (OSError, ValueError) as error:
        raise DataError(f"{file}: not a readable log of a Delta table") from error


def _iceberg(folder: Path, metadata: Sequence[Path], files: Sequence[Path]) -> set[Path]:
    """All files of an Iceberg table, if their number matches its metadata."""
    reader = "pyiceberg: table.scan().to_arrow()"
    try:
        newest = max(metadata, key=lambda file: (file.stat().st_mtime_ns, file.name))
        opener = gzip.open if ".gz." in newest.name else open
        with opener(newest, "rt", encoding="utf-8") as text:
            document = json.load(text)
        snapshot = next(
            candidate
            for candidate in document["snapshots"]
            if candidate["snapshot-id"] == document["current-snapshot-id"]
        )
        counts = snapshot["summary"]
        complete = int(counts["total-data-files"]) == len(files) and not int(
            counts.get("total-delete-files", 0)
        )
    except (OSError, ValueError, KeyError, TypeError, StopIteration):
        complete = False
    if not complete:
        raise _unknown(folder, "Iceberg", reader)
    return set(files)


def _unknown(folder: Path, kind: str, reader: str) -> DataError:
    article = "an" if kind[0] in "AEIOU" else "a"
    return DataError(
        f"{folder}: this is {article} {kind} table, of which some files or rows are superseded, "
        "and advcli cannot determine which",
        hint=f"writing the current rows with {reader}, or naming the files",
    )
