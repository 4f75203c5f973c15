"""Atomic writes of output files, and errors that name the output."""

import fcntl
import os
import re
import secrets
import stat
import sys
from collections import defaultdict
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
_PART_END = re.compile(r"[0-9a-f]{8}\.part\Z")


def check(
    target: Path, sources: Sequence[Source], *, force: bool, parent: bool = True, flag: str = "--out"
) -> None:
    """Check that a target may be written, before any work is done.

    Args:
        target: the file to write.
        sources: the inputs, none of which may be overwritten.
        force: overwrite what exists.
        parent: whether the folder must already exist.
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
    """Check several targets.

    Raises:
        UsageError: as `check`.
        DataError: as `check`.
    """
    inputs = {_identity(source.path) for source in sources if source.path.exists()}
    for target in targets:
        with writing(target, flag):
            _refuse(target, inputs, force=force, parent=parent, flag=flag)


def _identity(path: Path) -> tuple[int, int]:
    """The device and inode, which are the same for two names of one file."""
    status = path.stat()
    return status.st_dev, status.st_ino


def _refuse(target: Path, inputs: set[tuple[int, int]], *, force: bool, parent: bool, flag: str) -> None:
    # stat() raises an OSError for a too long name or an inaccessible folder; pathlib's is_file() and exists() hide some.
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

    A device or a pipe is written to directly. If writing fails, `target` is still the old file.
    A new file gets the permissions of `like`; one that replaces another keeps the owner and mode of that file.

    Args:
        target: the file.
        force: overwrite what exists.
        flag: the option that named the target.
        like: the file that this one is a copy of; None for the default mode.

    Raises:
        DataError: the file cannot be written.
        UsageError: the target was created meanwhile, and `force` is False.
    """
    wrapping_errors = partial(writing, target, flag)
    with wrapping_errors():
        direct = target.exists() and not target.is_file()
        target = target.resolve() if target.is_symlink() and not direct else target
    if direct:
        with wrapping_errors(), target.open("wb") as device:
            yield cast("BinaryIO", _Sink(device, wrapping_errors))
        return
    # The beginning is cut so that the name is never too long for the file system.
    part = target.with_name(f"{_part_prefix(target)}{secrets.token_hex(4)}{_PART}")
    try:
        with wrapping_errors():
            old = target.stat() if target.exists() else None
            file = _created(part, _mode(like))
        try:
            yield cast("BinaryIO", _Sink(file, wrapping_errors))
            with wrapping_errors():
                file.flush()
                if old:
                    _restore_owner_and_mode(file, old)
                    # The rename deletes the old file, so the new one must be on disk first.
                    os.fsync(file.fileno())
        finally:
            with wrapping_errors():
                file.close()
        with wrapping_errors():
            publish(part, target, force=force)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _part_prefix(target: Path) -> str:
    """The prefix of a file's temporary names."""
    return f".{target.name[:40]}."


def leftovers(targets: Iterable[Path | None]) -> tuple[str, ...]:
    """Remove temporary files that killed runs left behind.

    A run holds a lock on the file that it writes, which the system releases when the run is killed.

    Args:
        targets: the files to be written; None for standard output.

    Returns:
        A message for each removed file.
    """
    removed: list[Path] = []
    prefixes: defaultdict[Path, set[str]] = defaultdict(set)
    for named in filter(None, targets):
        with suppress(OSError, RuntimeError):
            target = named.resolve() if named.is_symlink() else named
            prefixes[target.parent].add(_part_prefix(target))
    # Each folder is listed once: there may be thousands of targets in it.
    for folder, starts in prefixes.items():
        with suppress(OSError):
            names = os.listdir(folder)  # noqa: PTH208  names only, of a folder that may be large
            for name in names:
                end = _PART_END.search(name)
                if end and name[: end.start()] in starts:
                    removed += _removed(folder / name)
    return tuple(f"removed {path}, which a killed run left behind" for path in removed)


def _removed(part: Path) -> list[Path]:
    """Remove a file unless a run holds a lock on it."""
    with part.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return []
        part.unlink()
    return [part]


def _created(path: Path, mode: int) -> BinaryIO:
    """A new, locked file; its folder is created if needed."""

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags, mode)

    try:
        file = open(path, "xb", opener=opener)  # noqa: SIM115  pathlib has no opener
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open(path, "xb", opener=opener)  # noqa: SIM115
    with suppress(OSError):
        # Some file systems have no locks; files left behind there are not removed.
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return file


def _mode(like: Path | None) -> int:
    """The mode of the copy of a file: that of the original within the umask, and always writable by its owner."""
    if not isinstance(like, Path):
        return 0o666
    try:
        return like.stat().st_mode & 0o666 | stat.S_IWUSR
    except OSError:
        # Reading the file reports the error.
        return 0o600


def _restore_owner_and_mode(file: BinaryIO, old: os.stat_result) -> None:
    """Give a file the owner and mode of the one it replaces, as far as permitted."""
    new = os.fstat(file.fileno())
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(PermissionError):
            os.fchown(file.fileno(), old.st_uid, old.st_gid)
    os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))


class _Sink:
    """An output file whose errors name it, to distinguish them from errors of an input."""

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
        """Only flush: the caller that opened the file closes it."""
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
    """A stream that compresses into `sink`; `sink` itself without a codec."""
    if codec is None:
        yield sink
        return
    with pa.CompressedOutputStream(pa.PythonFile(_Unclosable(sink), mode="w"), codec) as stream:
        yield cast("BinaryIO", stream)


class _Unclosable:
    """Prevents arrow from closing a stream that it does not own."""

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
    """Rename a complete file to its final name.

    Raises:
        UsageError: a file of that name exists, and `force` is False.
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
        # The file system has no hard links.
        part.replace(target)


@contextmanager
def writing(target: Path, flag: str) -> Iterator[None]:
    """Convert an OSError to a DataError that names the output; a closed pipe is left to the caller.

    Raises:
        DataError: the file cannot be written.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except (OSError, RuntimeError) as error:
        # pathlib raises a RuntimeError for a loop of symbolic links.
        raise DataError(f"{target}: cannot be written ({reason(error)})", hint=f"another {flag}") from error
