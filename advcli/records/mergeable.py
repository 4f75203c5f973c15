"""Counts of parts of a data set, such that the sum of two of them counts both parts."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self


@dataclass(frozen=True)
class Merge:
    """Says of a field, in `Annotated`, what makes one value out of two."""

    how: Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Where:
    """Says of a count, in `Annotated`, that it counts rows at the value of another field: only parts at that value are added."""

    of: str


class Mergeable:
    """Base of frozen dataclasses whose sum is made field by field: as `both` says, unless its type is annotated.

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
        parts, done, late = (self, other), {}, {}
        for one in fields(self):  # type: ignore[arg-type]
            (rule,) = getattr(one.type, "__metadata__", (_BOTH,))
            if isinstance(rule, Where):
                late[one.name] = rule.of
            else:
                done[one.name] = rule.how(*(getattr(part, one.name) for part in parts))
        for name, of in late.items():
            done[name] = sum(getattr(part, name) for part in parts if getattr(part, of) == done[of])
        return type(self)(**done)


def first(one: Any, two: Any) -> Any:  # noqa: ANN401  whatever the field holds
    """What is equal in all parts."""
    del two
    return one


def both(one: Any, two: Any) -> Any:  # noqa: ANN401  whatever the field holds
    """Numbers are added, mappings by key, tuples place by place; what one part does not know, the sum does not know.

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
