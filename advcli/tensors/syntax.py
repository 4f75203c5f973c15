"""From the text of an expression to Python's syntax tree, and back from a part of the tree to its place in the text."""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass

from advcli.common.errors import UsageError
from advcli.common.wording import one_line

LONGEST = 4000
"""Characters that an expression may have."""
# A text, a quoted column, a place, or a keyword as SQL writes it.
_PIECES = re.compile(
    r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|`([^`]+)`|(@[a-z]+)|\b(AND|OR|NOT|IN|IS|NULL|TRUE|FALSE)\b"""
)
_QUOTED = "column_{}_"


@dataclass(frozen=True)
class Syntax:
    """A text that Python's parser takes.

    Attributes:
        text: as the user typed it.
        tree: the syntax tree of the text with a stand-in for each column that Python cannot spell.
        quoted: stand-in → column.
        shifts: (place in what was parsed, how much later it is in the text), in ascending order.
        encoded: what was parsed, as UTF-8: the parser counts bytes.
    """

    text: str
    tree: ast.expr
    quoted: Mapping[str, str]
    shifts: tuple[tuple[int, int], ...]
    encoded: bytes

    def name(self, tree: ast.AST) -> str | None:
        """The column that a node names; None if it is something else."""
        return named(tree, self.quoted)

    def place(self, node: ast.expr) -> int:
        """Where a node begins in the text, counted from 1."""
        return self._at(node.col_offset) + 1

    def source(self, node: ast.expr) -> str:
        """The text of a node."""
        assert node.end_col_offset is not None, "the parser tells it of every expression"
        return self.text[self._at(node.col_offset) : self._at(node.end_col_offset)]

    def _at(self, offset: int) -> int:
        position = len(self.encoded[:offset].decode("utf-8"))
        return position + max((shift for shift in self.shifts if shift[0] <= position), default=(0, 0))[1]


def named(tree: ast.AST, quoted: Mapping[str, str]) -> str | None:
    """The column or dotted path that a node names; None if it is something else.

    Args:
        tree: the node.
        quoted: stand-in → column.
    """
    if isinstance(tree, ast.Name):
        return quoted.get(tree.id, tree.id)
    if isinstance(tree, ast.Attribute):
        base = named(tree.value, quoted)
        return None if base is None else f"{base}.{tree.attr}"
    return None


def syntax(text: str, flag: str, example: str) -> Syntax:
    """Read a text.

    Args:
        text: what the user typed.
        flag: the option that it belongs to, for messages.
        example: an expression that the option takes, for hints.

    Raises:
        UsageError: it is no expression.

    Example:
        >>> one = syntax("1 + `a b`", "--where", "x > 1")
        >>> one.place(one.tree.right), one.source(one.tree.right)
        (5, '`a b`')
    """
    if not text.strip() or len(text) > LONGEST:
        raise UsageError(f"{flag} '{text[:20]}' is no expression", hint=typed(flag, example))
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
        stand_in = _QUOTED.format(len(quoted))
        quoted[stand_in] = column or position
        parsed += stand_in
        shifts.append((len(parsed), done - len(parsed)))
    # A line break within brackets would make the parser count from there.
    parsed = (parsed + text[done:]).rstrip().replace("\n", " ")
    try:
        tree = ast.parse(parsed, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        what = getattr(error, "msg", None) or str(error) or "nested too deeply"
        raise UsageError(
            f"{flag} {one_line(text)}: {what.lower()}", hint=_cure(text, flag, example)
        ) from error
    return Syntax(text, tree, quoted, tuple(shifts), parsed.encode("utf-8"))


def _cure(text: str, flag: str, example: str) -> str:
    """What to type instead, where that can be told."""
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
