"""Results become strict JSON, and say what they are without a view."""

import json
import math
from dataclasses import dataclass, field
from typing import ClassVar

from advcli.records.results.result import Result, dumped, plain
from advcli.records.results.schema import RESULTS


@dataclass(frozen=True, repr=False)
class Point(Result):
    schema: ClassVar[str] = "advcli/point/1"
    x: float
    sizes: dict = field(default_factory=dict)
    parts: tuple = ()


def test_plain_is_what_json_can_hold():
    point = Point(math.inf, {8: 2}, (Point(math.nan), [True, None]))
    assert plain(point) == {
        "x": None,
        "sizes": {"8": 2},
        "parts": [{"x": None, "sizes": {}, "parts": []}, [True, None]],
    }
    assert json.loads(dumped(point)) == {"schema": "advcli/point/1", **plain(point)}


def test_a_result_without_a_view():
    point = Point(1.0)
    assert (repr(point), point._repr_html_()) == ("<Point>", None)


def test_every_schema_has_its_own_name():
    assert list(RESULTS) == [
        "compute",
        "compare",
        "between",
        "inspect",
        "match",
        "sweep",
        "prompts",
        "verify",
        "select",
    ]
