"""Imports the code that runs a command, and says when that is done."""

import gc
from collections.abc import Callable
from threading import Event
from typing import Any

DONE = Event()
"""Set once the numerical packages are imported. Until then no file is open, and importing may swallow an exception."""


def loaded(target: str) -> Callable[..., Any]:
    """Import the function that runs a command.

    Args:
        target: "package.module:function".

    Raises:
        MissingPackage: a package that it needs is not installed.
    """
    from advcli.common.registry import load

    function = load(target)
    # Off since startup. Modules live until exit, so the collector need not scan them again.
    gc.freeze()
    gc.enable()
    DONE.set()
    return function
