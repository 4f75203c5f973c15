"""Prevents pyarrow from importing pandas when nothing uses it."""

import sys
from importlib.abc import MetaPathFinder

import pyarrow as pa


class _NoPandas(MetaPathFinder):
    """Reports pandas as not installed."""

    def find_spec(self, name: str, *_: object) -> None:
        """Find no module; raise for pandas."""
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


def keep_out() -> None:
    """Make arrow believe that pandas is not installed, unless it is already imported.

    On the first conversion of a value, arrow imports pandas, which takes half a second, only to check whether the value is
    a pandas object. No command passes one. Commands that use pandas import it themselves, and arrow reads and writes data
    frames as usual.
    """
    if "pandas" in sys.modules:
        return
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([pa.scalar(0.0).as_py()])
    finally:
        sys.meta_path.remove(finder)
