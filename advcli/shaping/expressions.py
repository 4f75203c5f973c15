"""`--shape 'EXPR'`: a reward from the columns of a row and the statistics of its group.

    r + 0.2*(mean(len) - len)/max(len) where right
    if(finish_reason == "length", 0.5*r, r)
    r / count(code(response) == code(response))

`r` is the reward so far, `len` the length column, any other name a column, as in `--where`. Comparisons of text are evaluated
while the rows are read; everything else here, on whole columns. NaN represents null.
"""

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from advcli.common.errors import UsageError
from advcli.common.wording import one_line
from advcli.tensors.expressions import FUNCTIONS as ROW_FUNCTIONS
from advcli.tensors.expressions import parse as parse_row
from advcli.tensors.syntax import Syntax, syntax

if TYPE_CHECKING:
    from torch import Tensor

    from advcli.shaping.groups import Groups

FLAG = "--shape"
EXAMPLE = "'r + 0.2*(mean(len)-len)/max(len) where r > 0'"
REWARD, LENGTH = "r", "len"
_CONSTANTS = {"null": float("nan"), "none": float("nan"), "true": 1.0, "false": 0.0}
# `if` as a function; quoted text is matched first, so that an `if` in it is skipped.
_IF = re.compile(r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]+`)|\bif(?=\s*\()""")
# Quoted text, a bracket, or a word.
_TOKENS = re.compile(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]+`|[(\[{]|[)\]}]|\w+""")


@dataclass(frozen=True)
class Rows:
    """The input of an expression.

    Attributes:
        rewards: [N] float, NaN where missing.
        lengths: [N] float, or None.
        groups: the groups.
        columns: text of a part evaluated while the rows are read → [N] float.
    """

    rewards: "Tensor"
    lengths: "Tensor | None"
    groups: "Groups"
    columns: Mapping[str, "Tensor"]


_Value: TypeAlias = Callable[[Rows], "Tensor"]


@dataclass(frozen=True)
class RewardExpression:
    """A validated expression.

    Attributes:
        text: as the user typed it.
        value: computes [N], the new reward.
        measures: the parts evaluated while the rows are read, in the syntax of `--where`.
        uses_length: whether it needs the length column.
    """

    text: str
    value: _Value
    measures: tuple[str, ...]
    uses_length: bool


@cache
def parse(text: str) -> RewardExpression:
    """Parse an expression, `VALUE` or `VALUE where CONDITION`; where the condition is false, the reward is unchanged.

    Args:
        text: what the user typed.

    Raises:
        UsageError: not an expression, or it uses something that isn't allowed; the message says where.

    Example:
        >>> one = parse("r - 0.1*turns/max(turns) where status == 'done'")
        >>> one.measures, one.uses_length
        (('turns', "status == 'done'"), False)
    """
    value, condition = _split_at_where(text)
    compiler = _Compiler(text)
    new = compiler.compiled(value)
    if condition is None:
        result = new
    else:
        holds = compiler.compiled(condition)
        result = _choose(holds, new, lambda rows: rows.rewards)
    if not (compiler.measures or compiler.names):
        raise UsageError(f"{FLAG} {one_line(text)} names neither r nor a column", hint=f"{FLAG} {EXAMPLE}")
    return RewardExpression(text, result, tuple(compiler.measures), LENGTH in compiler.names)


def _split_at_where(text: str) -> tuple[str, str | None]:
    """The text before and after the last top-level `where`; the second padded with blanks to keep its positions."""
    depth, result = 0, None
    for token in _TOKENS.finditer(text):
        depth += (token[0] in "([{") - (token[0] in ")]}")
        if token[0].lower() == "where" and not depth:
            result = token
    if result is None:
        return text, None
    condition = text[result.end() :]
    if not condition.strip():
        raise UsageError(f"{FLAG} {one_line(text)} has no condition after 'where'", hint=f"{FLAG} {EXAMPLE}")
    return text[: result.start()], " " * result.end() + condition


class _Compiler:
    """Compiles the nodes of an expression into functions of whole columns."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: set[str] = set()
        self.measures: dict[str, None] = {}
        self._syntax: Syntax | None = None

    def compiled(self, part: str) -> _Value:
        # `if` is a Python keyword; a name of equal length replaces it, so that positions don't change.
        self._syntax = syntax(_IF.sub(lambda result: result[1] or "If", part), FLAG, EXAMPLE)
        return self._value(self._syntax.tree)

    def _read(self) -> Syntax:
        assert self._syntax is not None, "set by `compiled`"
        return self._syntax

    def _refuse(self, node: ast.expr, what: str, hint: str = "") -> NoReturn:
        position = self._read().place(node)
        raise UsageError(
            f"{FLAG} {one_line(self.text)}: {what} at character {position}", hint=hint or f"{FLAG} {EXAMPLE}"
        )

    def _value(self, node: ast.expr) -> _Value:
        if self._read().name(node) is not None:
            return self._column(node)
        make = _NODES.get(type(node))
        if make is None:
            self._refuse(node, f"{type(node).__name__} is not allowed")
        return make(self, node)

    def _column(self, node: ast.expr) -> _Value:
        name = str(self._read().name(node))
        plain = isinstance(node, ast.Name) and node.id == name
        if plain and name.lower() in _CONSTANTS:
            number = _CONSTANTS[name.lower()]
            return lambda rows: _full(rows, number)
        if plain and name in (REWARD, LENGTH):
            self.names.add(name)
            return _rewards if name == REWARD else _lengths
        return self._measure(node)

    def _measure(self, node: ast.expr) -> _Value:
        """A part evaluated while the rows are read."""
        text = self._read().source(node)
        parse_row(text, FLAG)
        self.measures[text] = None
        return lambda rows: rows.columns[text]

    def constant(self, node: ast.Constant) -> _Value:
        """A number."""
        if not isinstance(node.value, bool | int | float):
            self._refuse(node, "a text can only be compared", 'finish_reason == "length"')
        number = float(node.value)
        return lambda rows: _full(rows, number)

    def unary(self, node: ast.UnaryOp) -> _Value:
        """A sign, or `not`."""
        operation = _UNARY.get(type(node.op))
        if operation is None:
            self._refuse(node, f"{type(node.op).__name__} is not allowed")
        inner = self._value(node.operand)
        return lambda rows: operation(inner(rows))

    def binary(self, node: ast.BinOp) -> _Value:
        """Arithmetic."""
        operation = _BINARY.get(type(node.op))
        if operation is None:
            self._refuse(node, f"{type(node.op).__name__} is not allowed")
        left, right = self._value(node.left), self._value(node.right)
        return lambda rows: operation(left(rows), right(rows))

    def boolean(self, node: ast.BoolOp) -> _Value:
        """`and` and `or`."""
        parts = [self._value(part) for part in node.values]
        every = isinstance(node.op, ast.And)

        def combine(rows: Rows) -> "Tensor":
            first, *others = (_holds(part(rows)) for part in parts)
            for one in others:
                first = first & one if every else first | one
            return first.to(rows.rewards.dtype)

        return combine

    def compare(self, node: ast.Compare) -> _Value:
        """Comparisons: of numbers here, of anything else while the rows are read."""
        if not self._computed(node):
            return self._measure(node)
        tests = []
        for op in node.ops:
            test = _COMPARISONS.get(type(op))
            if test is None:
                self._refuse(node, f"{type(op).__name__} of r, len or a statistic is not allowed")
            tests.append(test)
        parts = [self._value(part) for part in (node.left, *node.comparators)]

        def combine(rows: Rows) -> "Tensor":
            values = [part(rows) for part in parts]
            result = tests[0](values[0], values[1])
            for position, test in enumerate(tests[1:], start=1):
                result = result & test(values[position], values[position + 1])
            return result.to(rows.rewards.dtype)

        return combine

    def call(self, node: ast.Call) -> _Value:
        """A group statistic or a numeric function; functions of text are evaluated while the rows are read."""
        name = self._read().name(node.func)
        if name is None:
            self._refuse(node, "only a named function can be called,")
        if node.keywords:
            self._refuse(node, f"{name} takes no names before its values")
        arguments = node.args
        if name in _ROW_ONLY:
            if self._computed(node, within=True):
                self._refuse(node, f"{name} takes a column")
            return self._measure(node)
        if name in _STATISTICS and len(arguments) <= 1:
            return self._statistic(node, name)
        function = _FUNCTIONS.get(name)
        if function is None:
            known = {"if" if one == "If" else one for one in (*_FUNCTIONS, *_STATISTICS, *_ROW_ONLY)}
            near = get_close_matches(name, known, cutoff=0.5) or sorted(known)
            self._refuse(node, f"no function '{name}'", f"one of {', '.join(near)}")
        count, compute = function
        if count not in (None, len(arguments)):
            shown = "if" if name == "If" else name
            self._refuse(node, f"{shown} has {len(arguments)} values, expected {count},")
        parts = [self._value(part) for part in arguments]
        return lambda rows: compute(*(part(rows) for part in parts))

    def _statistic(self, node: ast.Call, name: str) -> _Value:
        if not node.args:
            if name != "count":
                self._refuse(node, f"{name} of what", f"{name}(len)")
            return lambda rows: rows.groups.count(rows.groups.used)
        compute, inner = _STATISTICS[name], self._value(node.args[0])
        return lambda rows: compute(rows.groups, inner(rows))

    def _computed(self, node: ast.AST, *, within: bool = False) -> bool:
        """Whether a node uses something only known here: the reward, the length, or a statistic."""
        if isinstance(node, ast.expr) and not within:
            name = self._read().name(node)
            if name is not None:
                return name in (REWARD, LENGTH) and isinstance(node, ast.Name) and node.id == name
        if isinstance(node, ast.Call):
            if not within and str(self._read().name(node.func)) not in _ROW_ONLY:
                return True
            return any(self._computed(part) for part in node.args)
        return any(self._computed(part) for part in ast.iter_child_nodes(node))


