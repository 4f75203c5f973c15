"""Exploded parquet, written back as rows or as lists; types and nulls stay."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from advcli.common.errors import DataError
from advcli.io.layouts.arrow import as_lists, lengths, unfolded, without
from advcli.pipeline.compute import Output, compute
from advcli.pipeline.request import Request
from advcli.records.layout import Layout
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions

LISTS = Layout("lists", "r", ("r", "t"), ("p",))
NESTED = Layout("nested", "s", items=("r", "x"))


def batch(**columns):
    return pa.record_batch(columns)


def test_lists():
    data = batch(
        p=pa.array(["a", "b", "c", None]),
        r=pa.array([[1.0, 2.0], [], None, [3.0]], pa.list_(pa.float32())),
        t=pa.array([["x", None], [], ["lost"], None], pa.large_list(pa.string())),
    )
    assert lengths(data, LISTS).tolist() == [2, 0, 0, 1]
    with pytest.raises(
        DataError, match=r"'t' has 1 values where there are 0 rows, expected one per row; try --same"
    ):
        unfolded(data, LISTS)
    done = unfolded(data.take(pa.array([0, 1, 3])), LISTS)
    assert done.to_pydict() == {"p": ["a", "a", None], "r": [1.0, 2.0, 3.0], "t": ["x", None, None]}
    assert done.schema.field("r").type == pa.float32()


def test_a_null_list_in_the_middle():
    data = batch(r=[[1, 2], [3], [4, 5]], t=[["a", "b"], None, ["c", "d"]])
    assert unfolded(data, LISTS).to_pydict()["t"] == ["a", "b", None, "c", "d"]


def test_slices():
    data = batch(p=["a", "b"], r=[[1, 2], [3, 4, 5]], t=[["a", "b"], ["c", "d", "e"]])
    assert unfolded(data.slice(1), LISTS).to_pydict() == {
        "p": ["b"] * 3,
        "r": [3, 4, 5],
        "t": ["c", "d", "e"],
    }


def test_nested():
    data = batch(p=[1, 2], r=[0.5, 0.5], s=[[{"r": 1.0, "x": "a"}, None], [{"r": 0.0, "x": None}]])
    assert unfolded(data, NESTED).to_pydict() == {
        "p": [1, 1, 2],
        "record.r": [0.5] * 3,
        "r": [1.0, None, 0.0],
        "x": ["a", None, None],
    }


def test_what_is_no_list():
    with pytest.raises(DataError, match=r"'s' is string in this file, expected a list"):
        unfolded(batch(s=["[]"]), NESTED)


def test_as_lists():
    rows = batch(a=[0.5, None, 1.5], b=[True, False, True])
    assert as_lists(rows, np.array([2, 0, 1])).to_pydict() == {
        "a": [[0.5, None], [], [1.5]],
        "b": [[True, False], [], [True]],
    }


def test_without():
    assert without(batch(a=[1, 2, 3]), 10, {11, 13}).to_pydict() == {"a": [1, 3]}
    assert without(batch(a=[1, 2]), 10, ()).num_rows == 2


TABLE = pa.table(
    {
        "prompt": ["p", "q"],
        "responses": [["a", "b"], ["c", "d", "e"]],
        "rewards": pa.array([[1.0, 0.0], [0.0, 0.5, 1.0]], pa.list_(pa.float32())),
        "note": [{"k": 1}, {"k": None}],
    }
)


@pytest.mark.parametrize("same_layout", [False, True])
def test_a_file(tmp_path, same_layout):
    pq.write_table(TABLE.replace_schema_metadata({"own": "kept"}), tmp_path / "d.parquet", row_group_size=1)
    request = Request((str(tmp_path / "d.parquet"),), Settings(), ColumnOptions())
    compute(request, Output(str(tmp_path / "out.parquet"), same_layout=same_layout))
    done = pq.read_table(tmp_path / "out.parquet")
    assert done.schema.metadata[b"own"] == b"kept"
    assert b"advcli/adv_" in done.schema.metadata
    if same_layout:
        assert done.select(TABLE.column_names).equals(TABLE)
        assert done["adv_original"].to_pylist()[1] == [-1.0, 0.0, 1.0]
        assert done["adv_group"].to_pylist() == [[0, 0], [1, 1, 1]]
        return
    assert done["prompt"].to_pylist() == ["p"] * 2 + ["q"] * 3
    assert done["responses"].to_pylist() == list("abcde")
    assert done.schema.field("rewards").type == pa.float32()
    assert done["note"].to_pylist() == [{"k": 1}] * 2 + [{"k": None}] * 3
    assert done["adv_source"].to_pylist() == [1, 1, 2, 2, 2]
    assert done["adv_original"].to_pylist()[2:] == [-1.0, 0.0, 1.0]


ONES = pa.table(
    {"prompt": [["p"]] * 4, "rewards": [[1.0], [0.0, 2.0], [0.5], None], "text": [["a"], ["b"], ["c"], ["d"]]}
)
MIXED = pa.table(
    {"prompt": ["p"] * 4, "rewards": [[1.0, 0.0], None, [0.5], []], "text": [["a", "b"], ["x"], ["c"], []]}
)


@pytest.mark.parametrize("same_layout", [False, True])
@pytest.mark.parametrize(
    ("table", "texts", "alone"),
    [(ONES, [["a"], ["c"], ["d"]], [["a"], ["c"], ["d"]]), (MIXED, [["a", "b"], ["c"], []], ["a", "b", "c"])],
    ids=["ones", "lists"],
)
def test_records_that_were_skipped(tmp_path, same_layout, table, texts, alone):
    """A row of the file that is laid out otherwise is left out of the copy, and the others keep their numbers."""
    pq.write_table(table, tmp_path / "d.parquet", row_group_size=2)
    request = Request(
        (str(tmp_path / "d.parquet"),),
        Settings(scale="none"),
        ColumnOptions(layout="ones" if table is ONES else None),
        skip_bad_rows=True,
    )
    report = compute(request, Output(str(tmp_path / "out.parquet"), same_layout=same_layout))
    assert any("1 bad row skipped" in text for text in report.warnings)
    done = pq.read_table(tmp_path / "out.parquet")
    assert done["text"].to_pylist() == (texts if same_layout else alone)
    if table is MIXED and not same_layout:
        assert done["adv_source"].to_pylist() == [1, 1, 3]
        assert done["adv_original"].to_pylist() == [0.5, -0.5, 0.0]
    if table is ONES:
        values = [0.25, -0.25, None]
        assert done["adv_original"].to_pylist() == ([[value] for value in values] if same_layout else values)


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_from_one_format_to_the_other(tmp_path, suffix):
    pq.write_table(TABLE, tmp_path / "d.parquet")
    request = Request((str(tmp_path / "d.parquet"),), Settings(), ColumnOptions())
    compute(request, Output(str(tmp_path / "mid.jsonl")))
    back = Request((str(tmp_path / "mid.jsonl"),), Settings(), ColumnOptions(group_by=("prompt",)))
    compute(back, Output(str(tmp_path / f"out.{suffix}"), prefix="new_"))
    assert (tmp_path / f"out.{suffix}").stat().st_size
