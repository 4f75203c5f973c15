"""Resolves the inputs that the user typed to a list of sources that can be read twice."""

import fcntl
import fnmatch
import glob
import io
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path, PurePath
from typing import Any, BinaryIO, TypeAlias

import pyarrow as pa

from advcli.common.errors import DataError, UsageError
from advcli.common.registry import load
from advcli.common.wording import megabytes, reason
from advcli.io.formats.catalog import FORMATS
from advcli.io.jsonl import document
from advcli.io.sources import containers, magic, remote, repeated, side_files
from advcli.records.table import MAX_LINE, Part, Source

STDIN = "-"
SUFFIXES = {".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"}
CODECS = {".gz": "gzip", ".zst": "zstd"}

# Bytes decompressed at once: the smaller, the closer the reported line is to where a file is truncated.
_CHUNK = 1 << 16
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_PARQUET_MAGIC = b"PAR1"
Scratch: TypeAlias = Callable[[], Path]
"""Returns the folder for temporary copies."""

# Words that end in their only number. Others contain ids, such as 3002af6, as does Harbor's suffix after "__".
_WORD = re.compile(r"(?<![0-9A-Za-z])(?<!__)([A-Za-z]*)([0-9]+)(?![0-9A-Za-z])|([0-9A-Za-z]+|[^0-9A-Za-z]+)")
_OWN_OUTPUT = re.compile(r"\.adv\.[a-z.]+$")


