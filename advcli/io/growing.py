"""Files that are still being written: their complete lines, and how far they have been annotated."""

import glob
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from advcli.common.errors import DataError
from advcli.io import atomic
from advcli.io.sources.find import stamp
from advcli.records.table import Part, Source

STATE = ".advcli-follow.json"
"""The state file in the output folder."""

_CHUNK = 1 << 20
_TAIL = 1 << 12


@dataclass(frozen=True)
class Done:
    """How far a file has been annotated.

    Attributes:
        lines: number of lines done.
        read: bytes of these lines.
        written: bytes of the output.
        tail: a digest of the last of these bytes; "" if a state has none.
        first: the earliest step; "" without steps.
        last: the latest step of these lines.
        path: the output file.
    """

    lines: int = 0
    read: int = 0
    written: int = 0
    tail: str = ""
    first: str = ""
    last: str = ""
    path: str = ""


@dataclass(frozen=True)
class State:
    """How far a folder has been annotated.

    Attributes:
        run: the options, which identify the run.
        files: name → its progress.
        groups: number of groups written.
        rollouts: number of rollouts written.
        rows: number of rows written.
        steps: completed steps, to which no rows may be added.
        settings: the settings in use.
    """

    run: str
    files: Mapping[str, Done] = field(default_factory=dict)
    groups: int = 0
    rollouts: int = 0
    rows: int = 0
    steps: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    def save(self, folder: Path) -> None:
        """Write the state atomically."""
        with atomic.replacing(folder / STATE, force=True) as file:
            file.write(json.dumps(asdict(self)).encode())


def state(folder: Path) -> State | None:
    """The state saved in a folder; None if there is none.

    Raises:
        DataError: the file is not a valid state.
    """
    path = folder / STATE
    try:
        result = json.loads(path.read_bytes())
        files = {name: Done(**done) for name, done in result.pop("files").items()}
        return State(**{**result, "files": files, "steps": tuple(result["steps"])})
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError, OSError) as error:
        raise DataError(f"{path}: cannot be read", hint="--force to start over") from error


def grows(source: Source) -> bool:
    """Whether a writer may append to a file: plain JSON Lines in one file."""
    plain = source.container == "jsonl" and source.codec is None and source.join is None
    return plain and source.origin is None and str(source.path) == source.name


def complete(source: Source, done: Done = Done()) -> Source | None:
    """The complete lines of a file that are not done yet; None if there are none.

    A file that does not grow is returned as a whole.

    Raises:
        DataError: the file has changed since its lines were done.
    """
    line_by_line, size = grows(source), source.stamp[0]
    if done.read and (size < done.read if line_by_line else size != done.read):
        raise _changed(source)
    if done.tail and done.tail != tail(source.path, done.read):
        raise _changed(source)
    if not line_by_line:
        return None if done.read else source
    end = _last_end(source.path, done.read)
    return replace(source, part=Part(done.read, end, done.lines + 1)) if end > done.read else None


def _changed(source: Source) -> DataError:
    return DataError(f"{source.name}: has changed since it was annotated", hint="--force to begin again")


def tail(path: Path, end: int) -> str:
    """A digest of the last bytes before a place: another file of the same size or more has another one."""
    with path.open("rb") as file:
        file.seek(max(0, end - _TAIL))
        return hashlib.blake2b(file.read(min(end, _TAIL)), digest_size=8).hexdigest()


def seen(inputs: Sequence[str]) -> tuple[tuple[str, int, int], ...]:
    """Name, size and modification time of every file of the inputs."""
    result = []
    for text in inputs:
        for path in map(Path, sorted(glob.glob(text)) or [text]):  # noqa: PTH207  a glob may begin at the root
            files = (Path(folder, name) for folder, _, names in os.walk(path) for name in names)
            for file in sorted(files) if path.is_dir() else [path]:
                with suppress(OSError):
                    result.append((str(file), *stamp(file)))
    return tuple(result)


def cut(source: Source, lines: int) -> Source:
    """A part reduced to its first lines."""
    assert source.part is not None
    with source.path.open("rb") as file:
        file.seek(source.part.begin)
        for _ in range(lines):
            file.readline()
        return replace(source, part=replace(source.part, end=file.tell()))


def append(path: Path, written: int, more: Path) -> int:
    """Append bytes to a file; if that fails, the file is truncated to its valid bytes.

    Args:
        path: the file; created if it doesn't exist.
        written: its valid bytes; anything after them is from a killed run.
        more: the file with the bytes to append.

    Returns:
        The number of valid bytes now, which are synced to disk.

    Raises:
        DataError: the file cannot be written, or has changed since.
    """
    with atomic.writing(path, "--out"):
        return _append(path, written, more)


def _append(path: Path, written: int, more: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Unbuffered, so that nothing is written after the file has been truncated.
    with path.open("r+b" if path.exists() else "w+b", buffering=0) as file, more.open("rb") as new:
        if file.seek(0, os.SEEK_END) < written:
            raise DataError(f"{path}: is shorter than advcli left it", hint="--force to start over")
        file.truncate(written)
        file.seek(written)
        try:
            while piece := memoryview(new.read(_CHUNK)):
                while piece:
                    piece = piece[file.write(piece) :]
            os.fsync(file.fileno())
        except BaseException:
            file.truncate(written)
            raise
        return file.tell()


def _last_end(path: Path, begin: int) -> int:
    """The offset after the last line end of a file; `begin` if no line ends after it."""
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        while end > begin:
            start = max(begin, end - _CHUNK)
            file.seek(start)
            result = file.read(end - start).rfind(b"\n")
            if result >= 0:
                return start + result + 1
            end = start
    return begin
