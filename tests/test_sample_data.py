"""The bundled sample is what its README says, and what its script makes."""

import importlib.util
import json
from pathlib import Path

import pandas as pd
import pytest

FOLDER = Path(__file__).parent.parent / "sample_data"


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return pd.read_parquet(FOLDER / "rewards.parquet")


def test_script_makes_the_same_files(tmp_path, frame):
    spec = importlib.util.spec_from_file_location("make", FOLDER / "make.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    make.main(tmp_path)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "rewards.parquet"), frame)
    for name in ("rewards.jsonl", "tokens.jsonl"):
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes()


def test_both_files_hold_the_same_rows(frame):
    rows = [json.loads(line) for line in (FOLDER / "rewards.jsonl").read_text(encoding="utf-8").splitlines()]
    pd.testing.assert_frame_equal(pd.DataFrame(rows), frame, check_dtype=False)


def test_lists_are_as_long_as_each_other(frame):
    rows = [json.loads(line) for line in (FOLDER / "tokens.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["prompt_id"] for row in rows] == frame["prompt_id"][:64].tolist()
    assert all(len(row["values"]) == len(row["kl"]) >= 3 for row in rows)


def test_what_is_in_it_on_purpose(frame):
    groups = frame.groupby("prompt_id")["reward"]
    sizes = groups.size()
    assert len(sizes) == 64
    assert frame["step"].nunique() == 4
    assert sizes.value_counts().to_dict() == {8: 62, 5: 1, 1: 1}
    assert frame["reward"].isna().sum() == 4
    dead = groups.nunique().eq(1) & groups.count().gt(1)
    assert set(groups.max()[dead]) == {0.0, 1.2}
    parts = frame["accuracy_reward"] + frame["format_reward"]
    pd.testing.assert_series_equal(parts, frame["reward"], check_names=False)
