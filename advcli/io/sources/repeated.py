"""Files whose rows lie in other files too: twins, copies, and what the log of a table says is superseded.

Spark writes parts into `_temporary` until its job is done. Delta Lake keeps the files of earlier versions beside those of
the current one, and says in `_delta_log` which are which (Delta transaction log protocol, "Action reconciliation").
Iceberg says so in Avro, of which no reader is here; the counts in its metadata tell whether every file is current.
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
# A table lies no more folders above its files: one for each column that it is partitioned by.
_ABOVE = 6


def aside(root: str, names: Iterable[str]) -> dict[str, str]:
    """The files below a folder that readers of tables take for hidden: name → why.

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
    """The files that the log of their table does not name any more: name → why.

    Args:
        files: name and path of each.

    Raises:
        DataError: a table whose log tells only a reader of such tables which rows it has.
    """

    @cache
    def current(folder: Path) -> set[Path] | None:
        return _current(folder, [path for _, path in files if folder in path.parents])

    result = {}
    for name, path in files:
        for folder in list(path.parents)[:_ABOVE]:
            live = current(folder)
            if live is not None:
                if path not in live:
                    result[name] = "superseded according to the table's log"
                break
    return result


def twins(files: Sequence[tuple[str, Path]], codecs: Iterable[str], opened: Opened) -> dict[str, str]:
    """The compressed files that exist in another form too: name → why.

    Args:
        files: name and path of each.
        codecs: suffixes of compressed files.
        opened: opens a file, decompressed.

    Raises:
        DataError: two such files differ, so that nobody can tell which is the dump.
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
    """The files that hold the same bytes as an earlier one of the same step: name → why."""
    result: dict[str, str] = {}
    sized = sorted(
        ((path.stat().st_size, position) for position, (_, path) in enumerate(files)), key=lambda one: one
    )
    for _, same in groupby(sized, key=lambda one: one[0]):
        places = [position for _, position in same]
        met: dict[tuple[bytes, str | None], str] = {}
        for position in places if len(places) > 1 else ():
            name, path = files[position]
            with suppress(OSError):
                first = met.setdefault((_digest(path.open("rb")), step_of(name)), name)
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
    """The files that a table consists of now; None for a folder that is no table.

    Raises:
        DataError: only a reader of such tables can tell.
    """
    if (folder / "_delta_log").is_dir():
        return _delta(folder)
    if (folder / ".hoodie").is_dir():
        raise _unknown(folder, "Hudi", "spark.read.format('hudi')")
    metadata = sorted((folder / "metadata").glob("*.metadata.json")) if (folder / "metadata").is_dir() else []
    return _iceberg(folder, metadata, files) if metadata else None


def _delta(folder: Path) -> set[Path]:
    """The files that the log of a Delta table names."""
    log = folder / "_delta_log"
    live: dict[str, Any] = {}
    version = -1
    points = sorted(log.glob("*.checkpoint*.parquet"))
    if points:
        version = int(points[-1].name.partition(".")[0])
        for point in points:
            if int(point.name.partition(".")[0]) == version:
                live |= _checkpoint(point)
    commits = sorted(int(file.stem) for file in log.glob("*.json") if file.stem.isdecimal())
    later = [number for number in commits if number > version]
    if later != list(range(version + 1, version + 1 + len(later))) or not (points or later):
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
    """All files of an Iceberg table, if its metadata count as many as there are."""
    reader = "pyiceberg: table.scan().to_arrow()"
    try:
        newest = max(metadata, key=lambda file: (file.stat().st_mtime_ns, file.name))
        opener = gzip.open if ".gz." in newest.name else open
        with opener(newest, "rt", encoding="utf-8") as text:
            about = json.load(text)
        snapshot = next(
            one for one in about["snapshots"] if one["snapshot-id"] == about["current-snapshot-id"]
        )
        counts = snapshot["summary"]
        whole = int(counts["total-data-files"]) == len(files) and not int(counts.get("total-delete-files", 0))
    except (OSError, ValueError, KeyError, TypeError, StopIteration):
        whole = False
    if not whole:
        raise _unknown(folder, "Iceberg", reader)
    return set(files)


def _unknown(folder: Path, kind: str, reader: str) -> DataError:
    article = "an" if kind[0] in "AEIOU" else "a"
    return DataError(
        f"{folder}: this is {article} {kind} table, of which some files or rows are superseded, "
        "and advcli cannot determine which",
        hint=f"writing the current rows with {reader}, or naming the files",
    )
