"""Offline reward analysis: recompute the advantages of an RL run from the dump its trainer wrote.

Example:
    >>> from advcli import compute_advantages
    >>> compute_advantages([0.1, 0.5, 0.9, 1.3, 1.7], ["p"] * 5).original.round(decimals=3).tolist()
    [-1.265, -0.632, 0.0, 0.632, 1.265]
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from advcli.api import compute_advantages
    from advcli.errors import AdvcliError, DataError, UsageError
    from advcli.frameworks.twinkle import GRPOAdvantage, RLOOAdvantage
    from advcli.records.settings import AdvantageTable

__version__ = "0.1.0"
__all__ = [
    "AdvantageTable",
    "AdvcliError",
    "DataError",
    "GRPOAdvantage",
    "RLOOAdvantage",
    "UsageError",
    "__version__",
    "compute_advantages",
]

# Resolved on first use: `import advcli` and `advcli --help` must not pay for torch.
_HOMES = {
    "AdvantageTable": "advcli.records.settings",
    "AdvcliError": "advcli.errors",
    "DataError": "advcli.errors",
    "GRPOAdvantage": "advcli.frameworks.twinkle",
    "RLOOAdvantage": "advcli.frameworks.twinkle",
    "UsageError": "advcli.errors",
    "compute_advantages": "advcli.api",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'advcli' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
