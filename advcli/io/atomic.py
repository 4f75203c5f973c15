"""Where bytes go: whole or not at all."""

import os
import secrets
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa

from advcli.errors import DataError, UsageError
from advcli.records.table import Source


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
        with _explained(target, flag):
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
def replacing(target: Path, *, force: bool, flag: str = "--out") -> Iterator[BinaryIO]:
    """Write a file under a temporary name in the same folder, and rename it at the end.

    A device or a pipe is written to directly. Whatever goes wrong, `target` is either the old file or the
    complete new one.

    Raises:
        DataError: the file cannot be written.
        UsageError: the target appeared meanwhile, and `force` is off.
    """
    if target.exists() and not target.is_file():
        with _explained(target, flag), target.open("wb") as file:
            yield file
        return
    if target.is_symlink():
        target = target.resolve()
    # Short enough for any name that the file system allows.
    partial = target.with_name(f".{target.name[:40]}.{secrets.token_hex(4)}.part")
    try:
        with _explained(target, flag), _created(partial) as file:
            yield file
            file.flush()
            if target.exists():
                # The old file goes with the rename: the new one must be on the disk by then.
                os.fsync(file.fileno())
        with _explained(target, flag):
            publish(partial, target, force=force)
    finally:
        partial.unlink(missing_ok=True)


def _created(path: Path) -> BinaryIO:
    """A new file, and its folder if that is not there yet."""
    try:
        return path.open("xb")
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("xb")


@contextmanager
def standard_output() -> Iterator[BinaryIO]:
    """Standard output as bytes, flushed at the end."""
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


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


def publish(partial: Path, target: Path, *, force: bool) -> None:
    """Give a complete file its name.

    Raises:
        UsageError: there is a file of that name, and `force` is off.
    """
    if force:
        partial.replace(target)
        return
    try:
        os.link(partial, target)
    except FileExistsError:
        raise UsageError(
            f"{target} exists already", hint="--force to overwrite it, or another --out"
        ) from None
    except OSError:
        # A file system without hard links.
        partial.replace(target)


@contextmanager
def _explained(target: Path, flag: str) -> Iterator[None]:
    """Turn the system's error into ours; a closed pipe is the caller's affair."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise DataError(f"{target}: cannot be written ({reason})", hint=f"another {flag}") from error
