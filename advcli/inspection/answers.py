"""Extracts the final answer of a response."""

import re
from collections import Counter
from collections.abc import Iterable

_BOXED = "\\boxed{"


def final_answer(text: str) -> str:
    r"""The text after the last `####`, or in the last `\boxed{…}`, whichever comes last; "" without either.

    Example:
        >>> (
        ...     final_answer("so \\boxed{\\frac{1}{2}} it is"),
        ...     final_answer("#### 1,000\n"),
        ...     final_answer("no idea"),
        ... )
        ('\\frac{1}{2}', '1,000', '')
    """
    box, mark = text.rfind(_BOXED), text.rfind("####")
    if mark > box:
        return _tidy(text[mark + 4 :].strip().split("\n", 1)[0])
    return _tidy(_braced(text, box + len(_BOXED))) if box >= 0 else ""


def most_given(answers: Iterable[str]) -> tuple[str, float, int]:
    """The most common answer, its share, and the number of answers; empty ones are ignored.

    Example:
        >>> most_given(["4", "4", "5", ""])
        ('4', 0.6666666666666666, 3)
    """
    nonempty = [answer for answer in answers if answer]
    if not nonempty:
        return "", 0.0, 0
    (answer, count), *_ = Counter(nonempty).most_common(1)
    return answer, count / len(nonempty), len(nonempty)


def _braced(text: str, start: int) -> str:
    """The text up to the brace that closes the one before `start`; "" if it is never closed."""
    depth = 1
    for position in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if not depth:
            return text[start:position]
    return ""


def _tidy(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
