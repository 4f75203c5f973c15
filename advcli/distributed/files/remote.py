"""Files in an object store, which sometimes answers 503 and shows only complete objects."""

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
"""Seconds before each retry."""

T = TypeVar("T")


def retry(operation: Callable[[], T], refusals: tuple[type[Exception], ...]) -> T:
    """Run an operation on a store, with retries.

    Args:
        operation: must be idempotent.
        refusals: the exceptions after which it is retried.
    """
    for wait in _WAITS:
        try:
            return operation()
        except refusals:
            time.sleep(wait)
    return operation()


def with_retries(source: Source, operation: Callable[[Source], T]) -> T:
    """Run an operation on a file, with retries if it is behind a URL.

    Args:
        source: the file.
        operation: must be idempotent.

    Raises:
        DataError: the last failure.
    """
    path: object = source.path
    if not isinstance(path, RemoteFile):
        return operation(source)
    return retry(lambda: operation(source), (DataError, OSError))


@dataclass(frozen=True)
class RemoteOutput:
    """An output object in a store; has the methods of Path that an output needs.

    Attributes:
        url: a URL in the same store, including its options.
        path: the path in the store.
    """

    url: str
    path: str

    def __str__(self) -> str:
        return f"{self.url.partition('://')[0]}://{self.path}"

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    def child(self, name: str) -> "RemoteOutput":
        """An object in this folder."""
        return RemoteOutput(self.url, self.path + name)

    def sibling(self, *names: str) -> "RemoteOutput":
        """An object in the same folder, or in one below it."""
        return RemoteOutput(self.url, "/".join((self.path.rpartition("/")[0], *names)))

    def size(self) -> int | None:
        """The size in bytes; None if it doesn't exist.

        Raises:
            DataError: the store does not answer.
        """
        with _wrapping_errors(self):
            info = self._store().get_file_info(self.path)
            return int(info.size) if info.type == fs.FileType.File else None

    def read(self) -> bytes:
        """The content."""
        with self._store().open_input_stream(self.path) as stream:
            return bytes(stream.read())

    def put(self, data: bytes | Path) -> None:
        """Write it from bytes or a file, with retries.

        Raises:
            DataError: it cannot be written.
        """
        with _wrapping_errors(self):
            retry(lambda: self._put(data), (OSError, pa.ArrowException))

    def _put(self, data: bytes | Path) -> None:
        store = self._store()
        try:
            self._check(store, self._send(store, data))
        except BaseException:
            # Arrow always closes the stream, so a partial object may have been created.
            with suppress(OSError, pa.ArrowException):
                store.delete_file(self.path)
            raise

    def _check(self, store: fs.FileSystem, sent: int) -> None:
        """Check that all bytes have arrived."""
        arrived = store.get_file_info(self.path).size
        if arrived != sent:
            raise OSError(f"{arrived or 0:,} of {sent:,} bytes arrived")

    def _send(self, store: fs.FileSystem, data: bytes | Path) -> int:
        """Send the data; returns the number of bytes."""
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


class _wrapping_errors:  # noqa: N801  a context
    """Converts errors of a store to a DataError."""

    def __init__(self, target: RemoteOutput) -> None:
        self.target = target

    def __enter__(self) -> None:
        """Nothing to do."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError | pa.ArrowException) and not isinstance(error, DataError):
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise DataError(
                f"{self.target}: cannot be written ({reason})", hint="the address and the credentials"
            ) from error


def folder(out: str | None) -> RemoteOutput | None:
    """The remote folder that `--out` names; None if it is not remote.

    Raises:
        UsageError: it is not a folder.
        DataError: the store doesn't exist.
    """
    if out is None or not is_remote(out):
        return None
    bare = out.partition("?")[0]
    if not bare.endswith("/"):
        raise UsageError(f"{bare}: with --engine ray a folder is written to", hint=f"--out {bare}/")
    return RemoteOutput(out, f"{file_system(out)[1]}/")