_LOCK = "lock"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for temporary copies; folders that killed runs left behind are removed.

    A run holds a lock on a file in its folder, which the system releases when the run is killed.
    """
    for abandoned in Path(tempfile.gettempdir()).glob("advcli-*/" + _LOCK):
        with suppress(OSError), abandoned.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(abandoned.parent, ignore_errors=True)
    with ExitStack() as stack:
        temporary = tempfile.TemporaryDirectory(prefix="advcli-", ignore_cleanup_errors=True)
        folder = Path(stack.enter_context(temporary))
        lock = stack.enter_context((folder / "new").open("wb"))
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Rename only after locking, so that no other run takes the folder for abandoned.
        (folder / "new").rename(folder / _LOCK)
        yield folder


@contextmanager
def found(
    inputs: Sequence[str],
    *,
    copied: bool = True,
    scratch: Scratch | None = None,
    max_line: int = MAX_LINE,
    advance: Callable[[], None] = lambda: None,
) -> Iterator[tuple[list[Source], dict[str, str]]]:
    """Find the inputs and keep the temporary copies that some need.

    Args:
        inputs: files, globs, folders, or "-" for standard input.
        copied: whether inputs behind a URL are copied to this machine instead of read remotely.
        scratch: returns the folder for temporary copies; None for one that is deleted on exit.
        max_line: maximum bytes of a line.
        advance: called for each file that is opened.

    Yields:
        One source per file, in natural order of names within a folder; and name → reason for the skipped files.

    Raises:
        DataError: no input exists, or none can be read.
        UsageError: "-" is combined with other inputs or given twice.
    """
    if STDIN in inputs and len(inputs) > 1:
        raise UsageError("standard input ('-') cannot be combined with other inputs", hint="a file for each")
    with ExitStack() as stack:

        @cache
        def new_scratch() -> Path:
            """A folder for copies, created when needed."""
            try:
                return stack.enter_context(scratch_folder())
            except OSError as error:
                raise DataError(
                    f"no folder for temporary copies ({reason(error)})",
                    hint="TMPDIR=DIR with a folder that can be written",
                ) from error

        scratch = scratch or new_scratch
        files = list(_find(inputs, scratch, copied=copied))
        skipped = side_files.rivals([name for name, _, searched in files if searched])
        skipped |= {name: "empty" for name, path, searched in files if searched and not path.stat().st_size}
        skipped |= _hidden(inputs, [name for name, _, searched in files if searched])
        if len(skipped) == len(files):
            skipped = {}
        skipped |= _repeated([file for file in files if file[0] not in skipped])
        sources = []
        for name, path, _ in files:
            if name not in skipped:
                advance()
                sources.append(_source(name, path, scratch, max_line))
        duplicates = containers.repeated(sources)
        yield [source for source in sources if source.name not in duplicates], skipped | duplicates


def _hidden(inputs: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """The files found in folders whose names exclude them from the data: name → reason."""
    result: dict[str, str] = {}
    for text in inputs:
        if not remote.is_remote(text) and text != STDIN:
            inside = [name for name in names if PurePath(text) in PurePath(name).parents]
            result |= repeated.aside(text, inside)
    return result


def _repeated(files: Sequence[tuple[str, Path, bool]]) -> dict[str, str]:
    """The files whose rows are also in other files: name → reason.

    Raises:
        DataError: it can't be determined which files are current.
    """
    local = [
        (name, path, searched) for name, path, searched in files if isinstance(path, Path) and path.is_file()
    ]
    several = len(files) > 1
    result = repeated.superseded([(name, path) for name, path, searched in local if searched or several])
    if result and len(result) == len(files):
        raise DataError(f"{files[0][0]}: superseded according to the table's log, like all other files")
    remaining = [(name, path, searched) for name, path, searched in local if name not in result]
    result |= repeated.twins([(name, path) for name, path, _ in remaining], CODECS, _plain)
    return result | repeated.copies(
        [(name, path) for name, path, searched in remaining if searched and name not in result]
    )


def _plain(path: Path, name: str) -> BinaryIO:
    """The bytes of a file, decompressed if compressed."""
    return _decompressed(path, _beginning(name, path)[0], name)


def stream(source: Source) -> BinaryIO:
    """Open the bytes of a source, decompressed.

    Raises:
        DataError: the file cannot be opened.
    """
    file = _decompressed(source.path, source.codec, source.name)
    return file if source.part is None else io.BufferedReader(_Bounded(file, source.part), _CHUNK)


class _Bounded(io.RawIOBase):
    """A byte range of a file."""

    def __init__(self, file: BinaryIO, part: Part) -> None:
        file.seek(part.begin)
        self._file, self._remaining = file, part.end - part.begin

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  anything with the buffer protocol
        """Read into a buffer, not beyond the end of the range."""
        result = self._file.read(min(len(buffer), self._remaining))
        buffer[: len(result)] = result
        self._remaining -= len(result)
        return len(result)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def _find(inputs: Sequence[str], scratch: Scratch, *, copied: bool) -> Iterator[tuple[str, Path, bool]]:
    """Name and path of every file, and whether it was found in a folder."""
    seen: set[Path] = set()
    names: dict[str, int] = {}
    resolved = cache(Path.resolve)
    for text in inputs:
        result = _behind_url(text, scratch, copied=copied) if remote.is_remote(text) else _matches(text)
        for name, path, searched in result:
            # Resolve a folder once for all of its files.
            separate = not (searched and isinstance(path, Path)) or path.is_symlink()
            real_path = _resolved(name, path) if separate else resolved(path.parent) / path.name
            if text == STDIN or real_path not in seen:
                seen.add(real_path)
                # Two URLs can differ only in their secrets, which are not shown.
                names[name] = names.get(name, 0) + 1
                yield name if names[name] == 1 or name == text else f"{name} ({names[name]})", path, searched


def _resolved(name: str, path: Path) -> Path:
    """The resolved path of an input.

    Raises:
        DataError: a loop of symbolic links.
    """
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:
        raise DataError(f"{name}: {reason(error)}") from error


def _behind_url(url: str, scratch: Scratch, *, copied: bool) -> Iterator[tuple[str, Path, bool]]:
    return remote.fetched(url, scratch(), _patterns()) if copied else remote.listed(url, _patterns())


def _matches(text: str) -> list[tuple[str, Path, bool]]:
    if not text.strip():
        raise UsageError("an input is an empty name", hint="a file, a folder or - for standard input")
    path = Path(text)
    if text == STDIN:
        return [("<stdin>", path, False)]
    try:
        if path.is_dir():
            return [(str(file), file, True) for file in _dumps_in(path)]
        if path.exists():
            return [(text, path, False)]
        # pathlib cannot expand an absolute pattern.
        result = sorted(glob.glob(text, recursive=True), key=_natural)  # noqa: PTH207
    except DataError:
        raise
    except (OSError, ValueError, RuntimeError) as error:
        # pathlib raises a RuntimeError for a loop of symbolic links.
        raise DataError(f"{text}: {reason(error)}") from error
    result = [name for name in result if not Path(name).is_dir()]
    if not result:
        raise DataError(
            f"{text}: no such file", hint="a file, a folder, a quoted glob or - for standard input"
        )
    return [(name, Path(name), False) for name in result]


def _dumps_in(folder: Path) -> list[Path]:
    """The dumps in a folder and its subfolders, by the file names in the catalog; without advcli's outputs."""
    dumps = _named_like(folder, _patterns()) or _named_like(folder, _patterns("otherwise"))
    if not dumps:
        contents = magic.without_dumps(file for file in folder.rglob("*") if file.is_file())
        raise DataError(
            f"{folder}: no dump in this folder (hidden files and advcli's own .adv. files are skipped)"
            + (f"; {contents}" if contents else ""),
            hint="a folder with .parquet or .jsonl files, or the files themselves",
        )
    return sorted(dumps, key=lambda file: _natural(str(file)))


