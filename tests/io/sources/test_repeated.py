"""Rows are counted once, whichever way they come to lie in two files."""

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from advcli.common.errors import DataError
from advcli.io.inputs import opened

LINE = '{"prompt_id": "a", "reward": 1}\n'


def found(*inputs):
    with opened([str(name) for name in inputs]) as sources:
        return [source.path.name for source in sources], " ".join(sources[0].remarks)


def parquet(path, rewards):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"prompt_id": ["a"] * len(rewards), "reward": rewards}), path)


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
@pytest.mark.parametrize("name", ["0.jsonl", "1.jsonl"])
def test_a_compressed_twin(tmp_path, name, codec):
    (tmp_path / name).write_text(LINE * 3)
    tail = {"gzip": ".gz", "zstd": ".zst"}[codec]
    (tmp_path / f"{name}{tail}").write_bytes(pa.compress((LINE * 3).encode(), codec, asbytes=True))
    names, said = found(tmp_path)
    assert names == [name]
    assert f"the same as {name}" in said


@pytest.mark.parametrize(("tail", "codec"), [("gz", "gzip"), ("zst", "zstd")])
def test_a_twin_that_differs_is_refused_by_name(tmp_path, tail, codec):
    (tmp_path / "1.jsonl").write_text(LINE * 3)
    (tmp_path / f"1.jsonl.{tail}").write_bytes(pa.compress((LINE * 2).encode(), codec, asbytes=True))
    with pytest.raises(DataError, match=rf"1\.jsonl and .*1\.jsonl\.{tail} differ"):
        found(tmp_path)


def test_a_copy(tmp_path):
    (tmp_path / "1.jsonl").write_text(LINE)
    (tmp_path / "backup").mkdir()
    shutil.copy(tmp_path / "1.jsonl", tmp_path / "backup/1.jsonl")
    names, said = found(tmp_path)
    assert len(names) == 1
    assert "a copy of" in said


def test_the_same_rows_at_two_steps_are_no_copy(tmp_path):
    for step in (1, 2):
        (tmp_path / f"step_{step}").mkdir()
        (tmp_path / f"step_{step}/r.jsonl").write_text(LINE)
    assert len(found(tmp_path)[0]) == 2


def test_what_a_job_left_behind(tmp_path):
    parquet(tmp_path / "part-0.parquet", [1, 0])
    parquet(tmp_path / "_temporary/0/part-0.parquet", [1, 0, 0])
    names, said = found(tmp_path)
    assert names == ["part-0.parquet"]
    assert "in '_temporary'" in said


def delta(folder, commits):
    (folder / "_delta_log").mkdir(parents=True)
    for version, actions in enumerate(commits):
        text = "".join(json.dumps(action) + "\n" for action in actions)
        (folder / f"_delta_log/{version:020d}.json").write_text(text)


def test_a_delta_table(tmp_path):
    for name in ("old", "new one"):
        parquet(tmp_path / f"step=1/{name}.parquet", [1, 0, len(name)])
    delta(
        tmp_path,
        [
            [{"add": {"path": "step=1/old.parquet"}}],
            [{"remove": {"path": "step=1/old.parquet"}}, {"add": {"path": "step=1/new%20one.parquet"}}],
        ],
    )
    names, said = found(tmp_path)
    assert names == ["new one.parquet"]
    assert "superseded" in said


def test_a_delta_table_from_its_checkpoint_on(tmp_path):
    for name in ("a", "b", "c"):
        parquet(tmp_path / f"{name}.parquet", [1, 0, ord(name)])
    delta(tmp_path, [[], [], [{"remove": {"path": "a.parquet"}}, {"add": {"path": "c.parquet"}}]])
    for version in (0, 1):
        (tmp_path / f"_delta_log/{version:020d}.json").unlink()
    added = [{"path": "a.parquet"}, {"path": "b.parquet"}, None]
    pq.write_table(pa.table({"add": added}), tmp_path / "_delta_log/00000000000000000001.checkpoint.parquet")
    assert found(tmp_path)[0] == ["b.parquet", "c.parquet"]


@pytest.mark.parametrize(
    "commits",
    [
        [[{"add": {"path": "a.parquet", "deletionVector": {"storageType": "u"}}}]],
        [],
    ],
)
def test_a_delta_table_that_only_its_reader_knows(tmp_path, commits):
    parquet(tmp_path / "a.parquet", [1, 0])
    parquet(tmp_path / "b.parquet", [1, 0, 1])
    delta(tmp_path, commits)
    with pytest.raises(DataError, match="this is a Delta table"):
        found(tmp_path)


@pytest.mark.parametrize(("counted", "deletes", "fits"), [(2, "0", True), (1, "0", False), (2, "1", False)])
def test_an_iceberg_table(tmp_path, counted, deletes, fits):
    for name in ("a", "b"):
        parquet(tmp_path / f"data/{name}.parquet", [1, 0, ord(name)])
    (tmp_path / "metadata").mkdir()
    summary = {"operation": "append", "total-data-files": str(counted), "total-delete-files": deletes}
    about = {"current-snapshot-id": 7, "snapshots": [{"snapshot-id": 7, "summary": summary}]}
    (tmp_path / "metadata/v1.metadata.json").write_text(json.dumps(about))
    if fits:
        assert found(tmp_path / "data")[0] == ["a.parquet", "b.parquet"]
    else:
        with pytest.raises(DataError, match="this is an Iceberg table"):
            found(tmp_path / "data")


def test_a_hudi_table(tmp_path):
    parquet(tmp_path / "a.parquet", [1, 0])
    parquet(tmp_path / "b.parquet", [1, 0, 1])
    (tmp_path / ".hoodie").mkdir()
    with pytest.raises(DataError, match="this is a Hudi table"):
        found(tmp_path)
