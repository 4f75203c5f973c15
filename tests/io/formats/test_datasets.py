"""Data sets that were saved to disk: Arrow streams in shards and splits."""

import json

import numpy as np
import pyarrow as pa
import pytest

from advcli.io.inputs import opened
from advcli.io.read import read
from advcli.records.table import ColumnOptions

ROWS = {"prompt_id": ["a", "a", "b", "b"], "completion": ["x"] * 4, "reward": [1.0, 0.0, 1.0, 0.5]}


def stream(path, table):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as out:
        out.write_table(table)


def save(folder, *shards):
    folder.mkdir(parents=True)
    names = [f"data-{place:05d}-of-{len(shards):05d}.arrow" for place in range(len(shards))]
    for name, table in zip(names, shards, strict=True):
        stream(folder / name, table)
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": name} for name in names]}))
    (folder / "dataset_info.json").write_text("{}")


def loaded(path):
    with opened([str(path)]) as sources:
        return read(sources, ColumnOptions())


def test_shards_and_what_lies_beside_them(tmp_path):
    table = pa.table({**ROWS, "rewards": [{"acc": {"score": 1.0, "weight": 1.0}, "style": None}] * 4})
    save(tmp_path / "set", table.slice(0, 3), table.slice(3))
    stream(tmp_path / "set" / "cache-12ab.arrow", table)
    # Of an earlier save into the same folder.
    stream(tmp_path / "set" / "data-00000-of-00001.arrow", table)
    found = loaded(tmp_path / "set")
    assert found.choice.format == "hf-datasets"
    assert found.rewards.tolist() == ROWS["reward"]
    assert found.key.tolist() == [0, 0, 1, 1]
    assert "not part of the data set" in found.warnings[0]


@pytest.mark.parametrize("other", ["test", "validation"])
def test_of_several_splits_train_is_read(tmp_path, other):
    for split, rewards in (("train", ROWS["reward"]), (other, [0.25] * 4)):
        save(tmp_path / split, pa.table({**ROWS, "reward": rewards}))
    assert loaded(tmp_path).rewards.tolist() == ROWS["reward"]
    assert loaded(tmp_path / other).rewards.tolist() == [0.25] * 4


def test_its_columns_say_what_they_mean(tmp_path):
    columns = {"step": [1] * 4, "prompt": ["a"] * 4, "completion": ["x"] * 4, "correct": ROWS["reward"]}
    save(tmp_path / "set", pa.table({**columns, "advantage": [0.5, -0.5, 0.5, 0.0]}))
    found = loaded(tmp_path / "set")
    assert (found.choice.format, found.choice.logged) == ("hf-datasets", "advantage")
    assert found.rewards.tolist() == ROWS["reward"]


def test_scores_with_weights_are_summed_where_there_is_no_total(tmp_path):
    """What becomes of verifiers' rewards: every name in every row, null where a row has none."""
    rewards = [
        {"acc": {"score": 1.0, "weight": 2.0}, "style": None},
        {"acc": {"score": 0.5, "weight": 2.0}, "style": {"score": 1.0, "weight": 0.25}},
        {"acc": None, "style": None},
    ]
    save(tmp_path / "set", pa.table({"prompt_id": ["a"] * 3, "rewards": rewards}))
    np.testing.assert_array_equal(loaded(tmp_path / "set").rewards, [2.0, 1.25, np.nan])


def test_a_stream_of_another_writer_has_no_such_name(tmp_path):
    stream(tmp_path / "x.arrow", pa.table(ROWS))
    assert loaded(tmp_path / "x.arrow").choice.format == "generic"