def _full(rows: Rows, number: float) -> "Tensor":
    return rows.rewards.new_full(rows.rewards.shape, number)


def _rewards(rows: Rows) -> "Tensor":
    return rows.rewards


def _lengths(rows: Rows) -> "Tensor":
    assert rows.lengths is not None, "checked before computing"
    return rows.lengths


def _holds(values: "Tensor") -> "Tensor":
    """[N] bool, True where a number is neither 0 nor null."""
    return values.nan_to_num(nan=0.0) != 0


def _not(values: "Tensor") -> "Tensor":
    return (~_holds(values)).to(values.dtype)


def _choose(condition: _Value, yes: _Value, no: _Value) -> _Value:
    return lambda rows: _if(condition(rows), yes(rows), no(rows))


def _if(condition: "Tensor", yes: "Tensor", no: "Tensor") -> "Tensor":
    return yes.where(_holds(condition), no)


def _over(left: "Tensor", right: "Tensor", *, rounded: str | None = None) -> "Tensor":
    """The quotient; null if the divisor is 0."""
    result: Tensor = left.div(right, rounding_mode=rounded)
    return result.where(right != 0, float("nan"))


def _floor(left: "Tensor", right: "Tensor") -> "Tensor":
    return _over(left, right, rounded="floor")


def _modulo(left: "Tensor", right: "Tensor") -> "Tensor":
    return left - right * _floor(left, right)


