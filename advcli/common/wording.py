"""Text helpers for messages, used by every layer."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

# Characters that control a terminal or are invisible: controls, line separators, bidi and zero-width marks, tags,
# surrogates. The two joiners, used in scripts and emoji, are kept.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
_SCHEME = r"(?P<scheme>\b[a-z][a-z0-9+.-]*://)"
# A secret key may contain a slash; a port and the revision in hf://datasets/o/n@main/ are not passwords.
_USER = r"(?:(?P<user>[^/?#@:{end}]*:(?!\d+(?:[/?#]|$))(?:(?!://)[^@{end}])*@|[^/?#@{end}]*@)(?:[^/?#@{end}]*@)*)?"
_REST = r"(?P<path>[^?#{end}]*)(?P<query>\?[^{end}]*|\#[^{end}]*=[^{end}]*)?"
_IN_TEXT, _WHOLE = (
    re.compile((_SCHEME + _USER + _REST).replace("{end}", end), re.IGNORECASE) for end in (r"\s'\"<>`", r"\n")
)


def shown(text: str, keep: str = "") -> str:
    r"""A text that is safe to display: control and invisible characters are escaped.

    Args:
        text: any text, from a file, an argument or another package.
        keep: characters to leave unescaped.

    Example:
        >>> print(shown("a\x1b[2Jb\nadvcli: done"))
        a\x1b[2Jb\nadvcli: done
    """
    if text.isascii() and text.isprintable():
        return text
    return _UNSEEN.sub(lambda result: result[0] if result[0] in keep else _escape(result[0]), text)


def writable(text: str) -> str:
    r"""A text that can be encoded as UTF-8: lone surrogates are escaped.

    Example:
        >>> print(writable("a\ud800"))
        a\ud800
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def shown_json(text: str) -> str:
    r"""JSON text that is safe to display, escaped as JSON so that its value doesn't change.

    Example:
        >>> print(shown_json('{"a": "\u202e"}'))
        {"a": "\u202e"}
    """
    return _UNSEEN.sub(lambda result: json.dumps(result[0])[1:-1], text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def redacted(text: str, *, whole: bool = False) -> str:
    """A text with the secrets in its URLs masked: user and password, and the query string.

    Args:
        text: any text.
        whole: the whole text is one URL, including blanks and quotes.

    Example:
        >>> redacted("s3://KEY:SEC/RET@bucket/a.jsonl: no such file")
        's3://***@bucket/a.jsonl: no such file'
        >>> redacted("https://host:80/a.jsonl?token=1"), redacted("hf://datasets/o/n@main/a.parquet")
        ('https://host:80/a.jsonl?***', 'hf://datasets/o/n@main/a.parquet')
        >>> redacted("s3://bucket/a.jsonl?endpoint_override=localhost:9000: no such file")
        's3://bucket/a.jsonl?***: no such file'
    """
    if "://" not in text:
        return text
    return (_WHOLE if whole else _IN_TEXT).sub(_without_secrets, text)


def _without_secrets(url: re.Match[str]) -> str:
    user = "***@" if url["user"] else ""
    query = url["query"] or ""
    # Trailing punctuation belongs to the sentence.
    after = query[len(query.rstrip(":,;.)")) :]
    hidden = f"{query[0]}***{after}" if query else ""
    return f"{url['scheme']}{user}{url['path']}{hidden}"


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    Example:
        >>> counted(1, "group"), counted(1200, "row")
        ('1 group', '1,200 rows')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def verb(number: int, one: str, many: str) -> str:
    """The singular or plural form of a verb.

    Example:
        >>> verb(1, "has", "have"), verb(2, "has", "have")
        ('has', 'have')
    """
    return one if number == 1 else many


class Remark(str):
    """A sentence with a count in it; equal sentences about two parts of the data can be added.

    Args:
        many: the count.
        noun: what is counted.
        one: the sentence for a count of 1, with {} for the count and its noun.
        more: the sentence for any other count.

    Example:
        >>> print(Remark(1, "row", "{} is odd", "{} are odd") + Remark(2, "row", "{} is odd", "{} are odd"))
        3 rows are odd
    """

    many: int
    parts: tuple[str, str, str]

    def __new__(cls, many: int, noun: str, one: str, more: str) -> "Remark":
        """Format the sentence."""
        made = super().__new__(cls, verb(many, one, more).format(counted(many, noun)))
        made.many, made.parts = many, (noun, one, more)
        return made

    def __getnewargs__(self) -> tuple[int, str, str, str]:  # type: ignore[override]
        return (self.many, *self.parts)

    def __add__(self, other: str) -> str:
        if isinstance(other, Remark) and other.parts == self.parts:
            return Remark(self.many + other.many, *self.parts)
        return str(self) + other


def together(messages: Iterable[str]) -> tuple[str, ...]:
    """Merge messages about several parts of the data: drop duplicates and add up remarks."""
    result: dict[object, str] = {}
    for text in messages:
        about = text.parts if isinstance(text, Remark) else text
        result[about] = result[about] + text if isinstance(text, Remark) and about in result else text
    return tuple(result.values())


def one_line(value: object, limit: int = 60, text: Callable[[Any], str] = repr) -> str:
    r"""A value for a message: one line, `repr` unless another `text` is given, truncated with an ellipsis.

    Example:
        >>> print(one_line("a\nb"))
        'a\nb'
    """
    line = shown(text(value))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def reason(error: BaseException) -> str:
    r"""The message of an exception of the system or another package: one line, ready to follow a colon.

    Example:
        >>> (
        ...     reason(FileNotFoundError(2, "No such file or directory")),
        ...     reason(ValueError("Bad\nvalue")),
        ...     reason(KeyError()),
        ... )
        ('no such file or directory', 'bad', 'KeyError')
    """
    text = getattr(error, "strerror", None) or str(error)
    line = next(filter(None, map(str.strip, str(text).splitlines())), "")
    return line[:1].lower() + line[1:] if line else type(error).__name__


def summed(weights: Mapping[str, float]) -> str:
    """Columns with their weights.

    Example:
        >>> summed({"accuracy": 1.0, "format": 0.5})
        "'accuracy' + 0.5 × 'format'"
    """
    return " + ".join(
        f"'{name}'" if weight == 1 else f"{weight:g} × '{name}'" for name, weight in weights.items()
    )


def megabytes(size: int) -> str:
    """A size in bytes, in the largest unit in which it is at least 1.

    Example:
        >>> megabytes(64_000_000), megabytes(1_500_000_000), megabytes(10)
        ('64 MB', '1.5 GB', '10 B')
    """
    for unit, one in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= one:
            return f"{size / one:.4g} {unit}"
    return f"{size} B"


def either(names: Sequence[str]) -> str:
    """A list of choices, joined by commas and "or".

    Example:
        >>> either(["cpu", "cuda", "mps"]), either(["cpu"])
        ('cpu, cuda or mps', 'cpu')
    """
    return " or ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def shortened(names: Sequence[str], limit: int, separator: str = ", ") -> str:
    """The first `limit` names, and how many more there are.

    Example:
        >>> shortened(["a", "b", "c"], 2), shortened(["a", "b"], 2)
        ('a, b and 1 more', 'a, b')
    """
    suffix = f" and {len(names) - limit:,} more" if len(names) > limit else ""
    return f"{separator.join(names[:limit])}{suffix}"


def wrote(paths: Sequence[str], limit: int = 10) -> list[str]:
    """A note for each written file; if there are more than `limit`, one for all of them.

    Example:
        >>> wrote(["a.jsonl", "b.jsonl"]), wrote(["a.jsonl", "b.jsonl", "c.jsonl"], limit=2)
        (['wrote a.jsonl', 'wrote b.jsonl'], ['wrote 3 files, a.jsonl to c.jsonl'])
    """
    if len(paths) <= limit:
        return [f"wrote {path}" for path in paths]
    return [f"wrote {counted(len(paths), 'file')}, {paths[0]} to {paths[-1]}"]


def short(value: float) -> str:
    """A knob's value as typed, with at most eight digits: 1e-6, not 1e-06.

    Example:
        >>> short(1e-6), short(0.0001), short(1), short(2000.0)
        ('1e-6', '1e-4', '1', '2000')
    """
    digits, _, power = f"{value:.7e}".partition("e")
    long, brief = f"{value:.8g}", f"{float(digits):.8g}e{int(power)}"
    return brief if 0 < abs(value) < 1 and len(brief) < len(long) else long


def pairs(knobs: Mapping[str, float | str]) -> str:
    """Knobs as typed after a name.

    Example:
        >>> pairs({"method": "mean", "gamma": 0.95}), pairs({})
        (':method=mean,gamma=0.95', '')
    """
    text = ",".join(
        f"{name}={value if isinstance(value, str) else short(value)}" for name, value in knobs.items()
    )
    return f":{text}" if text else ""
