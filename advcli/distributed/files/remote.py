"""Files in an object store: it says 503 now and then, and shows no object that is not complete."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from pyarrow import fs

from advcli.common.errors import DataError, UsageError
from advcli.io.sources.remote import RemoteFile, file_system, is_remote
from advcli.records.table import Source

_CHUNK = 8 << 20
_WAITS = (0.5, 2.0, 8.0)
"""Seconds before each try after the first."""

T = TypeVar("T")


def again(work: Callable[[], T], refusals: tuple[type[Exception], ...]) -> T:
    """Run an operation on a store, with retries.

    Args:
        work: what to do; must be such that it can be done twice.
        refusals: what it raises then.
    """
    for wait in _WAITS:
        try:
            return work()
        except refusals:
            time.sleep(wait)
    return work()


def patiently(source: Source, work: Callable[[Source], T]) -> T:
    """Run an operation on a file, with retries if it is behind a URL.

    Args:
        source: the file.
        work: what to do; must be such that it can be done twice.

    Raises:
        DataError: the last failure.
    """
    path: object = source.path
    if not isinstance(path, RemoteFile):
        return work(source)
    return again(lambda: work(source), (DataError, OSError))


@dataclass(frozen=True)
class Away:
    """An object in a store: what an output needs of a path, and no more.

    Attributes:
        url: an address in the same store, with its options.
        path: where it is there.
    """

    url: str
    path: str

    def __str__(self) -> str:
        return f"{self.url.partition('://')[0]}://{self.path}"

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    def below(self, name: str) -> "Away":
        """An object in this folder."""
        return Away(self.url, self.path + name)

    def beside(self, *names: str) -> "Away":
        """An object in the same folder, or in one below it."""
        return Away(self.url, "/".join((self.path.rpartition("/")[0], *names)))

    def size(self) -> int | None:
        """Bytes; None if it is not there.

        Raises:
            DataError: the store cannot be asked.
        """
        with _explained(self):
            info = self._store().get_file_info(self.path)
            return int(info.size) if info.type == fs.FileType.File else None

    def read(self) -> bytes:
        """All of it."""
        with self._store().open_input_stream(self.path) as stream:
            return bytes(stream.read())

    def put(self, data: bytes | Path) -> None:
        """Write it, from bytes or from a file; again where the store refuses.

        Raises:
            DataError: it cannot be written.
        """
        with _explained(self):
            again(lambda: self._put(data), (OSError, pa.ArrowException))

    def _put(self, data: bytes | Path) -> None:
        store = self._store()
        try:
            self._check(store, self._send(store, data))
        except BaseException:
            # Arrow closes what it opened, whatever happened: what was sent so far may be there by now.
            with suppress(OSError, pa.ArrowException):
                store.delete_file(self.path)
            raise

    def _check(self, store: fs.FileSystem, sent: int) -> None:
        """Make sure that all bytes that were sent are there."""
        arrived = store.get_file_info(self.path).size
        if arrived != sent:
            raise OSError(f"{arrived or 0:,} of {sent:,} bytes arrived")

    def _send(self, store: fs.FileSystem, data: bytes | Path) -> int:
        """How many bytes were sent."""
        with store.open_output_stream(self.path, compression=None) as stream:
            if isinstance(data, bytes):
                stream.write(data)
                return len(data)
            sent = 0
            with data.open("rb") as file:
                while chunk := file.read(_CHUNK):
                    sent += stream.write(chunk)
            return sent

    def _store(self) -> fs.FileSystem:
        return file_system(self.url)[0]


class _explained:  # noqa: N801  a context
    """Turn what a store says into ours."""

    def __init__(self, target: Away) -> None:
        self.target = target

    def __enter__(self) -> None:
        """Nothing to do."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError | pa.ArrowException) and not isinstance(error, DataError):
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise DataError(
                f"{self.target}: cannot be written ({reason})", hint="the address and the credentials"
            ) from error


def folder(out: str | None) -> Away | None:
    """The folder that `--out` names in a store; None if it names none there.

    Raises:
        UsageError: it is not a folder.
        DataError: there is no such store.
    """
    if out is None or not is_remote(out):
        return None
    bare = out.partition("?")[0]
    if not bare.endswith("/"):
        raise UsageError(f"{bare}: with --engine ray a folder is written to", hint=f"--out {bare}/")
    return Away(out, f"{file_system(out)[1]}/")
