"""An object store says 503 now and then: what reads a remote file is tried again, from the beginning."""

import time
from collections.abc import Callable
from typing import TypeVar

from advcli.errors import DataError
from advcli.io.remote import RemoteFile
from advcli.records.table import Source

_WAITS = (0.5, 2.0, 8.0)
"""Seconds before each try after the first."""

T = TypeVar("T")


def patiently(source: Source, work: Callable[[Source], T]) -> T:
    """Do something with a file; if it lies behind a URL and fails, do it again.

    Args:
        source: the file.
        work: what to do; must be such that it can be done twice.

    Raises:
        DataError: the last failure.
    """
    path: object = source.path
    waits = _WAITS if isinstance(path, RemoteFile) else ()
    for wait in waits:
        try:
            return work(source)
        except (DataError, OSError):
            time.sleep(wait)
    return work(source)
