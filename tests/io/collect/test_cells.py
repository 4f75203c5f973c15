"""Cells to numbers and codes: what a value means, whichever file it came from."""

import decimal
import math
import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advcli.io.collect.cells import INF, NAN, NULL, kinds_of_objects, lists, numbers
from advcli.records.table import CAUSES

NOT = math.nan

NUMBERS = [
    # (cell, its number, why it is missing)
    (1, 1.0, 0),
    (-0.5, -0.5, 0),
    (True, 1.0, 0),
    (False, 0.0, 0),
    (2**70, 2.0**70, 0),
    ("1", 1.0, 0),
    (" -2.5e-1\n", -0.25, 0),
    ("+.5", 0.5, 0),
    (None, NOT, NULL),
    (math.nan, NOT, NAN),
    ("NaN", NOT, NAN),
    ("-nan", NOT, NAN),
    (math.inf, NOT, INF),
    ("-Infinity", NOT, INF),
    ("inf", NOT, INF),
    (10**400, NOT, INF),
    (-(10**400), NOT, INF),
    ("9" * 5000, NOT, INF),
]
NO_NUMBERS = ["", " ", "great", "1,5", "1_000", "0x10", "1 2", "None", "null", [1.0], {"a": 1}, []]


def test_causes_are_coded_in_the_order_of_the_records():
    assert [CAUSES[code - 1] for code in (NULL, NAN, INF)] == ["null", "NaN", "inf"]


@pytest.mark.parametrize(("cell", "number", "cause"), NUMBERS, ids=[str(cell)[:12] for cell, _, _ in NUMBERS])
def test_a_number_or_why_it_is_missing(cell, number, cause):
    values, causes, bad = numbers([cell])
    np.testing.assert_array_equal(values, [number])
    assert (values.dtype, causes.dtype, causes.tolist(), bad) == (np.float64, np.int8, [cause], [])


@pytest.mark.parametrize("cell", NO_NUMBERS, ids=str)
def test_what_is_no_number_is_told_by_its_place(cell):
    values, causes, bad = numbers([1, cell, None, cell, 2])
    np.testing.assert_array_equal(values, [1, NOT, NOT, NOT, 2])
    assert causes.tolist() == [0, 0, NULL, 0, 0]
    assert bad == [1, 3]


@given(st.lists(st.none() | st.integers(-(2**80), 2**80) | st.floats(), max_size=20))
def test_numbers_are_what_float_makes_of_them(cells):
    values, causes, bad = numbers(cells)
    expected = [float(cell) if cell is not None and math.isfinite(cell) else math.nan for cell in cells]
    np.testing.assert_array_equal(values, np.array(expected))
    assert bad == []
    assert (causes > 0).tolist() == [math.isnan(value) for value in expected]


ARRAYS = {
    "int8": pa.array([1, None], pa.int8()),
    "uint64": pa.array([1, None], pa.uint64()),
    "float16": pa.array([np.float16(1), None], pa.float16()),
    "float32": pa.array([1, None], pa.float32()),
    "decimal": pa.array([decimal.Decimal("1.00"), None], pa.decimal128(38, 2)),
    "decimal256": pa.array([decimal.Decimal("1.00"), None], pa.decimal256(70, 2)),
    "bool": pa.array([True, None]),
    "string": pa.array(["1.0", None]),
    "large string": pa.array(["1e0", None], pa.large_string()),
    "string view": pa.array(["1", None], pa.string_view()),
    "dictionary of strings": pa.array(["1", None]).dictionary_encode(),
    "dictionary of floats": pa.array([1.0, None]).dictionary_encode(),
    "dictionary with a null in it": pa.DictionaryArray.from_arrays([1, 0], pa.array([None, 1.0])),
}


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_an_arrow_array_is_read_like_a_list(array):
    values, causes, bad = numbers(array)
    np.testing.assert_array_equal(values, [1.0, NOT])
    assert (causes.tolist(), bad) == ([0, NULL], [])


def test_arrow_tells_null_nan_and_inf_apart():
    values, causes, bad = numbers(pa.array([None, NOT, math.inf, -math.inf, 0.1]))
    np.testing.assert_array_equal(values, [NOT, NOT, NOT, NOT, 0.1])
    assert (causes.tolist(), bad) == ([NULL, NAN, INF, INF, 0], [])


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["x"]),
        pa.array([b"1"]),
        pa.array([[1.0]]),
        pa.array([{"a": 1.0}]),
        pa.array([0], pa.timestamp("ns")),
        pa.array([0], pa.date32()),
        pa.array(["x"]).dictionary_encode(),
    ],
    ids=lambda array: str(array.type),
)
def test_an_arrow_array_of_something_else_is_bad(array):
    values, causes, bad = numbers(array)
    assert (math.isnan(values[0]), causes.tolist(), bad) == (True, [0], [0])


def test_a_column_of_nulls_is_missing_not_bad():
    values, causes, bad = numbers(pa.nulls(2))
    assert (np.isnan(values).all(), causes.tolist(), bad) == (True, [NULL, NULL], [])


def test_a_slice_of_an_array_is_read_from_its_start():
    values, causes, _ = numbers(pa.array([9.0, None, 1.0, 2.0])[1:3])
    np.testing.assert_array_equal(values, [NOT, 1.0])
    assert causes.tolist() == [NULL, 0]


def test_kinds_of_objects():
    rows = [
        {"a": None, "b": 1, "c": "x", "d": None},
        {"b": True, "a": "t", "e": [1]},
        {"b": "late", "f": {}, "c": 5},
    ]
    kinds = kinds_of_objects(rows)
    assert kinds == {"a": "text", "b": "text", "c": "text", "d": "number", "e": "nested", "f": "nested"}
    assert list(kinds) == ["a", "b", "c", "d", "e", "f"]


@given(st.binary(min_size=8, max_size=8))
def test_every_double_is_read_exactly(raw):
    (number,) = struct.unpack("<d", raw)
    for cells in ([number], pa.array([number]), [repr(number)]):
        (value,), (cause,), _ = numbers(cells)
        if math.isfinite(number):
            assert struct.pack("<d", value) == raw
            assert cause == 0
        else:
            assert cause == (NAN if math.isnan(number) else INF)


CELLS = [[1, 0.5], None, [], [None, 2.0], [3]]


@pytest.mark.parametrize(
    "cells",
    [
        CELLS,
        pa.array(CELLS, pa.list_(pa.float64())),
        pa.array(CELLS, pa.large_list(pa.float32())),
        pa.array([*CELLS[:2], *CELLS], pa.list_(pa.float64())).slice(2),
        pa.array([["1", "0.5"], None, [], [None, "2"], ["3"]], pa.list_(pa.string())),
    ],
    ids=["python", "list", "large", "slice", "strings"],
)
def test_lists_of_numbers(cells):
    values, counts, bad = lists(cells)
    np.testing.assert_array_equal(values, [1.0, 0.5, NOT, 2.0, 3.0])
    assert counts.tolist() == [2, 0, 0, 2, 1]
    assert bad == []


@pytest.mark.parametrize("cells", [[[1.0], "great", ["x"], 3, [4]], pa.array(["[1.0]", "great"])])
def test_what_is_no_list_of_numbers(cells):
    values, counts, bad = lists(cells)
    assert bad == ([1, 2, 3] if isinstance(cells, list) else [0, 1])
    assert values.tolist() == ([1.0, 4.0] if isinstance(cells, list) else [])
    assert counts.sum() == len(values)
