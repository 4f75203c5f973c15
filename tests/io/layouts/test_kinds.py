"""What values and types hold, in one set of words."""

import pyarrow as pa
import pytest

from advcli.io.layouts import kinds

PAIRS = [
    ("number", [1, 1.5, True, 10**30], [pa.int8(), pa.float16(), pa.bool_(), pa.decimal128(5, 2)]),
    (
        "text",
        ["", "x"],
        [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())],
    ),
    ("list", [[], [1]], [pa.list_(pa.int64()), pa.large_list(pa.string()), pa.list_(pa.int64(), 2)]),
    ("object", [{}, {"a": 1}], [pa.struct([("a", pa.int64())]), pa.map_(pa.string(), pa.int64())]),
    ("null", [None], [pa.null()]),
    ("other", [b"x"], [pa.binary(), pa.timestamp("s"), pa.date32()]),
]


@pytest.mark.parametrize(("shape", "values", "types"), PAIRS)
def test_words(shape, values, types):
    assert {kinds.of_value(value) for value in values} == {shape}
    assert {kinds.of_type(type_) for type_ in types} == {shape}


def test_an_extension_type_is_what_it_stores():
    assert kinds.of_type(pa.json_(pa.string())) == "text"


def test_the_first_value_that_is_not_null_tells():
    found: dict[str, str] = {}
    assert kinds.add(found, {"a": None, "b": 1})
    assert not kinds.add(found, {"a": None})
    assert kinds.add(found, {"a": "x", "b": "y"})
    assert found == {"a": "text", "b": "number"}


def test_kinds():
    assert [kinds.kind(shape) for shape, _, _ in PAIRS] == [
        "number",
        "text",
        "nested",
        "nested",
        "number",
        "other",
    ]
