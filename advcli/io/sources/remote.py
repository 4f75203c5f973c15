"""Inputs behind a URL: s3:// and gs:// through pyarrow, hf://, https:// and others through fsspec.

On a single machine they are copied to disk first, because an input is read twice, and an annotated copy reads every
byte. If each file has its own worker, they are read remotely.
"""

import io
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, cast
from urllib.parse import parse_qsl, unquote, urlsplit

import pyarrow as pa
from pyarrow import fs

from advcli.common.errors import AdvcliError, DataError, MissingPackage
from advcli.common.wording import reason, redacted

_URL = re.compile(r"([a-z][a-z0-9+.-]+)://(.+)", re.IGNORECASE | re.DOTALL)
_ARROW = ("s3", "gs", "gcs")
_CHUNK = 1 << 20
# HTTP status codes for a missing file, and for one without access.
_NOT_FOUND = (404, 410)
_FORBIDDEN = (401, 403, 407)
# Shorter query values are not treated as secrets.
_MIN_SECRET = 4


def is_remote(text: str) -> bool:
    """Whether an input is a remote URL.

    Example:
        >>> is_remote("s3://bucket/run/"), is_remote("run/a.jsonl"), is_remote("file:///a.jsonl")
        (True, False, False)
    """
    match = _URL.match(text)
    return match is not None and match.group(1).lower() != "file"


def fetched(url: str, scratch: Path, patterns: Collection[str]) -> Iterator[tuple[str, Path, bool]]:
    """Copy the files of a URL to disk.

    Args:
        url: a file, a folder, or a pattern with `*`.
        scratch: the folder for the copies.
        patterns: file name patterns of dumps, for a folder.

    Yields:
        The URL of each file, its copy, and whether it was found in a folder.

    Raises:
        DataError: no file exists, or it can't be read.
        MissingPackage: the package for the scheme is not installed.
    """
    with _wrapping_errors(url):
        system, result = _resolve(url, patterns)
    for position, (name, path, searched) in enumerate(result):
        copy = scratch / f"remote-{len(list(scratch.iterdir()))}-{position}"
        try:
            with copy.open("wb") as target:
                for piece in _pieces(url, system, path):
                    target.write(piece)
        except OSError as error:
            # What the server does is explained by then.
            raise DataError(
                f"{redacted(name, whole=True)}: its copy cannot be written ({reason(error)})",
                hint="TMPDIR=DIR on a larger disk",
            ) from error
        yield name, copy, searched


def _pieces(url: str, system: fs.FileSystem, path: str) -> Iterator[bytes]:
    """The bytes of a remote file, checked against the size that the server announced."""
    with _wrapping_errors(url):
        size, done = system.get_file_info(path).size, 0
        with system.open_input_stream(path, compression=None) as source:
            while piece := source.read(_CHUNK):
                done += len(piece)
                yield piece
        if size is not None and done < size:
            raise DataError(
                f"{redacted(url, whole=True)}: broke off after {done:,} of {size:,} bytes",
                hint="the same command again",
            )


@dataclass(frozen=True)
class RemoteFile:
    """A file that is read remotely; implements the methods of Path that a source needs.

    Attributes:
        url: a URL in the same file system, including its options.
        path: the path in the file system.
    """

    url: str
    path: str

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    def open(self, mode: str = "rb") -> BinaryIO:
        """A buffered stream of the bytes."""
        del mode
        return cast("BinaryIO", io.BufferedReader(self.open_random_access(), _CHUNK))

    def open_random_access(self) -> Any:  # noqa: ANN401  arrow's class
        """A file with random access, as parquet needs it."""
        return file_system(self.url)[0].open_input_file(self.path)

    def stat(self) -> SimpleNamespace:
        """Size and modification time."""
        info = file_system(self.url)[0].get_file_info(self.path)
        if info.type != fs.FileType.File:
            raise FileNotFoundError(2, "no such file", redacted(self.url, whole=True))
        return SimpleNamespace(st_size=info.size, st_mtime_ns=info.mtime_ns or 0)

    def is_file(self) -> bool:
        """Always True."""
        return True

    def exists(self) -> bool:
        """Always False: it doesn't exist on this machine."""
        return False

    def resolve(self) -> "RemoteFile":
        """The file itself: it has no other name."""
        return self


def listed(url: str, patterns: Collection[str]) -> Iterator[tuple[str, Path, bool]]:
    """Find the files of a URL, to be read remotely.

    Args:
        url: a file, a folder, or a pattern with `*`.
        patterns: file name patterns of dumps, for a folder.

    Yields:
        The URL of each file, a `RemoteFile` in place of its path, and whether it was found in a folder.

    Raises:
        DataError: no file exists, or it can't be read.
        MissingPackage: the package for the scheme is not installed.
    """
    with _wrapping_errors(url):
        _, result = _resolve(url, patterns)
        for name, path, searched in result:
            yield name, cast("Path", RemoteFile(url, path)), searched


