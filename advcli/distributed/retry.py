"""An object store says 503 now and then: what reads a remote file is tried again, from the beginning."""

import time
from collections.abc import Callable
from typing import TypeVar

from advcli.common.errors import DataError
from advcli.io.sources.remote import RemoteFile
from advcli.records.table import Source

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
