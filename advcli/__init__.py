"""Offline reward analysis: recompute the advantages of an RL run from the dump that its trainer wrote.

`read` takes files and `from_frame` a table; both give a `Dump`, whose methods do what the commands do.

Example:
    >>> import advcli
    >>> dump = advcli.read("sample_data/rewards.parquet")
    >>> dump.inspect().dead_groups
    8
    >>> adv = dump.advantages("grpo", keep_pos=0.7)
    >>> int(adv.kept.sum())
    397

`compute_advantages` needs no dump:
    >>> advcli.compute_advantages([0.1, 0.5, 0.9, 1.3, 1.7], ["p"] * 5).original.round(decimals=3).tolist()
    [-1.265, -0.632, 0.0, 0.632, 1.265]
"""

import sys
from collections.abc import MutableSequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from advcli.records.version import __version__

if TYPE_CHECKING:
    from advcli.api.advantages import compute_advantages
    from advcli.api.dump import Dump
    from advcli.api.read import from_frame, read
    from advcli.api.result import Advantages
    from advcli.common.errors import AdvcliError, DataError, UsageError
    from advcli.frameworks.twinkle import GRPOAdvantage, RLOOAdvantage
    from advcli.records.settings import AdvantageTable

__all__ = [
    "AdvantageTable",
    "Advantages",
    "AdvcliError",
    "DataError",
    "Dump",
    "GRPOAdvantage",
    "RLOOAdvantage",
    "UsageError",
    "__version__",
    "compute_advantages",
    "from_frame",
    "read",
]

# Resolved on first use: `import advcli` and `advcli --help` must not import torch.
_HOMES = {
    "AdvantageTable": "advcli.records.settings",
    "Advantages": "advcli.api.result",
    "AdvcliError": "advcli.common.errors",
    "DataError": "advcli.common.errors",
    "Dump": "advcli.api.dump",
    "GRPOAdvantage": "advcli.frameworks.twinkle",
    "RLOOAdvantage": "advcli.frameworks.twinkle",
    "UsageError": "advcli.common.errors",
    "compute_advantages": "advcli.api.advantages",
    "from_frame": "advcli.api.read",
    "read": "advcli.api.read",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'advcli' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)


class _Facade(ModuleType):
    """Makes `help(advcli)` show the names of `__all__` instead of the list of modules."""

    @property
    def __path__(self) -> MutableSequence[str]:
        """The package path; hidden from pydoc, which would list all modules."""
        if sys._getframe(1).f_globals.get("__name__") == "pydoc":  # noqa: SLF001  the only way to the caller
            raise AttributeError("__path__")
        path: MutableSequence[str] = self.__dict__["__path__"]
        return path

    @__path__.setter
    def __path__(self, path: MutableSequence[str]) -> None:
        self.__dict__["__path__"] = path


sys.modules[__name__].__class__ = _Facade
