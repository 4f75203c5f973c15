"""From what the user typed to a list of inputs: folders, globs, pipes, and what a file really is."""

import gzip
import io
import os
import pickle
import random
import sqlite3
import struct
import sys
import threading
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from advcli.common.errors import DataError, Interrupted, UsageError
from advcli.io.inputs import opened
from advcli.io.sources import find as sources
from advcli.io.sources.find import stream

ROW = b'{"prompt_id": "a", "reward": 1}\n'
TABLE = pa.table({"prompt_id": ["a", "a"], "reward": [0.0, 1.0]})


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(*names, data=None):
    """Write files; without data each holds a row of its own, so that none is a copy."""
    for place, name in enumerate(names):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(ROW + b" " * place if data is None else data)


def parquet_bytes(table=TABLE):
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue().to_pybytes()


def zst(data):
    return pa.compress(data, codec="zstd", asbytes=True)


def names(*inputs):
    with opened(inputs) as sources:
        return [source.name for source in sources]


def one(name):
    """What the only source is, and its bytes."""
    with opened([name]) as (source,), stream(source) as file:
        return (source.container, source.codec), file.read()


def test_files_in_the_order_in_which_they_were_typed():
    put("b.jsonl", "a.jsonl", "c")
    assert names("b.jsonl", "c", "a.jsonl") == ["b.jsonl", "c", "a.jsonl"]


def test_a_file_is_read_once():
    put("d/a.jsonl", "b.jsonl")
    Path("link.jsonl").symlink_to("b.jsonl")
    assert names("d/a.jsonl", "d", "./d/a.jsonl", "b.jsonl", "link.jsonl") == ["d/a.jsonl", "b.jsonl"]


def test_a_folder_in_natural_order():
    put(
        "d/10.jsonl", "d/2.jsonl", "d/1.jsonl", "d/step_9_part_10.jsonl", "d/step_9_part_9.jsonl", "d/a.jsonl"
    )
    assert names("d") == [
        f"d/{name}.jsonl" for name in ("1", "2", "10", "a", "step_9_part_9", "step_9_part_10")
    ]


def test_a_folder_holds_dumps_by_their_names():
    put("d/a.jsonl", "d/b.ndjson", "d/c.jsonl.gz", "d/e.jsonl.zst", "d/sub/f.jsonl", "d/sub/deep/7.jsonl")
    put("d/g.parquet", "d/completions/completions_00010.parquet", data=parquet_bytes())
    put("d/notes.txt", "d/config.yaml", "d/model.safetensors", "d/a.jsonl.bak", "d/x.csv")
    found = names("d")
    assert found == sorted(found)
    assert {name.removeprefix("d/") for name in found} == {
        "a.jsonl",
        "b.ndjson",
        "c.jsonl.gz",
        "e.jsonl.zst",
        "sub/f.jsonl",
        "sub/deep/7.jsonl",
        "g.parquet",
        "completions/completions_00010.parquet",
    }


def test_a_folder_without_our_own_outputs_and_without_hidden_files():
    put("d/a.jsonl", "d/adv.jsonl", "d/x.adv", "d/badv.jsonl")
    put("d/a.adv.jsonl", "d/a.adv.jsonl.gz", "d/b.adv.parquet", "d/c.adv.ndjson", "d/sub/a.adv.jsonl.zst")
    put("d/.a.jsonl", "d/.cache/b.jsonl", "d/sub/.x/c.jsonl", "d/.a.adv.jsonl.1a2b.part")
    assert names("d") == ["d/a.jsonl", "d/adv.jsonl", "d/badv.jsonl"]


def test_a_hidden_folder_that_was_typed_is_read():
    put(".runs/a.jsonl")
    assert names(".runs") == [".runs/a.jsonl"]


@pytest.mark.parametrize("content", [[], ["d/x.txt"], ["d/.a.jsonl"], ["d/a.adv.jsonl"]])
def test_a_folder_without_dumps(content):
    Path("d").mkdir()
    put(*content)
    with pytest.raises(DataError, match=r"d: no dump in this folder"):
        names("d")


