"""From one layout to the other: every value as it was, or as the text that says it."""

import base64
import datetime
import decimal
import gzip
import io
import json
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advcli.common.errors import DataError
from advcli.io import convert
from advcli.pipeline.compute import Output, compute
from advcli.pipeline.request import Request
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions

NEW = ["adv_original", "adv_processed", "adv_kept", "adv_group"]
HALF = 0.5**0.5


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Compute from one file to another and give back the bytes of the other."""
    monkeypatch.chdir(tmp_path)

    def convert_(source, out, *, skip=False, **columns):
        compute(
            Request((source,), Settings(), ColumnOptions(**columns), skip_bad_rows=skip),
            Output(out, force=True),
        )
        return (tmp_path / out).read_bytes()

    return convert_


def strict(line):
    return json.loads(line, parse_constant=lambda word: pytest.fail(f"{word} in strict JSON"))


# Parquet to JSON Lines.

TO_JSON = {
    # id: (array of two cells, what JSON says of the first)
    "string": (pa.array(['é"\\\u2028\n\x00😀', None]), 'é"\\\u2028\n\x00😀'),
    "large string": (pa.array(["x", None], pa.large_string()), "x"),
    "dictionary": (pa.array(["x", None]).dictionary_encode(), "x"),
    "bool": (pa.array([True, None]), True),
    "int64": (pa.array([2**63 - 1, None]), 2**63 - 1),
    "uint64": (pa.array([2**64 - 1, None], pa.uint64()), 2**64 - 1),
    "float64": (pa.array([0.1, None]), 0.1),
    "smallest float": (pa.array([5e-324, None]), 5e-324),
    "negative zero": (pa.array([-0.0, None]), -0.0),
    "float32": (pa.array([0.1, None], pa.float32()), 0.10000000149011612),
    "float16": (pa.array([np.float16(1.5), None], pa.float16()), 1.5),
    "NaN": (pa.array([math.nan, None]), None),
    "inf": (pa.array([-math.inf, None]), None),
    "null": (pa.nulls(2), None),
    "decimal": (pa.array([decimal.Decimal("-1.10"), None], pa.decimal128(38, 2)), "-1.10"),
    "timestamp ns": (pa.array([1, None], pa.timestamp("ns")), "1970-01-01T00:00:00.000000001"),
    "timestamp with zone": (
        pa.array(
            [datetime.datetime(2026, 7, 1, tzinfo=datetime.UTC), None], pa.timestamp("us", "Europe/Berlin")
        ),
        "2026-07-01T02:00:00+02:00",
    ),
    "date": (pa.array([datetime.date(2026, 1, 2), None]), "2026-01-02"),
    "time": (pa.array([1_000_001, None], pa.time64("us")), "00:00:01.000001"),
    "binary": (pa.array([b"\xff\x00", None]), base64.b64encode(b"\xff\x00").decode()),
    "fixed size binary": (pa.array([b"\xff\x00", None], pa.binary(2)), "/wA="),
    "list": (pa.array([[1, None], None]), [1, None]),
    "empty list": (pa.array([[], None], pa.list_(pa.int8())), []),
    "struct": (pa.array([{"a": {"b": math.nan}, "c": b"x"}, None]), {"a": {"b": None}, "c": "eA=="}),
    "list of struct": (
        pa.array([[{"role": "user", "content": "é"}], None]),
        [{"role": "user", "content": "é"}],
    ),
    "map": (pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int8())), [["k", 1]]),
}


@pytest.mark.parametrize("case", TO_JSON.values(), ids=TO_JSON)
def test_a_parquet_cell_in_json(run, case):
    array, expected = case
    pq.write_table(pa.table({"x": array, "prompt_id": ["a", "a"], "reward": [0.0, 1.0]}), "a.parquet")
    first, second = map(strict, run("a.parquet", "out.jsonl").splitlines())
    assert list(first) == ["x", "prompt_id", "reward", *NEW]
    assert (first["x"], type(first["x"])) == (expected, type(expected))
    assert repr(first["x"]) == repr(expected)
    assert second["x"] is None
    assert (first["adv_original"], second["adv_original"]) == pytest.approx((-HALF, HALF))
    assert (second["prompt_id"], second["reward"], second["adv_group"]) == ("a", 1.0, 0)


def test_rows_of_several_batches_and_groups(run):
    count = 5000
    table = pa.table(
        {"prompt_id": [i % 7 for i in range(count)], "reward": [float(i % 5) for i in range(count)]}
    )
    pq.write_table(table, "a.parquet", row_group_size=1500)
    written = [strict(line) for line in run("a.parquet", "out.jsonl").splitlines()]
    assert [{name: row[name] for name in table.column_names} for row in written] == table.to_pylist()
    assert [row["adv_group"] for row in written] == [i % 7 for i in range(count)]


# JSON Lines to parquet.


@pytest.fixture(params=[1024, 1], ids=["one chunk", "a chunk each"])
def to_parquet(run, tmp_path, monkeypatch, request):
    """Write values as the field x of rows, and read x from the parquet file that comes out."""
    monkeypatch.setattr(convert, "_BATCH", request.param)

    def convert_(texts):
        rows = (f'{{"prompt_id": "a", "reward": 0, "x": {text}}}\n' for text in texts)
        (tmp_path / "a.jsonl").write_text("".join(rows), encoding="utf-8")
        table = pq.read_table(pa.BufferReader(run("a.jsonl", "out.parquet")))
        return table["x"].type, table["x"].to_pylist()

    return convert_


TYPED = {
    # id: (JSON texts, type, cells)
    "integers": (["1", "-9223372036854775808", "null"], pa.int64(), [1, -(2**63), None]),
    "floats": (["0.1", "-0.0", "5e-324"], pa.float64(), [0.1, -0.0, 5e-324]),
    "integers and floats": (["1", "2.5", "9007199254740992"], pa.float64(), [1.0, 2.5, 2.0**53]),
    "floats and infinities": (["1.5", "Infinity", "-Infinity"], pa.float64(), [1.5, math.inf, -math.inf]),
    "strings": (['"é\\u2028\\u0000"', '""', "null"], pa.string(), ["é\u2028\x00", "", None]),
    "digits as strings": (['"007"', '"7"'], pa.string(), ["007", "7"]),
    "dates as strings": (
        ['"2026-01-02"', '"2026-01-02T03:04:05Z"'],
        pa.string(),
        ["2026-01-02", "2026-01-02T03:04:05Z"],
    ),
    "booleans": (["true", "false", "null"], pa.bool_(), [True, False, None]),
    "nulls": (["null", "null"], pa.null(), [None, None]),
    "lists": (["[1, null]", "[]", "null"], pa.list_(pa.field("element", pa.int64())), [[1, None], [], None]),
    "empty lists": (["[]", "[]"], pa.list_(pa.field("element", pa.null())), [[], []]),
    "objects": (
        ['{"a": 1}', '{"a": 2, "b": "x"}', '{"c": [1.5]}'],
        pa.struct({"a": pa.int64(), "b": pa.string(), "c": pa.list_(pa.field("element", pa.float64()))}),
        [{"a": 1, "b": None, "c": None}, {"a": 2, "b": "x", "c": None}, {"a": None, "b": None, "c": [1.5]}],
    ),
    "chat": (
        ['[{"role": "user", "content": "Hi"}]', "[]"],
        pa.list_(pa.field("element", pa.struct({"role": pa.string(), "content": pa.string()}))),
        [[{"role": "user", "content": "Hi"}], []],
    ),
}


@pytest.mark.parametrize("case", TYPED.values(), ids=TYPED)
def test_a_json_value_in_parquet(to_parquet, case):
    texts, type_, cells = case
    found, values = to_parquet(texts)
    assert found == type_
    assert repr(values) == repr(cells)


AS_TEXT = {
    "number and string": ["1", '"1"'],
    "boolean and number": ["true", "1", "0.5"],
    "number and list": ["1", "[1]"],
    "object and list": ['{"a": 1}', "[1]"],
    "object of other types": ['{"a": 1}', '{"a": "1"}'],
    "list of other types": ["[1]", '["1"]', '[1, "1"]'],
    "empty object": ["{}", "{}", "null"],
    "nested empty object": ['{"a": {}}', "[{}]", '{"a": []}'],
    "beyond 64 bits": ["18446744073709551615", "1"],
    "30 digits": ["123456789012345678901234567890", "-1"],
    "not a double": ["9007199254740993", "0.5"],
    "not a double inside": ["[9007199254740993]", "[0.5]"],
    "lone surrogate": [r'"\ud800"', '"x"'],
}


@pytest.mark.parametrize("texts", AS_TEXT.values(), ids=AS_TEXT)
def test_values_without_a_common_type_stay_json(to_parquet, texts):
    """A double would round them, and a string would not say what was a string."""
    found, values = to_parquet(texts)
    assert found == pa.string()
    read = [value and json.loads(value) for value in values]
    expected = [json.loads(text) for text in texts]
    assert read == expected
    assert [type(value) for value in read] == [type(value) for value in expected]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=1), inner, max_size=2),
    max_leaves=6,
)


def without_nulls(value):
    """A parquet struct has every field in every row: a missing one and a null one are the same."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if without_nulls(item) is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