def _named_like(folder: Path, patterns: Collection[str]) -> list[Path]:
    """The files with matching names, except hidden files, advcli's outputs and copies of a database."""
    # A pattern with a folder also matches through a symbolic link.
    files = {file for pattern in patterns if "/" in pattern for file in folder.rglob(pattern)}
    files = {
        file for file in files if not any(part.startswith(".") for part in file.relative_to(folder).parts)
    }
    known = re.compile(
        "|".join(map(fnmatch.translate, (name for name in patterns if "/" not in name))) or "(?!)"
    )
    for position, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files |= {Path(position, name) for name in names if name[0] != "." and known.match(name)}
    return [
        file
        for file in files
        if not _OWN_OUTPUT.search(file.name) and not side_files.is_copy(file) and file.is_file()
    ]


@cache
def _patterns(names: str = "files") -> frozenset[str]:
    """The file name patterns to search a folder for: `files` or `otherwise` of all formats."""
    return frozenset(
        pattern + codec for row in FORMATS for pattern in getattr(row, names) for codec in ("", *CODECS)
    )


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Sort key that puts 2.jsonl before 10.jsonl and sorts ids as text."""
    result = []
    for letters, number, text in _WORD.findall(name):
        result += [(1, 0, letters)] if letters else []
        result.append((0, int(number), "") if number else (1, 0, text))
    return result


def _source(name: str, path: Path, scratch: Scratch, max_line: int) -> Source:
    """Detect the container from the first bytes, and make sure that the input can be read twice."""
    path = _readable_twice(name, path, scratch)
    codec, head = _beginning(name, path)
    if not head:
        raise DataError(f"{name}: the file is empty, expected rows")
    inner = name.removesuffix(next((suffix for suffix in CODECS if codec and name.endswith(suffix)), ""))
    if not head.startswith(_PARQUET_MAGIC):
        unpacked = _unpacked(inner, path, codec, head, scratch, max_line)
        if unpacked:
            return replace(unpacked, name=name, origin=path)
        stranger = magic.stranger(head)
        if stranger:
            raise DataError(f"{name}: {stranger.what}", hint=stranger.hint)
        _refuse_parquet_name(name)
        layout = _json_layout(name, path, codec, max_line)
        return Source(name, path, layout, codec, stamp(path), join=_join(name), max_line=max_line)
    if codec:
        # Parquet needs random access, so decompress the file to disk.
        with _decompressed(path, codec, name) as file:
            path = _spooled(file, scratch, name)
    return Source(name, path, "parquet", None, stamp(path))


def _unpacked(
    name: str, path: Path, codec: str | None, head: bytes, scratch: Scratch, max_line: int
) -> Source | None:
    """A source with the rows of a file that is neither parquet nor JSON; None if it may be JSON or is unknown."""
    if containers.opener(name, head) is None:
        return None
    folder = scratch()
    if codec or not isinstance(path, Path):
        with _decompressed(path, codec, name) as file:
            path = _spooled(file, scratch, name)
    target = _free(folder)
    result = containers.unpacked(name, path, head, target)
    if result is None:
        return None
    contents = result.contents
    if not result.layout:
        return _source(contents.name or name, target, scratch, max_line)
    if not target.stat().st_size:
        raise DataError(f"{name}: no rows, expected one per response")
    return Source(
        name, target, result.layout, stamp=stamp(target), remarks=contents.remarks, format=contents.format
    )


def _join(name: str) -> "Callable[[dict[str, Any]], dict[str, Any]] | None":
    """The function that completes the records of a file from neighboring files; None if there is none."""
    path = Path(name)
    for form in FORMATS:
        if form.join and any(
            path.match(pattern + codec) for pattern in form.files for codec in ("", *CODECS)
        ):
            result: Callable[[dict[str, Any]], dict[str, Any]] | None = load(form.join)(path)
            return result
    return None


def _json_layout(name: str, path: Path, codec: str | None, max_line: int) -> str:
    with _decompressed(path, codec, name) as file:
        try:
            return "json" if document.is_document(file, max_line) else "jsonl"
        except document.TooLarge as error:
            raise DataError(
                f"{name}: one JSON value of more than {megabytes(error.limit)}",
                hint=f"jq -c '.[]', or --max-line {megabytes(2 * max_line).replace(' ', '')}",
            ) from error
        except document.Broken as error:
            several = error.what.startswith("extra data")
            raise DataError(
                f"{name}:{error.line}: not valid JSON ({error.what}); the value that begins in line 1 "
                + ("ends before it" if several else "is cut off or broken"),
                hint="writing one value per line: jq -c ."
                if several
                else "writing or copying the file again",
            ) from error


def _readable_twice(name: str, path: Path, scratch: Scratch) -> Path:
    """The path itself, or that of a copy of standard input or a pipe."""
    if name == "<stdin>":
        if sys.stdin is None:
            raise DataError("standard input is closed", hint="a file")
        return _spooled(sys.stdin.buffer, scratch, name)
    if path.is_file():
        return path
    with _open(path, name) as pipe:
        return _spooled(pipe, scratch, name)


def _beginning(name: str, path: Path) -> tuple[str | None, bytes]:
    """The codec of a file and its first bytes, decompressed."""
    with _open(path, name) as file:
        head = _read(file, magic.HEAD, name)
    codec = next((codec for first, codec in _MAGIC.items() if head.startswith(first)), None)
    if codec:
        with _decompressed(path, codec, name) as file:
            try:
                head = file.read(magic.HEAD)
            except OSError:
                # Truncated so early that nothing can be decompressed; the reader reports where.
                head = b"{"
    return codec, head


def stamp(path: Path) -> tuple[int, int]:
    """Size and modification time of a file."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _refuse_parquet_name(name: str) -> None:
    if ".parquet" in Path(name).suffixes:
        raise DataError(
            f"{name}: not a parquet file (it does not begin with PAR1)", hint="writing the file again"
        )


def _spooled(file: BinaryIO, scratch: Scratch, name: str) -> Path:
    """Copy a stream to disk, because it is read twice."""
    target = _free(scratch())
    try:
        with target.open("wb") as out:
            shutil.copyfileobj(file, out, 1 << 20)
    except OSError as error:
        raise DataError(f"{name}: {reason(error)}") from error
    return target


def _free(folder: Path) -> Path:
    """An unused path for the next copy in a folder."""
    return folder / f"spool-{len(list(folder.iterdir()))}"


def _open(path: Path, name: str) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise DataError(f"{name}: {reason(error)}") from error


def _decompressed(path: Path, codec: str | None, name: str) -> BinaryIO:
    file = _open(path, name)
    if codec is None:
        return file
    return io.BufferedReader(pa.CompressedInputStream(pa.PythonFile(file, mode="r"), codec), _CHUNK)


def _read(file: BinaryIO, size: int, name: str) -> bytes:
    try:
        return file.read(size)
    except OSError as error:
        raise DataError(f"{name}: {reason(error)}") from error
