"""What the list of groups on the page can be filtered by, written as the reader may type it: `step:3 state:dead`."""

_DIGITS = 6


def term(field: str, text: str) -> str:
    """A condition on a text; quoted where there is a blank in it, "" where no quotes would do.

    Example:
        >>> term("step", "3"), term("step", "epoch 1"), term("step", 'a"b')
        ('step:3', 'step:"epoch 1"', '')
    """
    if '"' in text or not text:
        return ""
    return f'{field}:"{text}"' if any(map(str.isspace, text)) else f"{field}:{text}"


def between(field: str, low: float, high: float | None = None) -> str:
    """A condition on a number: a value, or from one to another.

    Example:
        >>> between("mean", 0.5), between("reward", 0.1, 0.2)
        ('mean:0.5', 'reward:0.1..0.2')
    """
    if high is None or high == low:
        return f"{field}:{low:.{_DIGITS}g}"
    return f"{field}:{low:.{_DIGITS}g}..{high:.{_DIGITS}g}"
