"""The file of a sweep: whole or not at all."""

import csv
import json

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from advcli.common.errors import DataError, UsageError
from advcli.io import tables

ROWS = [
    {"estimator": "grpo", "like": None, "mean_abs": 0.1 + 0.2},
    {"estimator": "a,b", "like": "trl", "mean_abs": float("nan")},
]


def test_json_lines_keep_every_digit(tmp_path):
    path = tmp_path / "s.jsonl"
    tables.write(path, ROWS, force=False)
    read = [json.loads(line) for line in path.read_text().splitlines()]
    assert read == [{**ROWS[0], "mean_abs": pytest.approx(0.3, abs=1e-15)}, {**ROWS[1], "mean_abs": None}]


def test_commas_in_a_name_are_quoted(tmp_path):
    tables.write(tmp_path / "s.csv", ROWS, force=False)
    assert (tmp_path / "s.csv").read_text().splitlines()[2] == '"a,b",trl,'


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="there is no folder"):
        tables.check(tmp_path / "no" / "s.csv", (), force=False)
    with pytest.raises(UsageError, match=r"expected \.parquet, \.csv, \.jsonl"):
        tables.check(tmp_path / "s", (), force=False)


ODD = ["x\ry", "a\nb", 'say "x"', " x ", "=1+1", "+x", "-x", "@x", "\tx", "\ud800", "a,b", "", "'x"]


def test_every_cell_of_a_csv_is_read_back_as_one_and_none_is_a_formula(tmp_path):
    path = tmp_path / "s.csv"
    tables.write(path, {"=text": ODD, "number": [-0.5] * len(ODD)}, force=False)
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["'=text", "number"]
    assert [row[1] for row in rows] == ["-0.5"] * len(ODD)
    for cell, (read, _) in zip(ODD, rows, strict=True):
        plain = cell.replace("\ud800", r"\ud800")
        assert read == (f"'{plain}" if plain.startswith(tuple("=+-@\t")) else plain)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_no_form_holds_infinity_or_half_a_character(tmp_path, suffix):
    path = tmp_path / f"s{suffix}"
    tables.write(path, [{"a": "\ud800", "b": float("inf")}, {"a": "x", "b": 0.1 + 0.2}], force=False)
    if suffix == ".parquet":
        assert pq.read_table(path).to_pylist() == [{"a": r"\ud800", "b": None}, {"a": "x", "b": 0.1 + 0.2}]
    else:
        text = path.read_text(encoding="utf-8")
        assert "Infinity" not in text
        assert "inf" not in text
        assert "0.30000000000000004" in text


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_arrays_are_columns_too(tmp_path, suffix):
    path = tmp_path / f"s{suffix}"
    columns = {
        "rows": np.array([2, 3]),
        "half": np.array([0.5, 1.0], dtype=np.float32),
        "is": torch.tensor([True, False]),
        "step": np.array(["1", ""], dtype=object),
    }
    tables.write(path, columns, force=False)
    expected = [
        {"rows": 2, "half": 0.5, "is": True, "step": "1"},
        {"rows": 3, "half": 1.0, "is": False, "step": ""},
    ]
    if suffix == ".csv":
        assert path.read_text() == "rows,half,is,step\n2,0.5,True,1\n3,1.0,False,\n"
    elif suffix == ".jsonl":
        assert [json.loads(line) for line in path.read_text().splitlines()] == expected
    else:
        assert pq.read_table(path).to_pylist() == expected


@pytest.mark.parametrize(
    "cells", [[float("nan")] * 2, [None, float("nan")], np.full(2, np.nan), torch.full((2,), torch.nan)]
)
def test_numbers_that_are_all_undefined_are_numbers_in_parquet(tmp_path, cells):
    tables.write(tmp_path / "s.parquet", {"prompt": ["p", "q"], "change": cells}, force=False)
    read = pq.read_table(tmp_path / "s.parquet")
    assert str(read.schema.field("change").type) == "double"
    assert read["change"].to_pylist() == [None, None]
