"""Formats numbers."""

import math
from collections.abc import Callable

UNDEFINED = "–"


def number(value: float | None) -> str:
    """Format a figure with at most four significant digits; very small and very large ones in scientific notation.

    Rounding residue below 1e-12 is shown as 0.

    Example:
        >>> number(-1.26491), number(1.0), number(12345.6), number(1e-17), number(float("nan"))
        ('-1.265', '1', '12346', '0', '–')
        >>> number(3.2e-7), number(123456.7)
        ('3.2e-07', '1.235e+05')
    """
    if value is None or not math.isfinite(value):
        return UNDEFINED
    size = abs(value)
    if size < 1e-12:
        return "0"
    return f"{value:.0f}" if 1e4 <= size < 1e5 else f"{value:.4g}"


def short(value: float | None) -> str:
    """Format a figure with three significant digits, for narrow columns.

    Example:
        >>> short(0.80236), short(14085.09), short(1e-17), short(float("nan"))
        ('0.802', '1.41e+04', '0', '–')
    """
    if value is None or not math.isfinite(value):
        return UNDEFINED
    return "0" if abs(value) < 1e-12 else f"{value:.3g}"


def count(value: float | None) -> str:
    """Format a whole number with thousands separators.

    Example:
        >>> count(12345), count(float("nan"))
        ('12,345', '–')
    """
    return UNDEFINED if value is None or not math.isfinite(value) else f"{value:,.0f}"


def signed(value: float | None, text: Callable[[float | None], str] = number) -> str:
    """Format a difference with `text`, with its sign.

    Example:
        >>> signed(0.25), signed(-3.0, count), signed(0.0), signed(float("nan"))
        ('+0.25', '-3', '0', '–')
    """
    shown = text(value)
    rounded_away = not any(digit in shown for digit in "123456789")
    return shown if value is None or not value > 0 or rounded_away else f"+{shown}"


def points(value: float | None) -> str:
    """Format a difference of shares in percentage points.

    Example:
        >>> points(0.125), points(-1e-9), points(float("nan"))
        ('12.5 pp', '0.0 pp', '–')
    """
    return UNDEFINED if value is None or not math.isfinite(value) else f"{round(100 * value, 1) + 0.0:.1f} pp"


def share(value: float | None) -> str:
    """Format a share as a percentage.

    Example:
        >>> share(0.125), share(float("nan"))
        ('12.5%', '–')
    """
    return UNDEFINED if value is None or not math.isfinite(value) else f"{100 * value:.1f}%"