def test_globs_in_natural_order(folder):
    put("10.jsonl", "9.jsonl", "x.txt", "d/1.jsonl", "d/e/2.jsonl")
    assert names("*.jsonl") == ["9.jsonl", "10.jsonl"]
    assert names("**/*.jsonl") == ["9.jsonl", "10.jsonl", "d/1.jsonl", "d/e/2.jsonl"]
    assert names("[19]*.jsonl", "d/?.jsonl") == ["9.jsonl", "10.jsonl", "d/1.jsonl"]
    assert names(f"{folder}/1*.jsonl") == [f"{folder}/10.jsonl"]


def test_a_name_that_looks_like_a_glob_is_a_name_first():
    put("a[1].jsonl", "a1.jsonl")
    assert names("a[1].jsonl") == ["a[1].jsonl"]


@pytest.mark.parametrize("text", ["gone.jsonl", "gone*.jsonl", "d/gone.jsonl", "x" * 300])
def test_nothing_there(text):
    with pytest.raises(DataError, match=r"no such file|file name too long"):
        names(text)


@pytest.mark.parametrize(
    "name", ["a.jsonl", "a.json", "a.ndjson", "a", "a.txt", "a.gz", "a.jsonl.zst", "A.JSONL"]
)
def test_the_bytes_say_what_a_file_is_not_its_name(name):
    packed = {
        "plain": (None, ROW * 2),
        "gzip": ("gzip", gzip.compress(ROW * 2)),
        "zstd": ("zstd", zst(ROW * 2)),
    }
    for codec, data in packed.values():
        put(name, data=data)
        assert one(name) == (("jsonl", codec), ROW * 2)


@pytest.mark.parametrize("name", ["a.parquet", "a", "a.gz", "a.jsonl", "a.parquet.zst"])
def test_a_packed_parquet_file_lies_unpacked_somewhere(name):
    plain = parquet_bytes()
    for data in (plain, gzip.compress(plain), zst(plain)):
        put(name, data=data)
        assert one(name) == (("parquet", None), plain)


def zip_bytes():
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("a.txt", ROW)
    return archive.getvalue()


def database_bytes():
    connection = sqlite3.connect(":memory:")
    connection.execute("create table rows (a real)")
    return connection.serialize()


def workbook_bytes():
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("[Content_Types].xml", "<Types/>")
        file.writestr("xl/workbook.xml", "<workbook/>")
    return archive.getvalue()


def event_bytes():
    """The first record of a TensorBoard log: its length and checksum, then wall_time and file_version."""
    event = b"\x09" + struct.pack("<d", 1.7e9) + b"\x1a\x0dbrain.Event:2"
    return struct.pack("<Q", len(event)) + bytes(4) + event + bytes(4)


STRANGERS = {
    "zip archive without a dump": zip_bytes,
    "pickle": lambda: pickle.dumps({"a": 1}, protocol=4),
    "Git LFS pointer": lambda: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
    "HTML page": lambda: b"<!DOCTYPE html><html></html>",
    "SQLite database without a table of rollouts": database_bytes,
    "Excel workbook": workbook_bytes,
    "Feather file of version 1": lambda: b"FEA1" + bytes(20),
    "ORC file": lambda: b"ORC\x0a\x0b",
    "Avro file": lambda: b"Obj\x01\x04\x14avro.codec",
    "TensorBoard log": event_bytes,
    "W&B log": lambda: b":W&B\xe1\xbe\x00" + bytes(40),
}


@pytest.mark.parametrize("what", STRANGERS)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_what_else_people_point_us_at(what, pack):
    put("a.jsonl", data=pack(STRANGERS[what]()))
    with pytest.raises(DataError, match=rf"a\.jsonl: this is an? .*{what}.*; try "):
        names("a.jsonl")


@pytest.mark.parametrize("data", [b"", gzip.compress(b""), zst(b"")], ids=["plain", "gzip", "zstd"])
def test_an_empty_file(data):
    put("a.jsonl", data=data)
    with pytest.raises(DataError, match=r"a\.jsonl: the file is empty, expected rows"):
        names("a.jsonl")


@pytest.mark.parametrize("name", ["a.parquet", "a.parquet.gz"])
def test_a_parquet_name_without_parquet_in_it(name):
    put(name)
    with pytest.raises(DataError, match=r"not a parquet file \(it does not begin with PAR1\)"):
        names(name)


