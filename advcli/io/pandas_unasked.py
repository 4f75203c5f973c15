"""Keep pandas from being imported where nobody uses it."""

import sys
from importlib.abc import MetaPathFinder

import pyarrow as pa


class _NoPandas(MetaPathFinder):
    """Says of pandas that it is not installed."""

    def find_spec(self, name: str, *_: object) -> None:
        """Nothing, for any other package."""
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


def keep_out() -> None:
    """Let arrow find that there is no pandas, unless it is there already.

    At the first value that arrow is given it imports pandas, half a second, only to see whether the value comes from
    there. No command gives it one that does. Where a command uses pandas it imports it, and arrow reads and writes data frames
    as ever.
    """
    if "pandas" in sys.modules:
        return
    hidden = _NoPandas()
    sys.meta_path.insert(0, hidden)
    try:
        pa.array([pa.scalar(0.0).as_py()])
    finally:
        sys.meta_path.remove(hidden)