def random_access(path: object) -> Any:  # noqa: ANN401  a path or arrow's class
    """An arrow file with random access."""
    return path.open_random_access() if isinstance(path, RemoteFile) else pa.OSFile(str(path))


def _resolve(url: str, patterns: Collection[str]) -> tuple[fs.FileSystem, list[tuple[str, str, bool]]]:
    """The file system; and for each file its URL, its path, and whether it was found in a folder."""
    system, path, prefix = file_system(url)
    result, searched = _files(system, path, patterns)
    if not result:
        raise DataError(
            f"{redacted(url, whole=True)}: no such file, or no dump in this folder",
            hint="the URL of a file, or a pattern with *",
        )
    shown = ((url if name == path else prefix + name, name) for name in result)
    return system, [(redacted(name, whole=True), path, searched) for name, path in shown]


@contextmanager
def _wrapping_errors(url: str) -> Iterator[None]:
    """Convert errors of a file system to a DataError without the secrets of its URL."""
    try:
        yield
    except AdvcliError as error:
        raise type(error)(_without(error.message, url), hint=error.hint) from error
    except ImportError as error:
        raise _missing(url, error) from error
    except Exception as error:
        # Each file system raises its own errors, and those of the packages that it uses.
        what = _without(reason(error), url)
        raise DataError(
            f"{redacted(url, whole=True)}: {what}", hint="the address and the credentials"
        ) from error


def _without(text: str, url: str) -> str:
    """A text with the secrets of a URL redacted, also outside of the URL."""
    parts = urlsplit(url)
    secrets = [parts.username, parts.password, *(value for _, value in parse_qsl(parts.query))]
    text = text.replace(url, redacted(url, whole=True))
    for secret in filter(None, secrets):
        for spelled in (secret, unquote(secret)):
            text = text.replace(spelled, "***") if len(spelled) >= _MIN_SECRET else text
    return redacted(text)


def file_system(url: str) -> tuple[fs.FileSystem, str, str]:
    """The file system of a URL, the path in it, and the prefix of its paths in a URL."""
    scheme = url.split("://", 1)[0]
    with _wrapping_errors(url):
        if scheme.lower() in _ARROW:
            system, path = fs.FileSystem.from_uri(url)
            return system, path.rstrip("/"), f"{scheme}://"
        import fsspec

        inner, path = fsspec.core.url_to_fs(url)
        # Over HTTP a path is the whole URL.
        prefix = "" if path.startswith(f"{scheme}://") else f"{scheme}://"
        return fs.PyFileSystem(fs.FSSpecHandler(inner)), path.rstrip("/"), prefix


def _files(system: fs.FileSystem, path: str, patterns: Collection[str]) -> tuple[list[str], bool]:
    """The files at a path, and whether it is a folder."""
    if "*" in path:
        folder = path[: path.index("*")].rpartition("/")[0]
        names = [info.path for info in _files_below(system, folder)]
        return sorted(name for name in names if fnmatch(name, path)), False
    info = system.get_file_info(path)
    if info.type == fs.FileType.NotFound:
        _check_refused(system, path)
    if info.type == fs.FileType.Directory:
        names = [inner.path for inner in _files_below(system, path)]
        dumps = [
            name for name in names if any(fnmatch(name.rpartition("/")[2], pattern) for pattern in patterns)
        ]
        return sorted(dumps), True
    return ([path] if info.type == fs.FileType.File else []), False


def _check_refused(system: fs.FileSystem, path: str) -> None:
    """Raise an error if a server's answer is not "no such file"; fsspec reports both alike.

    Raises:
        DataError: the server refused the request.
    """
    inner = getattr(getattr(system, "handler", None), "fs", None)
    if inner is None:
        return
    try:
        inner.info(path)
    except FileNotFoundError as error:
        cause = error.__cause__ or error.__context__
        status = getattr(cause, "status", None)
        if cause is None or status in _NOT_FOUND:
            return
        message = (
            f"the server says {status} {getattr(cause, 'message', '')}".strip() if status else reason(cause)
        )
        hint = "the address and the credentials" if status in _FORBIDDEN else "the same command later"
        raise DataError(f"{redacted(path, whole=True)}: {message}", hint=hint) from error


def _files_below(system: fs.FileSystem, folder: str) -> list[Any]:
    infos: list[Any] = system.get_file_info(fs.FileSelector(folder, recursive=True, allow_not_found=True))
    return [info for info in infos if info.type == fs.FileType.File]


def _missing(url: str, error: ImportError) -> MissingPackage:
    package = error.name or str(error).splitlines()[0]
    return MissingPackage(
        f"{redacted(url, whole=True)}: the package '{package}' is needed and not installed",
        hint="pip install 'advcli[remote]'",
    )
