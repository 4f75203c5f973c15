"""Expressions over the columns of a row, parsed by Python's own parser, checked against a whitelist and never executed.

    finish_reason != "length" and lag <= 4
    error is null
    source in ("a", "b") and not truncated
    info.judge.score * 2 > `score/max`

A name is a column or a dotted path; names that aren't Python identifiers go in backticks. `@file`, `@folder`, `@line` and
`@step` say where a row comes from. NaN is null. Null equals only null, ordering comparisons with null are false, null
counts as false, and arithmetic with null gives null.
"""

import ast
import hashlib
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from advcli.common.errors import UsageError
from advcli.common.wording import one_line
from advcli.tensors.syntax import named, syntax, typed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Cells: TypeAlias = Sequence[Any] | Any
"""One column: Python values or an arrow array."""
_Row: TypeAlias = Mapping[str, Any]
_Value: TypeAlias = Callable[[_Row], Any]

EXAMPLE = """'finish_reason != "length" and lag <= 4'"""
_CONSTANTS = {"null": None, "none": None, "true": True, "false": False}


@dataclass(frozen=True)
class Expression:
    """A validated expression.

    Attributes:
        text: as the user typed it.
        tree: the parsed expression; whitelisted nodes only.
        quoted: placeholder → column, for names that aren't Python identifiers.
    """

    text: str
    tree: ast.expr
    quoted: Mapping[str, str]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns and dotted paths it uses, without duplicates."""
        return tuple(dict.fromkeys(self._columns(self.tree)))

    def holds(self, columns: Mapping[str, Cells]) -> "NDArray[np.bool_]":
        """[n] bool, True where the expression is true.

        Args:
            columns: column → [n] cells, for each of `self.columns`.

        Raises:
            TypeError: values can't be compared or computed with; the message names them.
        """
        return self._mask(self.tree, columns)

    def values(self, columns: Mapping[str, Cells]) -> list[Any]:
        """[n] the value for each row; None where it is null.

        Args:
            columns: as for `holds`; at least one.

        Raises:
            TypeError: as for `holds`.
        """
        names = tuple(dict.fromkeys(self._columns(self.tree)))
        value = self._value(self.tree)
        cells = [_python(columns[name]) for name in names]
        return [value(dict(zip(names, row, strict=True))) for row in zip(*cells, strict=True)]

    def numbers(self, columns: Mapping[str, Cells]) -> "NDArray[np.float64]":
        """[n] the value for each row as a number: 1 and 0 for true and false, NaN where it is null.

        Args:
            columns: as for `values`.

        Raises:
            TypeError: as for `holds`, or a value isn't a number.
        """
        import numpy as np

        result = (_number(value) if value is not None else math.nan for value in self.values(columns))
        return np.fromiter(result, dtype=np.float64)

    def _columns(self, tree: ast.AST) -> list[str]:
        name = self.dotted(tree)
        if name is not None:
            return [] if name.lower() in _CONSTANTS else [name]
        inner = tree.args if isinstance(tree, ast.Call) else ast.iter_child_nodes(tree)
        return [result for node in inner for result in self._columns(node)]

    def dotted(self, tree: ast.AST) -> str | None:
        """The column or dotted path that a node names, or None."""
        return named(tree, self.quoted)

    def _mask(self, tree: ast.expr, columns: Mapping[str, Cells]) -> "NDArray[np.bool_]":
        """[n] bool for a subtree: and/or/not combine whole masks, only the operands are evaluated row by row."""
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
            return ~self._mask(tree.operand, columns)
        if isinstance(tree, ast.BoolOp):
            first, *others = (self._mask(part, columns) for part in tree.values)
            for part in others:
                first = first & part if isinstance(tree.op, ast.And) else first | part
            return first
        return self._row_mask(tree, columns)

    def _row_mask(self, tree: ast.expr, columns: Mapping[str, Cells]) -> "NDArray[np.bool_]":
        import numpy as np

        names = tuple(dict.fromkeys(self._columns(tree)))
        value = self._value(tree)
        if not names:
            rows = len(next(iter(columns.values())))
            return np.full(rows, bool(value({})))
        if len(names) == 1:
            # Columns mostly repeat a few values: test each distinct value once.
            distinct, codes = _distinct(columns[names[0]])
            result = np.array([bool(value({names[0]: cell})) for cell in distinct], dtype=bool)
            return result[codes] if codes is not None else result
        cells = [_python(columns[name]) for name in names]
        rows_of = (dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True))
        return np.array([bool(value(row)) for row in rows_of], dtype=bool)

    def _value(self, tree: ast.expr) -> _Value:
        """A function from a row to the value of a subtree."""
        name = self.dotted(tree)
        if name is not None:
            constant = name.lower() in _CONSTANTS
            return (lambda row: _CONSTANTS[name.lower()]) if constant else (lambda row: row[name])
        if isinstance(tree, ast.Constant):
            return lambda row: tree.value
        if isinstance(tree, ast.Tuple | ast.List | ast.Set):
            items = [self._value(item) for item in tree.elts]
            return lambda row: [item(row) for item in items]
        if isinstance(tree, ast.BoolOp):
            return self._bool_op(tree)
        if isinstance(tree, ast.UnaryOp):
            inner, sign = self._value(tree.operand), _SIGNS[type(tree.op)]
            return lambda row: sign(inner(row))
        if isinstance(tree, ast.BinOp):
            left, right, compute = self._value(tree.left), self._value(tree.right), _ARITHMETIC[type(tree.op)]
            return lambda row: _computed(compute, left(row), right(row))
        if isinstance(tree, ast.Call):
            function, given = (
                FUNCTIONS[str(self.dotted(tree.func))],
                [self._value(item) for item in tree.args],
            )
            return lambda row: _called(function, [item(row) for item in given])
        assert isinstance(tree, ast.Compare), "_check allows nothing else"
        return self._compared(tree)

    def _bool_op(self, tree: ast.BoolOp) -> _Value:
        parts = [self._value(part) for part in tree.values]
        decide = all if isinstance(tree.op, ast.And) else any
        return lambda row: decide(bool(part(row)) for part in parts)

    def _compared(self, tree: ast.Compare) -> _Value:
        values = [self._value(part) for part in (tree.left, *tree.comparators)]
        tests = [_COMPARISONS[type(op)] for op in tree.ops]

        def compare(row: _Row) -> bool:
            result = [value(row) for value in values]
            return all(test(result[i], result[i + 1]) for i, test in enumerate(tests))

        return compare


@cache
def parse(text: str, flag: str = "--where") -> Expression:
    """Parse and validate an expression.

    Args:
        text: what the user typed.
        flag: the option it belongs to, for messages.

    Raises:
        UsageError: not an expression, or it uses something that isn't allowed.

    Example:
        >>> one = parse('reason != "length" and lag <= 4')
        >>> one.columns, one.holds({"reason": ["stop", "length", None], "lag": [4, 0, None]}).tolist()
        (('reason', 'lag'), [True, False, False])
    """
    parsed = syntax(text, flag, EXAMPLE)
    result = Expression(text, parsed.tree, parsed.quoted)
    _check(parsed.tree, result, flag)
    if not result.columns:
        raise UsageError(f"{flag} {one_line(text)} names no column", hint=typed(flag, EXAMPLE))
    return result


def _check(tree: ast.AST, expression: Expression, flag: str) -> None:
    """Reject nodes that aren't whitelisted.

    Raises:
        UsageError: the message names the node.
    """
    if expression.dotted(tree) is not None:
        return
    if isinstance(tree, ast.Call):
        name = expression.dotted(tree.func)
        if name not in FUNCTIONS or tree.keywords:
            what = "only a named function can be called" if name is None else f"no function '{name}'"
            raise UsageError(
                f"{flag} {one_line(expression.text)}: {what}", hint=f"one of {', '.join(FUNCTIONS)}"
            )
        inner: list[ast.AST] = list(tree.args)
    else:
        allowed = isinstance(tree, _ALLOWED) and not (
            isinstance(tree, ast.Constant) and not isinstance(tree.value, bool | int | float | str | None)
        )
        if not allowed:
            raise UsageError(
                f"{flag} {one_line(expression.text)}: {type(tree).__name__} is not allowed",
                hint=typed(flag, EXAMPLE),
            )
        inner = list(ast.iter_child_nodes(tree))
    for node in inner:
        _check(node, expression, flag)


def _python(cells: Cells) -> list[Any]:
    """Cells as Python values, NaN as null."""
    values = cells.to_pylist() if hasattr(cells, "to_pylist") else list(cells)
    return [None if value != value else value for value in values]


def _distinct(cells: Cells) -> tuple[list[Any], Any]:
    """The distinct values of a column and each row's index into them; all values and None where that isn't faster."""
    import numpy as np
    import pyarrow as pa

    if not isinstance(cells, pa.Array) or pa.types.is_nested(cells.type) or pa.types.is_null(cells.type):
        return _python(cells), None
    encoded = cells.dictionary_encode()
    distinct = [*_python(encoded.dictionary), None]
    return distinct, np.asarray(encoded.indices.cast(pa.int64()).fill_null(len(distinct) - 1))


def _number(value: object, *, other: object = None) -> float | int | None:
    """The value as a number; text is parsed.

    Raises:
        TypeError: it isn't a number.
    """
    if isinstance(value, int | float):
        return value
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        compared = "" if other is None else f" but is compared with {one_line(other, 30)}"
        raise TypeError(f"{one_line(value, 30)} is not a number{compared}") from None


def _alike(left: object, right: object) -> tuple[Any, Any]:
    """The two values, made comparable: text compared with a number is parsed as a number."""
    if isinstance(left, str) != isinstance(right, str):
        return _number(left, other=right), _number(right, other=left)
    return left, right


def _equal(left: object, right: object) -> bool:
    try:
        left, right = _alike(left, right)
    except TypeError:
        return False
    return bool(left == right)


def _ordered(test: Callable[[Any, Any], bool]) -> Callable[[object, object], bool]:
    def compare(left: object, right: object) -> bool:
        if left is None or right is None:
            return False
        comparable_left, comparable_right = _alike(left, right)
        try:
            return bool(test(comparable_left, comparable_right))
        except TypeError:
            raise TypeError(f"{one_line(left, 30)} and {one_line(right, 30)} cannot be ordered") from None

    return compare


def _within(value: object, group: object) -> bool:
    if group is None:
        return False
    if isinstance(group, str):
        return isinstance(value, str) and value in group
    if not isinstance(group, list | tuple):
        raise TypeError(f"{one_line(group, 30)} is not a list or text; expected one after 'in'")
    return any(_equal(value, item) for item in group)


def _computed(compute: Callable[[Any, Any], Any], left: object, right: object) -> Any:  # noqa: ANN401  a number
    if left is None or right is None:
        return None
    try:
        result = compute(_number(left), _number(right))
    except (ZeroDivisionError, OverflowError):
        return None
    return None if isinstance(result, float) and math.isnan(result) else result


def _called(function: Callable[..., Any], values: list[Any]) -> Any:  # noqa: ANN401  what the function gives
    if any(value is None for value in values):
        return None
    try:
        return function(*values)
    except (TypeError, ValueError) as error:
        raise TypeError(str(error)) from error


def _numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: function(*(_number(value) for value in values))


def _code(value: object) -> int:
    """A hash: equal values give equal numbers; collisions are negligible."""
    digest = hashlib.blake2b(repr(value).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    # 53 bits: exact in a float64.
    return int.from_bytes(digest, "big") >> 11


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": _numbers(abs),
    "min": _numbers(lambda *values: min(values)),
    "max": _numbers(lambda *values: max(values)),
    "len": len,
    "code": _code,
}
"""Functions an expression may call; the result is null if any argument is."""

_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: _equal,
    ast.NotEq: lambda left, right: not _equal(left, right),
    ast.Lt: _ordered(operator.lt),
    ast.LtE: _ordered(operator.le),
    ast.Gt: _ordered(operator.gt),
    ast.GtE: _ordered(operator.ge),
    ast.In: _within,
    ast.NotIn: lambda value, group: not _within(value, group),
    ast.Is: _equal,
    ast.IsNot: lambda left, right: not _equal(left, right),
}
_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_SIGNS: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.Not: operator.not_,
    ast.USub: lambda value: None if value is None else -(_number(value) or 0),
    ast.UAdd: lambda value: None if value is None else _number(value),
}
_ALLOWED = (
    ast.BoolOp,
    ast.boolop,
    ast.UnaryOp,
    *_SIGNS,
    ast.BinOp,
    *_ARITHMETIC,
    ast.Compare,
    *_COMPARISONS,
    ast.Constant,
    ast.Tuple,
    ast.List,
    ast.Set,
    ast.Load,
)
