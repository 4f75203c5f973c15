"""What is imported to run a command, and what holds until that is done."""

import gc
import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
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
    from advcli.registry import load

    function = load(target)
    # Off since the program began; what is imported stays, and need not be looked through again.
    gc.freeze()
    gc.enable()
    DONE.set()
    return function


class _NoPandas(MetaPathFinder):
    """Says of pandas that it is not installed."""

    def find_spec(self, name: str, *_: object) -> None:
        """Nothing, for any other package."""
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


def keep_pandas_out() -> None:
    """Let arrow find that there is no pandas, unless it is there already.

    At the first value that arrow is given it imports pandas, half a second, only to see whether the value comes from
    there. No command gives it one that does. Where a command uses pandas it imports it, and arrow reads and writes data frames
    as ever.
    """
    import pyarrow as pa

    if "pandas" in sys.modules:
        return
    hidden = _NoPandas()
    sys.meta_path.insert(0, hidden)
    try:
        pa.array([pa.scalar(0.0).as_py()])
    finally:
        sys.meta_path.remove(hidden)
