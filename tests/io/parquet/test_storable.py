"""Types that parquet has no room for: read all the same, or refused by the name of their column."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import advcli
from advcli.io.parquet.storable import storable, storable_schema

BASE = pa.table({"prompt_id": ["a", "a", "b", "b"], "reward": [1.0, 0.0, 1.0, 1.0]})
VIEWS = pa.DictionaryArray.from_arrays(pa.array([0, 0, 1, 1]), pa.array(["x", "y"], pa.string_view()))
RUNS = pa.RunEndEncodedArray.from_arrays([2, 4], ["x", "y"])
EMPTY = pa.array([{}, None, {}, {}], pa.struct([]))


def written(column, tmp_path):
    table = pa.table({"x": column})
    schema = storable_schema(table.schema, "t")
    with pq.ParquetWriter(tmp_path / "t.parquet", schema) as writer:
        for batch in table.to_batches():
            writer.write_batch(storable(batch, schema))
    return pq.read_table(tmp_path / "t.parquet")["x"].to_pylist()


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        (VIEWS, ["x", "x", "y", "y"]),
        (RUNS, ["x", "x", "y", "y"]),
        (EMPTY, ["{}", None, "{}", "{}"]),
        (pa.array([[{}], [], None], pa.list_(pa.struct([]))), ["[{}]", "[]", None]),
        (pa.array([1, None]), [1, None]),
    ],
)
def test_the_values_stay(column, cells, tmp_path):
    assert written(column, tmp_path) == cells


@pytest.mark.parametrize("column", [VIEWS, RUNS, EMPTY])
def test_a_frame_and_a_file_with_such_a_column(column, tmp_path):
    table = BASE.append_column("x", column)
    assert advcli.from_frame(table).advantages("grpo", scale="none").original.tolist() == [0.5, -0.5, 0, 0]
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as writer:
        writer.write_table(table)
    assert len(advcli.read(tmp_path / "t.arrow")) == 4


def test_a_prompt_may_be_such_a_column():
    assert (
        advcli.from_frame(pa.table({"prompt_id": VIEWS, "reward": [1.0, 0.0, 1.0, 1.0]}))
        .inspect()
        .dead_groups
        == 1
    )


def test_what_parquet_cannot_hold_is_named():
    odd = pa.array([(1, 2, 3)] * 4, pa.month_day_nano_interval())
    with pytest.raises(
        advcli.DataError, match="frame: column 'x' is of type month_day_nano_interval, which parquet cannot"
    ):
        advcli.from_frame(BASE.append_column("x", odd))
