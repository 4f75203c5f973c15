"""Lines are numbered within each source, from 1, whether somebody put them down or not."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from advcli.io.collect.numbering import line_numbers
from advcli.io.inputs import opened
from advcli.io.read import read
from advcli.records.table import ColumnOptions


@pytest.fixture
def table(tmp_path):
    for name, rows in (("a", 3), ("b", 5000), ("c", 2)):
        pq.write_table(
            pa.table({"prompt_id": ["x"] * rows, "reward": [1.0] * rows}), tmp_path / f"{name}.parquet"
        )
    with opened([str(tmp_path)]) as sources:
        yield read(sources, ColumnOptions(prompt="prompt_id", n=5))


def test_rows_of_parquet_are_lines(table):
    expected = [*range(1, 4), *range(1, 5001), 1, 2]
    assert line_numbers(table).tolist() == expected
    assert line_numbers(replace(table, lines=None)).tolist() == expected
    assert [table.place(row).rpartition("/")[2] for row in (2, 3, 5003)] == [
        "a.parquet:3",
        "b.parquet:1",
        "c.parquet:1",
    ]
    assert replace(table, lines=None).place(5004).endswith("c.parquet:2")


def test_lines_that_are_no_rows_count(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"prompt_id": 1, "reward": 1}\n\n{"prompt_id": 1, "reward": 0}\n')
    with opened([str(path)]) as sources:
        found = line_numbers(read(sources, ColumnOptions(n=2)))
    assert (found.tolist(), found.dtype) == ([1, 3], np.int64)