def typed(data):
    """Standard input as a pipe that cannot be read twice."""
    read, write = os.pipe()

    def feed():
        with os.fdopen(write, "wb") as file:
            file.write(data)

    threading.Thread(target=feed, daemon=True).start()
    return SimpleNamespace(buffer=os.fdopen(read, "rb"))


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zst])
@pytest.mark.parametrize(
    ("data", "layout"), [(ROW * 50_000, "jsonl"), (parquet_bytes(), "parquet")], ids=["jsonl", "parquet"]
)
def test_standard_input(monkeypatch, data, layout, pack):
    stdin = typed(pack(data))
    monkeypatch.setattr(sys, "stdin", stdin)
    with stdin.buffer, opened(["-"]) as (source,):
        assert (source.name, source.container) == ("<stdin>", layout)
        for _ in range(2):
            with stream(source) as file:
                assert file.read() == data
        held = source.path
    assert not held.exists()


def test_standard_input_comes_alone():
    put("a.jsonl")
    for inputs in (["-", "a.jsonl"], ["-", "-"]):
        with pytest.raises(UsageError, match=r"standard input \('-'\) cannot be combined with other inputs"):
            names(*inputs)


def test_a_named_pipe_is_an_input():
    os.mkfifo("pipe")
    threading.Thread(target=put, args=("pipe",), kwargs={"data": ROW * 3}, daemon=True).start()
    assert one("pipe") == (("jsonl", None), ROW * 3)


def test_temporary_copies_are_gone_afterwards(folder, monkeypatch):
    (folder / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder / "tmp"))
    put("a.parquet.gz", data=gzip.compress(parquet_bytes()))
    held = []

    def interrupted():
        with opened(["a.parquet.gz"]) as sources:
            held.extend(source.path for source in sources)
            raise Interrupted("interrupted")

    with pytest.raises(Interrupted):
        interrupted()
    assert held[0].is_relative_to(folder / "tmp")
    assert list((folder / "tmp").iterdir()) == []


def test_the_stamp_is_size_and_time_of_the_file(folder):
    put("a.jsonl")
    os.utime("a.jsonl", ns=(5, 7))
    with opened(["a.jsonl"]) as (source,):
        assert source.stamp == (len(ROW), 7)


def plainly(folder):
    """The dumps in a folder by a search for each name, as the manual of pathlib has it."""
    found = {file for pattern in sources._patterns() for file in folder.rglob(pattern)}
    shown = {
        file for file in found if not any(part.startswith(".") for part in file.relative_to(folder).parts)
    }
    return {file for file in shown if file.is_file() and ".adv." not in file.name}


@pytest.mark.parametrize("seed", range(30))
def test_the_dumps_in_any_tree(folder, seed):
    chance = random.Random(seed)
    stems = ["a", "10", "data_1", ".hidden", "episode_3", "x.adv", "completions", "evaluation_data", "A"]
    ends = [".jsonl", ".json", ".parquet", ".JSONL", ".parquet.gz", ".jsonl.zst", ".txt", ".ndjson", ""]
    folders = [folder / "in", folder / "elsewhere"]
    for _ in range(12):
        place = chance.choice(folders)
        name = chance.choice(["sub", "eval_results", ".git", "deep.jsonl", "x"])
        kind = chance.random()
        if kind < 0.3 and not (place / name).exists():
            folders.append(place / name)
        elif kind < 0.4:
            (place / f"link{len(folders)}").parent.mkdir(parents=True, exist_ok=True)
            link = place / chance.choice(
                ["eval_results", f"link{chance.random()}", f"l{chance.random()}.jsonl"]
            )
            if not link.exists() and not link.is_symlink():
                link.symlink_to(chance.choice(folders))
        for _ in range(3):
            put(str(place / (chance.choice(stems) + chance.choice(ends))))
    found = sources._named_like(folder / "in", sources._patterns())
    assert set(found) == plainly(folder / "in")


def test_a_file_and_a_link_to_it_in_a_folder_are_one():
    put("in/sub/a.jsonl")
    Path("in/b.jsonl").symlink_to("sub/a.jsonl")
    Path("same").symlink_to("in")
    assert names("in", "in/sub/a.jsonl", "same") == ["in/b.jsonl"]
