"""Parses the text of an expression into a Python syntax tree, and maps nodes back to positions in the text."""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass

from advcli.common.errors import UsageError
from advcli.common.wording import one_line

LONGEST = 4000
"""Maximum length of an expression, in characters."""
# A string, a quoted column, a position such as @file, or a keyword in SQL's capitals.
_PIECES = re.compile(
    r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|`([^`]+)`|(@[a-z]+)|\b(AND|OR|NOT|IN|IS|NULL|TRUE|FALSE)\b"""
)
_QUOTED = "column_{}_"


@dataclass(frozen=True)
class Syntax:
    """A parsed text.

    Attributes:
        text: as the user typed it.
        tree: the syntax tree, with a placeholder for each column that isn't a Python identifier.
        quoted: placeholder → column.
        shifts: (offset in the parsed text, how much further right it is in `text`), in ascending order.
        encoded: the parsed text as UTF-8, because the parser counts bytes.
    """

    text: str
    tree: ast.expr
    quoted: Mapping[str, str]
    shifts: tuple[tuple[int, int], ...]
    encoded: bytes

    def name(self, tree: ast.AST) -> str | None:
        """The column a node names; None for any other node."""
        return named(tree, self.quoted)

    def place(self, node: ast.expr) -> int:
        """The column in `text` where a node begins, counted from 1."""
        return self._at(node.col_offset) + 1

    def source(self, node: ast.expr) -> str:
        """The text of a node."""
        assert node.end_col_offset is not None, "the parser sets it on every expression"
        return self.text[self._at(node.col_offset) : self._at(node.end_col_offset)]

    def _at(self, offset: int) -> int:
        position = len(self.encoded[:offset].decode("utf-8"))
        return position + max((shift for shift in self.shifts if shift[0] <= position), default=(0, 0))[1]


def named(tree: ast.AST, quoted: Mapping[str, str]) -> str | None:
    """The column or dotted path a node names; None for any other node.

    Args:
        tree: the node.
        quoted: placeholder → column.
    """
    if isinstance(tree, ast.Name):
        return quoted.get(tree.id, tree.id)
    if isinstance(tree, ast.Attribute):
        base = named(tree.value, quoted)
        return None if base is None else f"{base}.{tree.attr}"
    return None


def syntax(text: str, flag: str, example: str) -> Syntax:
    """Parse a text.

    Args:
        text: what the user typed.
        flag: the option it belongs to, for messages.
        example: a valid expression for that option, for hints.

    Raises:
        UsageError: not an expression.

    Example:
        >>> total = syntax("1 + `a b`", "--where", "x > 1")
        >>> total.place(total.tree.right), total.source(total.tree.right)
        (5, '`a b`')
    """
    if not text.strip() or len(text) > LONGEST:
        raise UsageError(f"{flag} '{text[:20]}' is not an expression", hint=typed(flag, example))
    begin = len(text) - len(text.lstrip())
    quoted: dict[str, str] = {}
    shifts, parsed, done = [(0, begin)], "", begin
    for piece in _PIECES.finditer(text):
        string, column, position, keyword = piece.groups()
        parsed += text[done : piece.start()]
        done = piece.end()
        if string or keyword:
            parsed += string or keyword.lower()
            continue
        placeholder = _QUOTED.format(len(quoted))
        quoted[placeholder] = column or position
        parsed += placeholder
        shifts.append((len(parsed), done - len(parsed)))
    # After a line break the parser would count columns from the new line.
    parsed = (parsed + text[done:]).rstrip().replace("\n", " ")
    try:
        tree = ast.parse(parsed, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        what = getattr(error, "msg", None) or str(error) or "nested too deeply"
        raise UsageError(
            f"{flag} {one_line(text)}: {what.lower()}", hint=_hint(text, flag, example)
        ) from error
    return Syntax(text, tree, quoted, tuple(shifts), parsed.encode("utf-8"))


def _hint(text: str, flag: str, example: str) -> str:
    """The expression with common slips from other languages fixed; the example if there is nothing to fix."""
    fixed = text.replace("&&", " and ").replace("||", " or ").replace("<>", "!=")
    fixed = re.sub(r"(?<![=!<>])=(?!=)", "==", fixed)
    fixed = re.sub(r"!(?!=)", "not ", fixed)
    return typed(flag, f"'{fixed}'" if fixed != text and "'" not in fixed else example)


def typed(flag: str, example: str) -> str:
    """An option with an expression in quotes, as a shell takes it; what stands before the expression is in them too.

    Example:
        >>> typed("--where", "'x > 1'"), typed("--before where:", "'x > 1'")
        ("--where 'x > 1'", "--before 'where:x > 1'")
    """
    option, space, before = flag.partition(" ")
    return f"{option} '{before}{example[1:]}" if space else f"{flag} {example}"
