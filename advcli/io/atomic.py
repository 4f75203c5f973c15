"""Where bytes go: whole or not at all."""

import fcntl
import os
import re
import secrets
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa

from advcli.common.errors import DataError, UsageError
from advcli.common.wording import reason
from advcli.records.table import Source

_PART = ".part"
_LEFT = re.compile(r"[0-9a-f]{8}\.part")


def check(
    target: Path, sources: Sequence[Source], *, force: bool, parent: bool = True, flag: str = "--out"
) -> None:
    """Refuse a target before any work is done.

    Args:
        target: the file to write.
        sources: the inputs, none of which may be overwritten.
        force: overwrite what exists.
        parent: whether the folder must be there already.
        flag: the option that named the target.

    Raises:
        UsageError: the target is an input, a folder, or exists.
        DataError: there is no folder to write into.
    """
    check_all([target], sources, force=force, parent=parent, flag=flag)


def check_all(
    targets: Sequence[Path],
    sources: Sequence[Source],
    *,
    force: bool,
    parent: bool = True,
    flag: str = "--out",
) -> None:
    """The same for several targets.

    Raises:
        UsageError: as `check`.
        DataError: as `check`.
    """
    inputs = {_identity(source.path) for source in sources if source.path.exists()}
    for target in targets:
        with writing(target, flag):
            _refuse(target, inputs, force=force, parent=parent, flag=flag)


def _identity(path: Path) -> tuple[int, int]:
    """What is the same for two names of one file."""
    status = path.stat()
    return status.st_dev, status.st_ino


def _refuse(target: Path, inputs: set[tuple[int, int]], *, force: bool, parent: bool, flag: str) -> None:
    # A name that is too long or a folder that may not be entered is an OSError here; pathlib hides some.
    try:
        status = target.stat()
    except (FileNotFoundError, NotADirectoryError):
        status = None
    if status and stat.S_ISDIR(status.st_mode):
        raise UsageError(f"{target} is a folder, expected a file", hint=f"{flag} {target}/FILE")
    if status and (status.st_dev, status.st_ino) in inputs:
        raise UsageError(f"{target} is an input, which is never overwritten", hint=f"another {flag}")
    if status and stat.S_ISREG(status.st_mode) and not force:
        raise UsageError(f"{target} exists already", hint=f"--force to overwrite it, or another {flag}")
    if parent and not target.parent.is_dir():
        raise DataError(f"{target}: there is no folder '{target.parent}'", hint=f"mkdir -p {target.parent}")


@contextmanager
def replacing(
    target: Path, *, force: bool, flag: str = "--out", like: Path | None = None
) -> Iterator[BinaryIO]:
    """Write a file under a temporary name in the same folder, and rename it at the end.

    A device or a pipe is written to directly. Whatever goes wrong, `target` is either the old file or the
    complete new one. A new file may be read by those who may read `like`; one that replaces another has its
    owner and its mode.

    Args:
        target: the file.
        force: overwrite what exists.
        flag: the option that named the target.
        like: the file that this one is a copy of; None for the usual mode.

    Raises:
        DataError: the file cannot be written.
        UsageError: the target appeared meanwhile, and `force` is off.
    """
    explained = partial(writing, target, flag)
    with explained():
        direct = target.exists() and not target.is_file()
        target = target.resolve() if target.is_symlink() and not direct else target
    if direct:
        with explained(), target.open("wb") as device:
            yield cast("BinaryIO", _Sink(device, explained))
        return
    # Short enough for any name that the file system allows.
    part = target.with_name(f"{_beginning(target)}{secrets.token_hex(4)}{_PART}")
    try:
        with explained():
            old = target.stat() if target.exists() else None
            file = _created(part, _mode(like))
        try:
            yield cast("BinaryIO", _Sink(file, explained))
            with explained():
                file.flush()
                if old:
                    _like_before(file, old)
                    # The old file goes with the rename: the new one must be on the disk by then.
                    os.fsync(file.fileno())
        finally:
            with explained():
                file.close()
        with explained():
            publish(part, target, force=force)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _beginning(target: Path) -> str:
    """The beginning of the temporary names of a file."""
    return f".{target.name[:40]}."


