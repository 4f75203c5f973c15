"""Parquet files, opened: small ones once for two looks, and never a stale one."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from advcli.common.errors import DataError
from advcli.io.inputs import opened
from advcli.io.parquet import files
from advcli.io.read import read
from advcli.io.sources.find import stamp
from advcli.records.table import ColumnOptions, Source


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files.forget()
    return tmp_path


def put(name, *rewards):
    pq.write_table(pa.table({"prompt_id": ["a"] * len(rewards), "reward": rewards}), name)
    return Source(name, Path(name), "parquet", None, stamp(Path(name)))


def rewards(file):
    return file.read().column("reward").to_pylist()


@pytest.mark.parametrize("nested", [False, True])
def test_each_small_file_is_opened_once_for_the_first_pass(monkeypatch, nested):
    for number in range(5):
        columns = {"prompt_id": ["a", "b"], "reward": [0.0, float(number)]} | (
            {"x": [[1], [2]]} if nested else {}
        )
        pq.write_table(pa.table(columns), f"{number}.parquet")
    made, plain = [], files.File
    monkeypatch.setattr(files, "File", lambda *args, **more: made.append(args) or plain(*args, **more))
    with opened(["."]) as sources:
        table = read(sources, ColumnOptions())
    assert (len(made), len(files._kept_open), table.rewards.tolist()[1::2]) == (
        5,
        0,
        [0.0, 1.0, 2.0, 3.0, 4.0],
    )


def test_a_file_that_is_kept_is_given_once():
    source = put("a.parquet", 1.0)
    kept = files.opened(source, again=True)
    assert files.is_kept(source)
    assert files.opened(source) is kept
    assert not files.is_kept(source)
    assert files.opened(source) is not kept


def test_another_file_of_that_name_is_opened_anew():
    kept = files.opened(put("a.parquet", 1.0), again=True)
    again = put("a.parquet", 2.0, 3.0)
    os.utime("a.parquet", ns=(1, 1))
    file = files.opened(Source(again.name, again.path, "parquet", None, stamp(again.path)))
    assert (rewards(kept), rewards(file)) == ([1.0], [2.0, 3.0])


def test_only_small_files_are_kept_and_not_all(monkeypatch):
    small, other = put("a.parquet", 1.0), put("b.parquet", 2.0)
    monkeypatch.setattr(files, "_MAX_KEPT", 1)
    for source in (small, other):
        files.opened(source, again=True)
    assert (files.is_kept(small), files.is_kept(other)) == (True, False)
    files.forget()
    monkeypatch.setattr(files, "_SMALL", 10)
    assert rewards(files.opened(small, again=True)) == [1.0]
    assert not files.is_kept(small)
    # Nobody knows how large it is.
    files.opened(Source("a.parquet", Path("a.parquet"), "parquet"), again=True)
    assert not files._kept_open


@pytest.mark.parametrize("size", [1, 1 << 20])
def test_a_broken_file(monkeypatch, size):
    source = put("a.parquet", 1.0)
    monkeypatch.setattr(files, "_SMALL", size)
    Path("a.parquet").write_bytes(b"PAR1" + b"x" * 60)
    with pytest.raises(DataError, match=r"a\.parquet: not a readable parquet file"):
        files.opened(source)
    Path("a.parquet").unlink()
    with pytest.raises(DataError, match=r"a\.parquet: no such file or directory"):
        files.opened(source)
