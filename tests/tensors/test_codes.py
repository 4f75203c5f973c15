"""Numbering by runs, beside a plain dictionary."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advcli.tensors import codes as runs
from advcli.tensors.codes import first_rows, met_with_several, numbered, paired, places

RUNS = st.lists(
    st.tuples(st.integers(0, 4) | st.sampled_from([-(2**62), 2**62]), st.integers(1, 6)), max_size=20
).map(lambda runs: [value for value, length in runs for _ in range(length)])


@pytest.fixture(autouse=True, scope="module")
def few():
    """Pieces of three rows, so that what is found goes over their edges."""
    before, runs._FEW = runs._FEW, 3
    yield
    runs._FEW = before


def in_order(values):
    known = {}
    return [known.setdefault(value, len(known)) for value in values]


@given(RUNS)
def test_numbers_follow_the_first_appearance(values):
    found = numbered(np.array(values, dtype=np.int64))
    assert found.tolist() == in_order(values)
    assert found.dtype == np.int64


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=30))
def test_pairs_are_numbered_as_tuples(pairs):
    first, second = (np.array([pair[k] for pair in pairs], dtype=np.int64) for k in (0, 1))
    assert paired(first, second).tolist() == in_order(pairs)
    seconds = {}
    for a, b in pairs:
        seconds.setdefault(a, set()).add(b)
    assert met_with_several(first, second) == sum(len(found) > 1 for found in seconds.values())


@given(st.lists(st.integers(0, 5), max_size=30))
def test_first_rows(values):
    codes = in_order(values)
    assert first_rows(np.array(codes, dtype=np.int64)).tolist() == [
        codes.index(code) for code in sorted(set(codes))
    ]


@pytest.mark.parametrize("values", [[0], [-(2**63)], [2**63 - 1, -(2**63)]])
def test_the_ends_of_int64(values):
    assert numbered(np.array(values)).tolist() == list(pd.factorize(np.array(values))[0])


@given(
    st.lists(st.integers(-2, 4) | st.sampled_from([2**31 - 1, 2**31, -(2**31), -(2**40), 2**62]), max_size=30)
)
def test_rows_in_order_of_their_codes(codes):
    expected = sorted(range(len(codes)), key=lambda row: (codes[row], row))
    assert runs.in_order(np.array(codes, dtype=np.int64)).tolist() == expected


@pytest.mark.parametrize("codes", [[5, -(2**40), 5, 2**40], [-(2**40), 5], [2**40, 5, -1]])
def test_codes_of_more_than_half_a_number(codes):
    assert runs.in_order(np.array(codes)).tolist() == sorted(range(len(codes)), key=lambda row: codes[row])


@given(st.lists(st.integers(-1, 4), max_size=30))
def test_how_many_of_a_code_stand_before(codes):
    found = places(np.array(codes, dtype=np.int64))
    assert found.dtype == np.int64
    assert found.tolist() == [codes[:row].count(code) for row, code in enumerate(codes)]


def test_pairs_of_numbers_that_no_float_tells_apart():
    assert paired(np.array([0, 0]), np.array([2**53, 2**53 + 1])).tolist() == [0, 1]
