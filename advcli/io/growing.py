"""Files that grow: which of their lines are complete, and how far they have been annotated."""

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
"""The file, in the folder that is written to, that says how far it has got."""

_CHUNK = 1 << 20
_TAIL = 1 << 12


@dataclass(frozen=True)
class Done:
    """How far a file has been annotated.

    Attributes:
        lines: its lines that are done.
        read: their bytes.
        written: bytes of the output.
        tail: what the last of these bytes were, as a digest; "" where a state does not say.
        first: its earliest step; "" without steps.
        last: its latest step among these lines.
        path: the output.
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
        run: what makes a run another one: the options.
        files: name → how far.
        groups: groups that are written.
        rollouts: rollouts that are written.
        rows: rows that are written.
        steps: steps of these rows that were over: no row may follow.
        settings: the settings as they were used.
    """

    run: str
    files: Mapping[str, Done] = field(default_factory=dict)
    groups: int = 0
    rollouts: int = 0
    rows: int = 0
    steps: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    def save(self, folder: Path) -> None:
        """Write the state; it is the old one or the new one, whatever happens."""
        with atomic.replacing(folder / STATE, force=True) as file:
            file.write(json.dumps(asdict(self)).encode())


def state(folder: Path) -> State | None:
    """What was saved in a folder; None if nothing was.

    Raises:
        DataError: the file is no state.
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
    """The complete lines of a file after those that are done; None if there are none.

    A file that does not grow is itself.

    Raises:
        DataError: the file is not what it was when its lines were done.
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
    """Name, size and time of the last change of every file that some inputs name."""
    result = []
    for text in inputs:
        for path in map(Path, sorted(glob.glob(text)) or [text]):  # noqa: PTH207  a glob may begin at the root
            files = (Path(folder, name) for folder, _, names in os.walk(path) for name in names)
            for file in sorted(files) if path.is_dir() else [path]:
                with suppress(OSError):
                    result.append((str(file), *stamp(file)))
    return tuple(result)


def cut(source: Source, lines: int) -> Source:
    """The first lines of a part."""
    assert source.part is not None
    with source.path.open("rb") as file:
        file.seek(source.part.begin)
        for _ in range(lines):
            file.readline()
        return replace(source, part=replace(source.part, end=file.tell()))


def append(path: Path, written: int, more: Path) -> int:
    """Put bytes behind those of a file that count; whatever goes wrong, only those are left.

    Args:
        path: the file; it is made if it is not there.
        written: its bytes that count. What stands behind them is of a run that was killed.
        more: the file with what follows.

    Returns:
        The bytes that count now; they are on the disk.

    Raises:
        DataError: the file cannot be written, or is not as it was left.
    """
    with atomic.writing(path, "--out"):
        return _append(path, written, more)


def _append(path: Path, written: int, more: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without a buffer: nothing of it is written once the file has been cut.
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
    """The byte behind the last line end of a file; `begin` if no line ends after that."""
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
