"""Small pieces of text that every layer may need."""

from collections.abc import Iterable, Mapping, Sequence


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


class Remark(str):
    """A sentence with a number in it: two that say the same of two parts make one of the whole.

    Args:
        many: the number.
        noun: what is counted.
        one: the sentence where it is 1, with {} for the number and its noun.
        more: the sentence otherwise.

    Example:
        >>> print(Remark(1, "row", "{} is odd", "{} are odd") + Remark(2, "row", "{} is odd", "{} are odd"))
        3 rows are odd
    """

    many: int
    parts: tuple[str, str, str]

    def __new__(cls, many: int, noun: str, one: str, more: str) -> "Remark":
        """Put the sentence together."""
        made = super().__new__(cls, verb(many, one, more).format(counted(many, noun)))
        made.many, made.parts = many, (noun, one, more)
        return made

    def __getnewargs__(self) -> tuple[int, str, str, str]:  # type: ignore[override]
        return (self.many, *self.parts)

    def __add__(self, other: str) -> str:
        if isinstance(other, Remark) and other.parts == self.parts:
            return Remark(self.many + other.many, *self.parts)
        return str(self) + other


def together(said: Iterable[str]) -> tuple[str, ...]:
    """Sentences that were said of several parts: each once, those with a number as one of the whole."""
    found: dict[object, str] = {}
    for text in said:
        about = text.parts if isinstance(text, Remark) else text
        found[about] = found[about] + text if isinstance(text, Remark) and about in found else text
    return tuple(found.values())


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
