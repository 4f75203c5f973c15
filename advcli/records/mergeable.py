"""Mergeable counts: the sum of the counts of two parts counts both parts."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self


@dataclass(frozen=True)
class Merge:
    """Annotates a field with the function that merges two values."""

    how: Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Where:
    """Annotates a count of rows at the value of another field: only parts with the merged value are added."""

    of: str


class Mergeable:
    """Base of frozen dataclasses that are added field by field: with `both`, unless the field is annotated.

    Example:
        >>> from typing import Annotated
        >>> @dataclass(frozen=True)
        ... class Count(Mergeable):
        ...     rows: int
        ...     high: Annotated[float, Merge(max)]
        ...     at_high: Annotated[int, Where("high")]
        >>> Count(3, 1.0, 2) + Count(4, 1.0, 1) + Count(5, 0.5, 5)
        Count(rows=12, high=1.0, at_high=3)
    """

    def __add__(self, other: Self) -> Self:
        parts, merged, conditional = (self, other), {}, {}
        for field in fields(self):  # type: ignore[arg-type]
            (rule,) = getattr(field.type, "__metadata__", (_BOTH,))
            if isinstance(rule, Where):
                conditional[field.name] = rule.of
            else:
                merged[field.name] = rule.how(*(getattr(part, field.name) for part in parts))
        for name, of in conditional.items():
            merged[name] = sum(getattr(part, name) for part in parts if getattr(part, of) == merged[of])
        return type(self)(**merged)


def first(one: Any, two: Any) -> Any:  # noqa: ANN401  whatever the field holds
    """Merge values that are equal in all parts."""
    del two
    return one


def both(one: Any, two: Any) -> Any:  # noqa: ANN401  whatever the field holds
    """Add numbers, mappings by key, tuples by position; None if either is None.

    Raises:
        ValueError: two tuples of different lengths.

    Example:
        >>> both({"a": 1}, {"a": 2, "b": 1}), both((1, 2), (3, 4)), both(None, 3)
        ({'a': 3, 'b': 1}, (4, 6), None)
    """
    if one is None or two is None:
        return None
    if isinstance(one, Mapping):
        return {**one, **{key: both(one[key], value) if key in one else value for key, value in two.items()}}
    if isinstance(one, tuple):
        return tuple(both(*pair) for pair in zip(one, two, strict=True))
    return operator.add(one, two)


_BOTH = Merge(both)
