"""Inputs behind a URL: s3:// and gs:// through pyarrow, hf://, https:// and others through fsspec.

One machine copies them to disk first: two passes are made over an input, and an annotated copy reads every byte of
it. Where each file has a worker of its own, they are read where they lie.
"""

import io
import re
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, cast

import pyarrow as pa
from pyarrow import fs

from advcli.errors import DataError, MissingPackage

_URL = re.compile(r"([a-z][a-z0-9+.-]+)://(.+)", re.IGNORECASE | re.DOTALL)
_ARROW = ("s3", "gs", "gcs")
_CHUNK = 1 << 20


def is_remote(text: str) -> bool:
    """Whether an input is a URL of another machine.

    Example:
        >>> is_remote("s3://bucket/run/"), is_remote("run/a.jsonl"), is_remote("file:///a.jsonl")
        (True, False, False)
    """
    match = _URL.match(text)
    return match is not None and match.group(1).lower() != "file"


def fetched(url: str, scratch: Path, patterns: Collection[str]) -> Iterator[tuple[str, Path, bool]]:
    """Copy what a URL names to disk.

    Args:
        url: a file, a folder, or a pattern with `*`.
        scratch: the folder for the copies.
        patterns: names of dumps, for a folder.

    Yields:
        The URL of each file, its copy, and whether it was looked for in a folder.

    Raises:
        DataError: nothing there, or it cannot be read.
        MissingPackage: a package for that scheme is not installed.
    """
    with _explained(url):
        system, found = _named(url, patterns)
        for place, (name, path, searched) in enumerate(found):
            copy = scratch / f"remote-{len(list(scratch.iterdir()))}-{place}"
            with system.open_input_stream(path, compression=None) as source, copy.open("wb") as target:
                shutil.copyfileobj(source, target, _CHUNK)
            yield name, copy, searched


@dataclass(frozen=True)
class RemoteFile:
    """A file behind a URL that is read where it lies: what a source needs of a path, and no more.

    Attributes:
        url: an address in the same file system, with the options of that.
        path: where it is there.
    """

    url: str
    path: str

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    def open(self, mode: str = "rb") -> BinaryIO:
        """The bytes, from the first to the last."""
        del mode
        return cast("BinaryIO", io.BufferedReader(self.anywhere(), _CHUNK))

    def anywhere(self) -> Any:  # noqa: ANN401  arrow's class
        """The bytes, from anywhere: a parquet file is not read from end to end."""
        return file_system(self.url)[0].open_input_file(self.path)

    def stat(self) -> SimpleNamespace:
        """Size and time of the last change."""
        info = file_system(self.url)[0].get_file_info(self.path)
        if info.type != fs.FileType.File:
            raise FileNotFoundError(2, "no such file", self.url)
        return SimpleNamespace(st_size=info.size, st_mtime_ns=info.mtime_ns or 0)

    def is_file(self) -> bool:
        """It is one."""
        return True

    def exists(self) -> bool:
        """On this machine it does not."""
        return False

    def resolve(self) -> "RemoteFile":
        """There is no other name for it."""
        return self


def listed(url: str, patterns: Collection[str]) -> Iterator[tuple[str, Path, bool]]:
    """Find what a URL names, and leave it where it lies.

    Args:
        url: a file, a folder, or a pattern with `*`.
        patterns: names of dumps, for a folder.

    Yields:
        The URL of each file, what stands for its path, and whether it was looked for in a folder.

    Raises:
        DataError: nothing there, or it cannot be read.
        MissingPackage: a package for that scheme is not installed.
    """
    with _explained(url):
        _, found = _named(url, patterns)
        for name, path, searched in found:
            yield name, cast("Path", RemoteFile(url, path)), searched


def random_access(path: object) -> Any:  # noqa: ANN401  a path or arrow's class
    """A file that arrow reads in any order."""
    return path.anywhere() if isinstance(path, RemoteFile) else pa.OSFile(str(path))


def _named(url: str, patterns: Collection[str]) -> tuple[fs.FileSystem, list[tuple[str, str, bool]]]:
    """The file system; and of each file its URL, its path, and whether it was looked for in a folder."""
    system, path, prefix = file_system(url)
    found, searched = _files(system, path, patterns)
    if not found:
        raise DataError(
            f"{url}: no such file, or no dump in this folder", hint="the URL of a file, or a pattern with *"
        )
    return system, [(url if name == path else prefix + name, name, searched) for name in found]


@contextmanager
def _explained(url: str) -> Iterator[None]:
    """Turn what a file system raises into ours."""
    try:
        yield
    except ImportError as error:
        raise _missing(url, error) from error
    except (OSError, pa.ArrowException, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{url}: {_reason(error)}", hint="the address and the credentials") from error


def file_system(url: str) -> tuple[fs.FileSystem, str, str]:
    """The file system of a URL, the path in it, and what stands before paths in a URL."""
    scheme = url.split("://", 1)[0]
    try:
        if scheme.lower() in _ARROW:
            system, path = fs.FileSystem.from_uri(url)
            return system, path.rstrip("/"), f"{scheme}://"
        import fsspec

        inner, path = fsspec.core.url_to_fs(url)
        # Over HTTP a path is the whole URL.
        prefix = "" if path.startswith(f"{scheme}://") else f"{scheme}://"
        return fs.PyFileSystem(fs.FSSpecHandler(inner)), path.rstrip("/"), prefix
    except ImportError as error:
        raise _missing(url, error) from error
    except (OSError, pa.ArrowException, ValueError) as error:
        raise DataError(f"{url}: {_reason(error)}", hint="s3://, gs://, hf:// or https://") from error


def _files(system: fs.FileSystem, path: str, patterns: Collection[str]) -> tuple[list[str], bool]:
    """The files that a path names, and whether it is a folder."""
    if "*" in path:
        folder = path[: path.index("*")].rpartition("/")[0]
        names = [info.path for info in _below(system, folder)]
        return sorted(name for name in names if fnmatch(name, path)), False
    info = system.get_file_info(path)
    if info.type == fs.FileType.Directory:
        names = [inner.path for inner in _below(system, path)]
        dumps = [
            name for name in names if any(fnmatch(name.rpartition("/")[2], pattern) for pattern in patterns)
        ]
        return sorted(dumps), True
    return ([path] if info.type == fs.FileType.File else []), False


def _below(system: fs.FileSystem, folder: str) -> list[Any]:
    infos: list[Any] = system.get_file_info(fs.FileSelector(folder, recursive=True, allow_not_found=True))
    return [info for info in infos if info.type == fs.FileType.File]


def _missing(url: str, error: ImportError) -> MissingPackage:
    package = error.name or str(error).splitlines()[0]
    return MissingPackage(
        f"{url}: the package '{package}' is needed and not installed", hint="pip install 'advcli[remote]'"
    )


def _reason(error: Exception) -> str:
    text = (
        getattr(error, "strerror", None) or str(error).splitlines()[0] if str(error) else type(error).__name__
    )
    return str(text)[:1].lower() + str(text)[1:]
