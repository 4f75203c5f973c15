"""Codes of keys: compared as text, numbered in order of appearance, whatever type a batch has."""

import datetime
import decimal
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advcli.io.collect import keys
from advcli.io.collect.keys import Coder, digests, key_text


def coded(*batches):
    """The codes of some batches."""
    coder = Coder()
    for cells in batches:
        coder.add(cells)
    return coder.codes()


LONG = "x" * 70
KEYS = {
    # Each with its cells and codes.
    "long ids": ([f"{1:035}", f"{11:035}", f"{1:035}"], [0, 1, 0]),
    "zeros": (["0005", "005", "5"], [0, 1, 2]),
    "null": (["a", None, "a", ""], [0, -1, 0, 1]),
    "case and blanks": (["a", "A", "a ", " a"], [0, 1, 2, 3]),
    "composed and decomposed": (["é", "e\u0301"], [0, 1]),
    "long texts": ([LONG + "a", LONG + "b", LONG + "a", LONG], [0, 1, 0, 2]),
    "order of appearance": (["c", "a", "b", "a"], [0, 1, 2, 1]),
}
TYPES = {
    "list": lambda cells: cells,
    "arrow": pa.array,
    "dictionary": lambda cells: pa.array(cells).dictionary_encode(),
    "large": lambda cells: pa.array(cells, pa.large_string()),
    "view": lambda cells: pa.array(cells, pa.string_view()),
}


@pytest.mark.parametrize("make", TYPES)
@pytest.mark.parametrize("case", KEYS)
def test_equal_values_have_one_code(case, make):
    cells, codes = KEYS[case]
    found = coded(TYPES[make](cells))
    assert (found.dtype, found.tolist()) == (np.int64, codes)


@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("null", [False, True])
def test_rows_that_mostly_differ_from_the_one_before_them(runs, null, monkeypatch):
    monkeypatch.setattr(keys, "_SAMPLED", 4)
    cells = [f"p{row // runs % 5}" for row in range(20)]
    cells[7] = None if null else cells[7]
    known = {}
    expected = [-1 if cell is None else known.setdefault(cell, len(known)) for cell in cells]
    assert coded(pa.array(cells), pa.array(cells[:3])).tolist() == [*expected, *expected[:3]]
    numbers = [None if cell is None else int(cell[1:]) for cell in cells]
    assert coded(pa.array(numbers)).tolist() == expected
    coder = Coder()
    assert coder.add(pa.array(cells)).tolist() == [cell is None for cell in cells]
    (lengths,) = coder._lengths
    assert lengths is None if runs == 1 else len(lengths) == 7 + 2 * null


@pytest.mark.parametrize("make", [list, pa.array])
def test_chat_messages_are_keys(make):
    chats = [[{"role": "user", "content": text}] for text in ("Hi", "Ho", "Hi")]
    assert coded(make(chats)).tolist() == [0, 1, 0]


MIXED = [
    # cells of one key
    [5, "5", 5.0, np.int64(5)],
    [None, math.nan],
    [-0.0, 0, "0"],
    [True, "True"],
    [10**30, str(10**30)],
    [[1, {"b": 2, "a": 1}], [1, {"a": 1, "b": 2}]],
    ["9" * 5000, "9" * 5000],
]


@pytest.mark.parametrize("cells", MIXED, ids=lambda cells: str(cells)[:60])
def test_a_value_is_compared_as_text(cells):
    assert len(set(coded(cells).tolist())) == 1


@pytest.mark.parametrize(
    "cells",
    [
        [5, "05"],
        [5, 5.5],
        [1, True],
        ["a", ["a"]],
        [2**53, 2**53 + 1],
        [{"a": 1}, {"a": 2}],
        ["", " "],
    ],
    ids=str,
)
def test_other_values_are_other_keys(cells):
    assert coded(cells).tolist() == [0, 1]


def test_codes_go_on_over_batches_and_types():
    coder = Coder()
    batches = [
        ["b", "a"],
        pa.array(["a", None, "c"]),
        pa.array([7, 7]),
        pa.array(["7", "c"]).dictionary_encode(),
        pa.nulls(1),
        [],
        pa.array(["x"])[:0],
    ]
    nulls = [coder.add(batch).tolist() for batch in batches]
    assert nulls == [[False] * 2, [False, True, False], [False] * 2, [False] * 2, [True], [], []]
    assert coder.codes().tolist() == [0, 1, 1, -1, 2, 3, 3, 3, 2, -1]
    assert coder.names() == ["b", "a", "c", "7"]


def test_integers_before_and_after_a_text_are_keys_as_text():
    coder = Coder()
    batches = (pa.array([5, 6, None, 5]), pa.array(["5", "x"]), pa.array([6, 7]), [7, "y", 5])
    assert [coder.add(batch).tolist() for batch in batches] == [
        [False, False, True, False],
        [False, False],
        [False, False],
        [False, False, False],
    ]
    assert coder.codes().tolist() == [0, 1, -1, 0, 0, 2, 1, 3, 3, 4, 0]
    assert coder.names() == ["5", "6", "x", "7", "y"]