def leftovers(targets: Iterable[Path | None]) -> tuple[str, ...]:
    """Remove what killed runs left of some files.

    A run holds a lock on the file that it writes, and the system gives that up when the run is killed.

    Args:
        targets: the files that are about to be written; None for standard output.

    Returns:
        A sentence for each file that was removed.
    """
    removed = []
    for named in filter(None, targets):
        with suppress(OSError, RuntimeError):
            target = named.resolve() if named.is_symlink() else named
            start = _beginning(target)
            for name in os.listdir(target.parent):  # noqa: PTH208  names only, of a folder that may be large
                if name.startswith(start) and _LEFT.fullmatch(name[len(start) :]):
                    removed += _removed(target.with_name(name))
    return tuple(f"removed {path}, which a killed run left behind" for path in removed)


def _removed(part: Path) -> list[Path]:
    """Remove a file that no run holds a lock on."""
    with part.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return []
        part.unlink()
    return [part]


def _created(path: Path, mode: int) -> BinaryIO:
    """A new file with a lock on it, and its folder if that is not there yet."""

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags, mode)

    try:
        file = open(path, "xb", opener=opener)  # noqa: SIM115  pathlib has no opener
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open(path, "xb", opener=opener)  # noqa: SIM115
    with suppress(OSError):
        # Some file systems have no locks; what is left there stays.
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return file


def _mode(like: Path | None) -> int:
    """Who may read and write the copy of a file: as far as the umask allows, the same, and always its owner."""
    if not isinstance(like, Path):
        return 0o666
    try:
        return like.stat().st_mode & 0o666 | stat.S_IWUSR
    except OSError:
        # Reading it says why.
        return 0o600


def _like_before(file: BinaryIO, old: os.stat_result) -> None:
    """Give a file the owner and the mode of the one that it replaces, as far as that is allowed."""
    new = os.fstat(file.fileno())
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(PermissionError):
            os.fchown(file.fileno(), old.st_uid, old.st_gid)
    os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))


class _Sink:
    """An output file whose errors name it, so that an input's error is not mistaken for it."""

    closed = False

    def __init__(self, file: BinaryIO, explained: Callable[[], AbstractContextManager[None]]) -> None:
        self._file, self._explained = file, explained

    def write(self, data: bytes) -> int:
        with self._explained():
            return self._file.write(data)

    def flush(self) -> None:
        with self._explained():
            self._file.flush()

    def close(self) -> None:
        """Closed by the caller that opened it."""
        self.flush()


@contextmanager
def standard_output() -> Iterator[BinaryIO]:
    """Standard output as bytes, flushed at the end."""
    sink = _Sink(sys.stdout.buffer, _stdout_explained)
    yield cast("BinaryIO", sink)
    sink.flush()


@contextmanager
def _stdout_explained() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise DataError(f"standard output cannot be written ({reason(error)})") from error


@contextmanager
def compressed(sink: BinaryIO, codec: str | None) -> Iterator[BinaryIO]:
    """Compress what is written, if a codec is named."""
    if codec is None:
        yield sink
        return
    with pa.CompressedOutputStream(pa.PythonFile(_Unclosable(sink), mode="w"), codec) as stream:
        yield cast("BinaryIO", stream)


class _Unclosable:
    """Keeps arrow from closing a stream that is not its own."""

    closed = False

    def __init__(self, sink: BinaryIO) -> None:
        self._sink = sink

    def write(self, data: bytes) -> int:
        return self._sink.write(data)

    def flush(self) -> None:
        self._sink.flush()

    def close(self) -> None:
        self._sink.flush()


def publish(part: Path, target: Path, *, force: bool) -> None:
    """Give a complete file its name.

    Raises:
        UsageError: there is a file of that name, and `force` is off.
    """
    if force:
        part.replace(target)
        return
    try:
        os.link(part, target)
    except FileExistsError:
        raise UsageError(
            f"{target} exists already", hint="--force to overwrite it, or another --out"
        ) from None
    except OSError:
        # A file system without hard links.
        part.replace(target)


@contextmanager
def writing(target: Path, flag: str) -> Iterator[None]:
    """Turn the system's error into ours, with the name of what is written; a closed pipe is the caller's affair.

    Raises:
        DataError: the file cannot be written.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except (OSError, RuntimeError) as error:
        # A circle of symbolic links is a RuntimeError to pathlib.
        raise DataError(f"{target}: cannot be written ({reason(error)})", hint=f"another {flag}") from error
