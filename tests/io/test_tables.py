"""The file of a sweep: whole or not at all."""

import json

import pytest

from advcli.errors import DataError, UsageError
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
