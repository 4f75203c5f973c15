"""Small pieces of text that every layer may need."""

from collections.abc import Mapping, Sequence


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    Example:
        >>> counted(1, "group"), counted(1200, "row")
        ('1 group', '1,200 rows')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def verb(number: int, one: str, many: str) -> str:
    """The form of a verb that goes with a number.

    Example:
        >>> verb(1, "has", "have"), verb(2, "has", "have")
        ('has', 'have')
    """
    return one if number == 1 else many


def one_line(value: object, limit: int = 60) -> str:
    r"""A value as it may stand in a message: one line, quoted, cut with an ellipsis.

    Example:
        >>> print(one_line("a\nb"))
        'a\nb'
    """
    shown = repr(value)
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"


def summed(weights: Mapping[str, float]) -> str:
    """Columns with their weights.

    Example:
        >>> summed({"accuracy": 1.0, "format": 0.5})
        "'accuracy' + 0.5 × 'format'"
    """
    return " + ".join(
        f"'{name}'" if weight == 1 else f"{weight:g} × '{name}'" for name, weight in weights.items()
    )


def either(names: Sequence[str]) -> str:
    """A list of choices.

    Example:
        >>> either(["cpu", "cuda", "mps"]), either(["cpu"])
        ('cpu, cuda or mps', 'cpu')
    """
    return " or ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def shortened(names: Sequence[str], limit: int, separator: str = ", ") -> str:
    """The first of some names, and how many more there are.

    Example:
        >>> shortened(["a", "b", "c"], 2), shortened(["a", "b"], 2)
        ('a, b and 1 more', 'a, b')
    """
    rest = f" and {len(names) - limit:,} more" if len(names) > limit else ""
    return f"{separator.join(names[:limit])}{rest}"
