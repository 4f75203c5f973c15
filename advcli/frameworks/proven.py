"""The releases of each framework whose arithmetic was run or read. Imports nothing heavy."""

from collections.abc import Mapping
from types import MappingProxyType

# Framework → the first and the last release. For frameworks not listed, code from the repository was read or run instead.
PROVEN: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "verl": ("0.2", "0.9.1"),
        "easyr1": ("0.3.0", "0.3.2"),
        "trl": ("0.16", "1.16.0"),
        "ms-swift": ("3.5", "4.6.0"),
        "openrlhf": ("0.5", "0.11.2"),
        "twinkle": ("0.1", "0.5.1"),
        "nemo-rl": ("0.3", "0.7.0"),
        "skyrl": ("0.3.0", "0.3.0"),
        "areal": ("0.3.3", "1.0.4"),
        "art": ("0.5.18", "0.5.18"),
        "tinker-cookbook": ("0.6.1", "0.6.1"),
        "trinity-rft": ("0.6.0", "0.6.0"),
        "tunix": ("0.1.7", "0.1.7"),
        "rlinf": ("0.3.0", "0.3.0"),
        "siirl": ("0.2.0", "0.2.0"),
        "areno": ("0.10.0", "0.10.0"),
    }
)


def range_of(framework: str) -> str:
    """The range in words.

    Example:
        >>> range_of("trl"), range_of("skyrl"), range_of("slime")
        ('0.16 to 1.16.0', '0.3.0', '')
    """
    first, last = PROVEN.get(framework, ("", ""))
    return first if first == last else f"{first} to {last}"