def _extreme(pick: str) -> Callable[..., "Tensor"]:
    def compute(first: "Tensor", *others: "Tensor") -> "Tensor":
        for other in others:
            first = getattr(first, pick)(other)
        return first

    return compute


def _clip(values: "Tensor", low: "Tensor", high: "Tensor") -> "Tensor":
    return values.maximum(low).minimum(high)


def _count(groups: "Groups", values: "Tensor") -> "Tensor":
    return groups.count(_holds(values))


def _any(groups: "Groups", values: "Tensor") -> "Tensor":
    return (_count(groups, values) > 0).to(values.dtype)


def _all(groups: "Groups", values: "Tensor") -> "Tensor":
    return (_count(groups, values) == groups.count(groups.used)).to(values.dtype)


_ROW_ONLY = tuple(name for name in ROW_FUNCTIONS if name in ("len", "code"))
_STATISTICS: Mapping[str, Callable[["Groups", "Tensor"], "Tensor"]] = {
    **{
        name: (lambda groups, values, name=name: getattr(groups, name)(values))  # type: ignore[misc]
        for name in ("mean", "std", "min", "max", "sum", "rank")
    },
    "count": _count,
    "any": _any,
    "all": _all,
}
"""Statistics over the rows of the group with a reward; nulls are ignored."""

# The number of values a function takes, None for two or more (of one they are statistics), and the function.
_FUNCTIONS: Mapping[str, tuple[int | None, Callable[..., "Tensor"]]] = {
    "abs": (1, lambda values: values.abs()),
    "exp": (1, lambda values: values.exp()),
    "log": (1, lambda values: values.log()),
    "sqrt": (1, lambda values: values.sqrt()),
    "cos": (1, lambda values: values.cos()),
    "min": (None, _extreme("minimum")),
    "max": (None, _extreme("maximum")),
    "clip": (3, _clip),
    "If": (3, _if),
}
_UNARY: Mapping[type[ast.unaryop], Callable[["Tensor"], "Tensor"]] = {
    ast.USub: lambda values: -values,
    ast.UAdd: lambda values: values,
    ast.Not: _not,
}
_BINARY: Mapping[type[ast.operator], Callable[["Tensor", "Tensor"], "Tensor"]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Div: _over,
    ast.FloorDiv: _floor,
    ast.Mod: _modulo,
    ast.Pow: lambda left, right: left**right,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[["Tensor", "Tensor"], "Tensor"]] = {
    ast.Lt: lambda left, right: left < right,
    ast.LtE: lambda left, right: left <= right,
    ast.Gt: lambda left, right: left > right,
    ast.GtE: lambda left, right: left >= right,
    ast.Eq: lambda left, right: left == right,
    ast.NotEq: lambda left, right: left != right,
}
# Node type → the method that compiles it.
_NODES: Mapping[type[ast.expr], Callable[[_Compiler, Any], _Value]] = {
    ast.Constant: _Compiler.constant,
    ast.UnaryOp: _Compiler.unary,
    ast.BinOp: _Compiler.binary,
    ast.BoolOp: _Compiler.boolean,
    ast.Compare: _Compiler.compare,
    ast.Call: _Compiler.call,
}
