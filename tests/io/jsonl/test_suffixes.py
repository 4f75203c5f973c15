"""New columns as JSON text: what `json.dumps` writes, value by value."""

import json
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advcli.io.jsonl import suffixes as suffixes_module
from advcli.io.jsonl.suffixes import Suffixes

FLOATS = st.floats(allow_nan=False) | st.sampled_from(
    [
        0.0,
        -0.0,
        1.0,
        -3.0,
        1e15,
        1e16,
        1e17,
        999999999999999.0,
        1e-4,
        9.9e-5,
        1e-5,
        1e-7,
        5e-324,
        math.inf,
        2.0**53,
        1e22,
    ]
)


@given(st.lists(st.none() | FLOATS, max_size=30))
def test_floats_are_written_as_python_writes_them(values):
    found = Suffixes(pa.table({"a": pa.array(values, pa.float64())})).take(len(values))
    assert found.to_pylist() == [f'"a": {json.dumps(value)}'.encode() for value in values]


def test_many_floats_of_every_size():
    rng = np.random.default_rng(0)
    values = (rng.standard_normal(20_000) * 10.0 ** rng.integers(-20, 20, 20_000)).tolist()
    found = Suffixes(pa.table({"a": values})).take(len(values)).to_pylist()
    assert found == [f'"a": {json.dumps(value)}'.encode() for value in values]


COLUMNS = {
    "b": [True, None, False],
    "i": [2**62, None, -1],
    "list": [[0.5, None], None, []],
    "odd \u00e9 name": [1.5, 2.0, None],
}


def test_every_kind_of_column():
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]
    expected = [json.dumps(row)[1:-1].encode() for row in rows]
    assert list(Suffixes(pa.table(COLUMNS))) == expected
    assert Suffixes(pa.table(COLUMNS)).take(9).to_pylist() == expected


@pytest.mark.parametrize("rows", [1, 7, 100_000])
@pytest.mark.parametrize("takes", [(3, 0, 5000, 1), (1,) * 10, (9000, 2), (6, 6, 6)])
def test_one_by_one_and_at_once_go_on_from_the_same_place(takes, rows, monkeypatch):
    monkeypatch.setattr("advcli.io.jsonl.suffixes._ROWS", rows)
    table = pa.concat_tables([pa.table({"i": range(k, k + 5000)}) for k in (0, 5000)])
    suffixes, found = Suffixes(table), []
    for rows in takes:
        found += suffixes.take(rows).to_pylist()
        found.append(next(suffixes))
    assert found == [f'"i": {place}'.encode() for place in range(len(found))]


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
def test_it_tells_how_many_rows_are_done(rows, monkeypatch):
    monkeypatch.setattr("advcli.io.jsonl.suffixes._ROWS", rows)
    told = []
    suffixes = Suffixes(pa.table({"i": range(5)}), told.append)
    next(suffixes)
    suffixes.take(2)
    assert told[-1] == 3
    suffixes.take(9)
    assert told[-1] == 5
    assert told == sorted(told)


def test_the_end():
    suffixes = Suffixes(pa.table({"i": [1]}))
    assert next(suffixes) == b'"i": 1'
    assert next(suffixes, None) is None
    assert len(suffixes.take(1)) == 0


def test_parts_are_made_together(monkeypatch):
    """Of small files one call makes the texts; each file sees its own rows only."""
    made, plain = [], suffixes_module._texts
    monkeypatch.setattr(suffixes_module, "_texts", lambda added: made.append(len(added)) or plain(added))
    monkeypatch.setattr(suffixes_module, "_ROWS", 6)
    done = []
    whole = Suffixes(pa.table({"i": range(13)}), done.append)
    parts = [whole.part(start, rows) for start, rows in ((0, 2), (2, 0), (2, 3), (5, 8))]
    assert [next(parts[0]), *parts[0].take(5).to_pylist()] == [b'"i": 0', b'"i": 1']
    assert (next(parts[1], None), parts[1].left, parts[2].left) == (None, False, True)
    assert parts[2].take(9).to_pylist() == [b'"i": 2', b'"i": 3', b'"i": 4']
    assert list(parts[3]) == [f'"i": {row}'.encode() for row in range(5, 13)]
    assert made == [6, 6, 1]
    assert done == sorted(done)
    assert done[-1] == 13
