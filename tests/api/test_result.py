"""Advantages as tables of every package."""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import advcli

FRAME = pd.DataFrame(
    {"prompt_id": list("aabb"), "reward": [0.0, 1.0, None, 2.0], "note": ["w", "x", "y", None]},
    index=[9, 8, 7, 6],
)
ADDED = ["adv_original", "adv_processed", "adv_kept", "adv_group"]


def test_pandas_keeps_index_and_columns():
    found = advcli.from_frame(FRAME).advantages("rloo").to_pandas()
    pd.testing.assert_frame_equal(
        found[["prompt_id", "reward"]], FRAME[["prompt_id", "reward"]], check_dtype=False
    )
    assert list(found.columns) == [*FRAME.columns, *ADDED]
    assert found["adv_original"].tolist()[:2] == [-1.0, 1.0]
    assert found["adv_original"].isna().tolist() == [False, False, True, True]
    assert found["adv_kept"].tolist() == [True, True, False, False]


def test_some_columns():
    adv = advcli.from_frame(FRAME).advantages("rloo")
    assert adv.to_arrow(["note"]).column_names == ["note", *ADDED]
    assert adv.to_pandas([]).index.tolist() == [9, 8, 7, 6]
    with pytest.raises(advcli.UsageError, match="no column 'nothing'"):
        adv.to_arrow(["nothing"])


def test_polars():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"prompt_id": ["a", "a"], "reward": [0.0, 1.0], "tags": [["x"], ["y", "z"]]})
    found = advcli.from_frame(frame).advantages("rloo").to_polars()
    assert found.drop(ADDED).equals(frame)
    assert found["adv_original"].to_list() == [-1.0, 1.0]


def test_files_of_two_formats_are_one_table(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"prompt_id": "a", "reward": 0}\n{"prompt_id": "a", "reward": 1}\n')
    pq.write_table(pa.table({"prompt_id": ["b", "b"], "reward": [2.0, 4.0]}), tmp_path / "b.parquet")
    table = advcli.read([tmp_path / "a.jsonl", tmp_path / "b.parquet"]).advantages("rloo").to_arrow()
    assert table["adv_original"].to_pylist() == [-1.0, 1.0, -2.0, 2.0]


def test_rows_of_nested_records(tmp_path):
    path = tmp_path / "groups.jsonl"
    path.write_text('{"prompt": "p", "completions": ["x", "y"], "reward": [0.0, 1.0]}\n')
    adv = advcli.read(path).advantages("rloo")
    assert adv.to_arrow()["adv_original"].to_pylist() == [-1.0, 1.0]


def test_writing_into_one_column_changes_no_other():
    adv = advcli.from_frame(FRAME).advantages()
    adv.processed[0] = 7.0
    assert adv.original[0] != 7.0


def test_an_advantage_per_token():
    frame = pd.DataFrame({"prompt_id": ["a", "a"], "reward": [0.0, 1.0], "values": [[0.5], [0.5, 0.25]]})
    adv = advcli.from_frame(frame, tokens={"values": "values"}).advantages("gae", lam=1.0, gamma=1.0)
    assert adv.token_counts.tolist() == [1, 2]
    # With lam = gamma = 1 a token's advantage is the reward less its value; whitening is the trainer's.
    assert adv.tokens.tolist() == [-0.5, 0.5, 0.75]
    assert len(adv) == 2