@settings(max_examples=80, deadline=None)
@given(cells=st.lists(JSON, min_size=1, max_size=4))
def test_no_value_is_lost_on_the_way_to_parquet(cells):
    sink = pa.BufferOutputStream()
    added = pa.table({"n": range(len(cells))})
    convert.jsonl_to_parquet(lambda: iter([{"x": cell} for cell in cells]), added, sink, {"k": "v"}, "a")
    table = pq.read_table(pa.BufferReader(sink.getvalue()))
    assert table["n"].to_pylist() == list(range(len(cells)))
    assert table.schema.metadata[b"k"] == b"v"
    if table["x"].type == pa.string() and not all(cell is None or isinstance(cell, str) for cell in cells):
        found = [None if text is None else json.loads(text) for text in table["x"].to_pylist()]
        assert repr(found) == repr(cells)
    else:
        assert without_nulls(table["x"].to_pylist()) == without_nulls(cells)


def test_fields_in_order_of_first_appearance(run, tmp_path):
    rows = [{"b": 1, "reward": 1, "prompt_id": "p"}, {"a": 1, "prompt_id": "p", "reward": 0, "b": None}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = pq.read_table(pa.BufferReader(run("a.jsonl", "out.parquet")))
    assert table.column_names == ["b", "reward", "prompt_id", "a", *NEW]
    assert table["b"].to_pylist() == [1, None]
    assert table["a"].to_pylist() == [None, 1]
    assert table["adv_original"].to_pylist() == pytest.approx([HALF, -HALF])
    assert json.loads(table.schema.metadata[b"advcli/adv_"])["estimator"] == "grpo"


def test_new_columns_line_up_over_chunks(run, tmp_path, monkeypatch):
    monkeypatch.setattr(convert, "_BATCH", 3)
    keys = [0, 1, 0, 2, 1, 2, 2, 0, 1, 0]
    (tmp_path / "a.jsonl").write_text("".join(f'{{"prompt_id": {key}, "reward": 1}}\n' for key in keys))
    table = pq.read_table(pa.BufferReader(run("a.jsonl", "out.parquet")))
    assert table["prompt_id"].to_pylist() == table["adv_group"].to_pylist() == keys


def test_skipped_rows(run, tmp_path):
    lines = [
        '{"prompt_id": "a", "reward": 1}',
        "oops",
        '{"prompt_id": null, "reward": 1}',
        '{"prompt_id": "a", "reward": 0}',
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    table = pq.read_table(pa.BufferReader(run("a.jsonl", "out.parquet", skip=True)))
    assert table["prompt_id"].to_pylist() == ["a", None, "a"]
    assert table["adv_group"].to_pylist() == [0, None, 0]
    assert table["adv_original"].to_pylist() == pytest.approx([HALF, None, -HALF])
    assert table["adv_kept"].to_pylist() == [True, False, True]


def test_compressed_outputs(run, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"prompt_id": "a", "reward": 1}\n{"prompt_id": "a", "reward": 0}\n')
    plain = run("a.jsonl", "out.jsonl")
    assert gzip.decompress(run("a.jsonl", "out.jsonl.gz")) == plain
    run("a.jsonl", "out.jsonl.zst")
    with pa.input_stream(str(tmp_path / "out.jsonl.zst"), compression="zstd") as file:
        assert file.read() == plain
    table = pq.read_table(pa.BufferReader(gzip.decompress(run("a.jsonl", "out.parquet.gz"))))
    assert table.column_names == ["prompt_id", "reward", *NEW]
    run("a.jsonl", "out.parquet.zst")
    with pa.input_stream(str(tmp_path / "out.parquet.zst"), compression="zstd") as file:
        assert pq.read_table(pa.BufferReader(file.read())).equals(table)


def test_there_and_back_again(run, tmp_path):
    frame = pd.DataFrame(
        {"prompt_id": ["007", "007", "é"], "reward": [0.1, 1e-300, None], "n": [2**62, -1, 0]}
    )
    frame.to_parquet(tmp_path / "a.parquet")
    run("a.parquet", "b.jsonl")
    rows = [strict(line) for line in (tmp_path / "b.jsonl").read_text(encoding="utf-8").splitlines()]
    bare = "".join(json.dumps({name: row[name] for name in frame}) + "\n" for row in rows)
    (tmp_path / "c.jsonl").write_text(bare)
    run("c.jsonl", "d.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "d.parquet")[list(frame)], frame)


def test_more_rows_than_before_is_an_error():
    rows, added = [{"x": 1}] * 2, pa.table({"n": [1]})
    with pytest.raises(DataError, match=r"a\.jsonl: the file changed while it was read"):
        convert.jsonl_to_parquet(lambda: iter(rows), added, pa.BufferOutputStream(), {}, "a.jsonl")


@pytest.mark.parametrize(
    ("cells", "kept"),
    [
        ([1.5, True, None], ["1.5", "true", None]),
        ([True, 0], ["true", "0"]),
        ([[1.5], [True]], ["[1.5]", "[true]"]),
        ([{"a": 1.5}, {"a": False}], ['{"a": 1.5}', '{"a": false}']),
        ([True, False], [True, False]),
        ([[True], []], [[True], []]),
        ([1, 2.5], [1.0, 2.5]),
    ],
)
def test_true_among_numbers_stays_true(cells, kept):
    out = io.BytesIO()
    rows = [{"x": cell} for cell in cells]
    added = pa.table({"adv": [0.0] * len(rows)})
    convert.jsonl_to_parquet(lambda: iter(rows), added, out, {}, "a.jsonl")
    assert pq.read_table(io.BytesIO(out.getvalue()))["x"].to_pylist() == kept