def test_without_rows_there_are_no_codes():
    assert (Coder().codes().tolist(), Coder().names()) == ([], [])


def test_the_name_of_a_long_key_is_its_beginning():
    coder = Coder()
    coder.add(["ü" * 40, "a" + "ü" * 40])
    assert coder.names() == ["ü" * 32, "a" + "ü" * 31]


def test_a_long_key_is_never_held():
    coder = Coder()
    coder.add(pa.array(["x" * 10_000_000]))
    assert coder._texts._words.nbytes < 100_000


ODD = st.one_of(
    st.none(),
    st.text(max_size=3),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.booleans(),
    st.text(min_size=60, max_size=70),
)


@given(st.lists(st.lists(ODD.flatmap(lambda value: st.lists(st.just(value), max_size=3))), max_size=4))
def test_runs_and_digests_give_the_codes_of_a_plain_dictionary(batches):
    """The same rows, value by value through a dictionary of texts."""
    cells = [[value for run in batch for value in run] for batch in batches]
    known, expected = {}, []
    for value in (value for batch in cells for value in batch):
        missing = value is None or value != value
        expected.append(-1 if missing else known.setdefault(key_text(value), len(known)))
    assert coded(*cells).tolist() == expected


@given(
    st.lists(
        st.lists(st.none() | st.text(max_size=2) | st.text("ab", min_size=63, max_size=66), max_size=20),
        max_size=4,
    ),
    st.sampled_from(
        [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
    ),
)
def test_arrow_texts_have_the_codes_of_python_texts(batches, type_):
    assert coded(*(pa.array(cells, type_) for cells in batches)).tolist() == coded(*batches).tolist()


@pytest.mark.parametrize(
    "array",
    [
        pa.array([1, 2, 1, None], pa.int8()),
        pa.array([2**64 - 1, 2**64 - 2, 2**64 - 1, None], pa.uint64()),
        pa.array([0.5, 1.5, 0.5, None], pa.float32()),
        pa.array([b"a", b"b", b"a", None]),
        pa.array([b"a", b"b", b"a", None], pa.binary(1)),
        pa.array([True, False, True, None]),
        pa.array([0, 1, 0, None], pa.timestamp("ns", "UTC")),
        pa.array([0, 1, 0, None], pa.date32()),
        pa.array([decimal.Decimal(1), decimal.Decimal(2), decimal.Decimal(1), None], pa.decimal128(38, 0)),
        pa.array([{"a": 1}, {"a": None}, {"a": 1}, None]),
        pa.array([[("k", 1)], [("k", 2)], [("k", 1)], None], pa.map_(pa.string(), pa.int8())),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None], pa.int8()), ["a", "b", "a"]),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, None], pa.uint64()), ["a", "b"]),
        pa.array(["z", "a", "b", "a", None])[1:],
    ],
    ids=lambda array: str(array.type),
)
def test_keys_of_every_arrow_type(array):
    assert coded(array).tolist() == [0, 1, 0, -1]


def test_a_full_dictionary_leaves_room_for_null():
    """128 values are all that an int8 index counts; the code of null must not wrap around."""
    array = pa.DictionaryArray.from_arrays(
        pa.array([*range(128), None], pa.int8()), [f"{i}" for i in range(128)]
    )
    assert coded(array).tolist() == [*range(128), -1]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("00", "00"),
        (12, "12"),
        (12.0, "12"),
        (1e22, "10000000000000000000000"),
        (0.1, "0.1"),
        (False, "False"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        ([{"b": "ü", "a": None}], '[{"b": "ü"}]'),
    ],
)
def test_key_text(value, text):
    assert key_text(value) == text


def test_digests_are_the_same_whatever_wrote_the_value():
    chat = [{"role": "user", "content": "Hi"}]
    parquet = pa.array([chat, None, chat])
    lists = digests(parquet).tolist()
    assert lists == digests([[{"content": "Hi", "role": "user"}], None, chat]).tolist()
    assert lists[0] == lists[2] > 0
    assert lists[1] == -1
    assert digests(pa.array([5, 7])).tolist() == digests(["5", 7.0]).tolist()
    long = "q" * 100
    one, two, text = digests([long + "1", long + "2", long[:64]]).tolist()
    assert len({one, two, text}) == 3
    assert (digests([str(k) for k in range(1000)]) >= 0).all()


def test_each_code_has_a_digest_that_is_the_same_in_any_column():
    long = "q" * 100
    here, there = Coder(), Coder()
    here.add(pa.array(["a", "5", None, long + "1"]))
    there.add([long + "1", 5])
    there.add(["a", long + "2"])
    a, five, one = here.digests().tolist()
    assert there.digests()[:3].tolist() == [one, five, a]
    assert len({tuple(digest) for digest in there.digests().tolist()}) == 4
