"""Parses the values of each axis of a grid of settings."""

import math
from collections.abc import Sequence
from contextlib import suppress

from advcli.common.errors import UsageError
from advcli.common.wording import one_line

_MAX_VALUES = 10_000


def shares(flag: str, text: str) -> tuple[float, ...]:
    """Read the values of a keep ratio: `0.5`, `0.3,0.5,1`, `0.5:1:0.1` (both ends), or any of these with commas.

    Args:
        flag: the option, for messages.
        text: what the user typed.

    Returns:
        The distinct values in the order written; values of a range are free of rounding error.

    Raises:
        UsageError: it cannot be read, or a value is outside [0, 1].

    Example:
        >>> shares("--keep-pos", "0.5:1:0.1,0")
        (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 0.0)
    """
    result: list[float] = []
    for part in (part.strip() for part in text.split(",")):
        result += _range(flag, text, part) if ":" in part else [_number(flag, text, part)]
    for value in result:
        if not 0 <= value <= 1:
            raise UsageError(f"{flag} {text}: {value:g} is no share between 0 and 1")
    return tuple(dict.fromkeys(result))


def names(given: Sequence[str] | None) -> tuple[str, ...]:
    """Names given one by one or separated by commas; KEY=VALUE after a comma is a knob of the name before it.

    Example:
        >>> names(["trl,verl", "grpo:eps=1e-4,ddof=0,rloo"])
        ('trl', 'verl', 'grpo:eps=1e-4,ddof=0', 'rloo')
    """
    result: list[str] = []
    for text in given or ():
        for part in filter(None, map(str.strip, text.split(","))):
            knob = "=" in part and ":" not in part and result and ":" in result[-1]
            result[-1:] = [f"{result[-1]},{part}"] if knob else [*result[-1:], part]
    return tuple(dict.fromkeys(result))


def _range(flag: str, text: str, part: str) -> list[float]:
    ends = [_number(flag, text, piece) for piece in part.split(":")]
    if len(ends) != 3:
        raise UsageError(f"{flag} {text}: '{part}' is no range", hint=f"{flag} 0.5:1:0.1 (from, to, step)")
    start, stop, step = ends
    if step <= 0 or stop < start:
        raise UsageError(f"{flag} {text}: '{part}' has no value", hint=f"{flag} 0.5:1:0.1 (from, to, step)")
    count = math.floor((stop - start) / step + 1e-9) + 1
    if count > _MAX_VALUES:
        raise UsageError(f"{flag} {text}: '{part}' has {count:,} values, expected {_MAX_VALUES:,} or fewer")
    # Round, so that 0.5 + 2 · 0.1 is 0.7 and not 0.7000000000000001.
    return [round(start + position * step, 12) for position in range(count)]


def _number(flag: str, text: str, part: str) -> float:
    with suppress(ValueError):
        if math.isfinite(float(part)):
            return float(part)
    raise UsageError(
        f"{flag} {text}: {one_line(part)} is no number", hint=f"{flag} 0.5:1:0.1 or {flag} 0.3,0.5,1"
    )
