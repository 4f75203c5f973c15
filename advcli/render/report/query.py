"""Search terms that filter the list of groups in the report: `step:3 state:dead`."""

_DIGITS = 6


def term(field: str, text: str) -> str:
    """A term on a text, quoted if it contains whitespace; "" if it contains quotes or is empty.

    Example:
        >>> term("step", "3"), term("step", "epoch 1"), term("step", 'a"b')
        ('step:3', 'step:"epoch 1"', '')
    """
    if '"' in text or not text:
        return ""
    return f'{field}:"{text}"' if any(map(str.isspace, text)) else f"{field}:{text}"


def between(field: str, low: float, high: float | None = None) -> str:
    """A term on a number: a value or a range.

    Example:
        >>> between("mean", 0.5), between("reward", 0.1, 0.2)
        ('mean:0.5', 'reward:0.1..0.2')
    """
    if high is None or high == low:
        return f"{field}:{low:.{_DIGITS}g}"
    return f"{field}:{low:.{_DIGITS}g}..{high:.{_DIGITS}g}"
