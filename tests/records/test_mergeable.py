"""The sum of two counts counts both parts."""

from dataclasses import dataclass
from typing import Annotated

import pytest

from advcli.records.mergeable import Merge, Mergeable, Where, both, first


@dataclass(frozen=True)
class Inner(Mergeable):
    rows: int
    top: Annotated[float, Merge(max)]


@dataclass(frozen=True)
class Count(Mergeable):
    name: Annotated[str, Merge(first)]
    low: Annotated[float, Merge(min)]
    at_low: Annotated[int, Where("low")]
    inner: Inner
    by_step: dict[str, int]
    tokens: int | None


def test_every_field_is_summed_by_its_own_rule():
    one = Count("a", 0.5, 3, Inner(2, 1.0), {"x": 1}, 7)
    two = Count("a", 0.0, 2, Inner(3, 4.0), {"x": 2, "y": 5}, None)
    assert one + two == Count("a", 0.0, 2, Inner(5, 4.0), {"x": 3, "y": 5}, None)
    assert one + one == Count("a", 0.5, 6, Inner(4, 1.0), {"x": 2}, 14)


def test_tuples_are_added_place_by_place():
    assert both((1, (2, 3)), (10, (20, 30))) == (11, (22, 33))
    with pytest.raises(ValueError, match="shorter"):
        both((1, 2), (1,))
