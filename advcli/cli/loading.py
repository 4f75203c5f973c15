"""What is imported to run a command, and what holds until that is done."""

import gc
from collections.abc import Callable
from threading import Event
from typing import Any

DONE = Event()
"""Set once the packages that compute are imported. Until then nothing is open, and an exception may get lost in them."""


def loaded(target: str) -> Callable[..., Any]:
    """Import the function that runs a command.

    Args:
        target: "package.module:function".

    Raises:
        MissingPackage: a package that it needs is not installed.
    """
    from advcli.common.registry import load

    function = load(target)
    # Off since the program began; what is imported stays, and need not be looked through again.
    gc.freeze()
    gc.enable()
    DONE.set()
    return function
