"""The second pass: where each input goes, what may not be overwritten, and whose rows get which numbers."""

import importlib
import json
import math
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from advcli.common.errors import DataError, UsageError
from advcli.io.write import COLUMNS, Target, added_columns, targets
from advcli.pipeline.compute import Output, compute
from advcli.pipeline.request import Request
from advcli.records.settings import AdvantageTable, Settings
from advcli.records.table import ColumnOptions, Grouping, Source

HALF = 0.5**0.5
ROWS = b'{"prompt_id": "a", "reward": 1}\n{"prompt_id": "a", "reward": 0}\n'
TABLE = pa.table({"prompt_id": ["a", "a"], "reward": [1.0, 0.0]})


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*inputs, out=None, prefix="adv_", force=False, skip=False):
    return compute(
        Request(inputs, Settings(), ColumnOptions(), skip_bad_rows=skip),
        Output(out, prefix=prefix, force=force),
    )


def rows(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def listing(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


# Where to.

NAMES = {
    # Each input with its output.
    ("a.jsonl", "jsonl"): "a.adv.jsonl",
    ("a.b.jsonl", "jsonl"): "a.b.adv.jsonl",
    ("a.ndjson", "jsonl"): "a.adv.ndjson",
    ("a.json", "jsonl"): "a.adv.json",
    ("a.jsonl.gz", "jsonl"): "a.adv.jsonl.gz",
    ("a.jsonl.zst", "jsonl"): "a.adv.jsonl.zst",
    ("a.parquet", "parquet"): "a.adv.parquet",
    ("a.parquet.gz", "parquet"): "a.adv.parquet.gz",
    ("a", "jsonl"): "a.adv.jsonl",
    ("a", "parquet"): "a.adv.parquet",
    ("a.txt", "jsonl"): "a.txt.adv.jsonl",
    ("<stdin>", "parquet"): "stdin.adv.parquet",
}


def source(name, layout="jsonl"):
    return Source(name, Path(name), layout)


@pytest.mark.parametrize(("name", "layout"), NAMES)
def test_the_name_beside_the_input_and_in_a_folder(folder, name, layout):
    expected = NAMES[name, layout]
    (target,) = targets([source(name, layout)], "out/", force=False)
    assert (str(target.path), target.layout) == (f"out/{expected}", layout)
    assert target.codec == {".gz": "gzip", ".zst": "zstd"}.get(expected[expected.rfind(".") :])
    if name != "<stdin>":
        (folder / "d").mkdir()
        (beside,) = targets([source(f"d/{name}", layout)], None, force=False)
        assert beside == Target(Path("d") / expected, layout, target.codec)


@pytest.mark.parametrize(
    ("out", "layout", "codec"),
    [
        ("x.jsonl", "jsonl", None),
        ("x.ndjson", "jsonl", None),
        ("x.json", "jsonl", None),
        ("x.parquet", "parquet", None),
        ("x.jsonl.gz", "jsonl", "gzip"),
        ("x.parquet.zst", "parquet", "zstd"),
        ("x", "parquet", None),
        ("x.gz", "parquet", "gzip"),
        ("x.rows", "parquet", None),
    ],
)
def test_the_name_of_the_output_says_its_layout(out, layout, codec):
    (target,) = targets([source("a.parquet", "parquet")], out, force=False)
    assert (str(target.path), target.layout, target.codec) == (out, layout, codec)


@pytest.mark.parametrize("out", ["x.txt", "x.csv", "x.csv.gz"])
def test_a_name_of_another_format_is_refused(out):
    with pytest.raises(
        UsageError, match=r"rows are written as parquet or JSON Lines, not as \.(txt|csv); try --out x"
    ):
        targets([source("a.parquet", "parquet")], out, force=False)


def test_standard_input_goes_to_standard_output():
    assert targets([source("<stdin>")], None, force=False) == [Target(None, "jsonl", None)]
    assert (
        targets([source("a.jsonl"), source("b.jsonl")], "-", force=False) == [Target(None, "jsonl", None)] * 2
    )


REFUSED = {
    # Each with its inputs, --out, error and message.
    "several inputs": (
        ["a.jsonl", "b.jsonl"],
        None,
        UsageError,
        r"2 inputs need a folder to go to; try --out DIR/",
    ),
    "several to a file": (["a.jsonl", "b.jsonl"], "x.jsonl", UsageError, r"2 inputs need a folder to go to"),
    "no folder": (
        ["a.jsonl"],
        "gone/x.jsonl",
        DataError,
        r"gone/x\.jsonl: there is no folder 'gone'; try mkdir",
    ),
    "there": (["a.jsonl"], "b.jsonl", UsageError, r"b\.jsonl exists already; try --force"),
    "there by default": (["c.jsonl"], None, UsageError, r"c\.adv\.jsonl exists already; try --force"),
    "itself": (["a.jsonl"], "a.jsonl", UsageError, r"a\.jsonl is an input, which is never overwritten"),
    "a way round to itself": (
        ["a.jsonl"],
        "d/../a.jsonl",
        UsageError,
        r"is an input, which is never overwritten",
    ),
    "symbolic link": (
        ["a.jsonl"],
        "soft.jsonl",
        UsageError,
        r"soft\.jsonl is an input, which is never overwritten",
    ),
    "typed as a link": (
        ["soft.jsonl"],
        "a.jsonl",
        UsageError,
        r"a\.jsonl is an input, which is never overwritten",
    ),
    "hard link": (
        ["a.jsonl"],
        "hard.jsonl",
        UsageError,
        r"hard\.jsonl is an input, which is never overwritten",
    ),
    "another input": (["a.jsonl", "o/a.adv.jsonl"], "o/", UsageError, r"a\.adv\.jsonl is an input"),
    "a folder of that name": (["a.jsonl"], "p/", UsageError, r"p/a\.adv\.jsonl is a folder, expected a file"),
}


@pytest.mark.parametrize(
    ("case", "force"),
    [(case, force) for case in REFUSED for force in (False, True) if not (force and "there" in case)],
)
def test_what_must_not_be_written(folder, case, force):
    inputs, out, error, message = REFUSED[case]
    for name in ("a.jsonl", "b.jsonl", "c.jsonl", "c.adv.jsonl", "d/a.jsonl", "e/a.jsonl", "o/a.adv.jsonl"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(ROWS)
    (folder / "p" / "a.adv.jsonl").mkdir(parents=True)
    (folder / "soft.jsonl").symlink_to("a.jsonl")
    (folder / "hard.jsonl").hardlink_to("a.jsonl")
    before = {name: (folder / name).read_bytes() for name in listing(folder)}
    with pytest.raises(error, match=message):
        run(*inputs, out=out, force=force)
    assert {name: (folder / name).read_bytes() for name in listing(folder)} == before


def test_parquet_and_several_cannot_share_a_stream(folder):
    with pytest.raises(UsageError, match=r"cannot be written to one stream; try --out DIR/"):
        targets([source("a.parquet", "parquet"), source("b.jsonl")], "-", force=False)


# What comes out.


def test_several_inputs_to_a_new_folder(folder):
    (folder / "1.jsonl").write_bytes(ROWS)
    (folder / "2.jsonl").write_bytes(ROWS.replace(b'"a"', b'"b"') + b"\n")
    pq.write_table(pa.table({"prompt_id": ["b", "c", "c"], "reward": [5.0, 0.0, 1.0]}), "3.parquet")
    run("1.jsonl", "2.jsonl", "3.parquet", out="new/deep/")
    assert listing(folder / "new") == ["deep/1.adv.jsonl", "deep/2.adv.jsonl", "deep/3.adv.parquet"]
    first, second = rows(folder / "new/deep/1.adv.jsonl"), rows(folder / "new/deep/2.adv.jsonl")
    third = pq.read_table("new/deep/3.adv.parquet").to_pylist()
    assert [row["adv_group"] for row in first + second + third] == [0, 0, 1, 1, 1, 2, 2]
    # Group b is 1, 0 | 5: mean 2, variance ((1-2)² + (0-2)² + (5-2)²) / 2 = 7.
    expected = [HALF, -HALF, -1 / 7**0.5, -2 / 7**0.5, 3 / 7**0.5, -HALF, HALF]
    assert [row["adv_original"] for row in first + second + third] == pytest.approx(expected)


def test_outputs_of_an_earlier_run_are_no_inputs_of_a_folder(folder):
    (folder / "d").mkdir()
    for name in ("1", "2", "10"):
        (folder / "d" / f"{name}.jsonl").write_bytes(ROWS)
    run("d", out="d/")
    assert listing(folder) == [f"d/{n}{adv}.jsonl" for n in ("1", "10", "2") for adv in (".adv", "")]
    run("d", out="d/", force=True)
    assert [row["adv_group"] for row in rows(folder / "d/10.adv.jsonl")] == [0, 0]


KEYS = b', "adv_original": %s, "adv_processed": %s, "adv_kept": true, "adv_group": 0}'
ZEROS = KEYS % (b"0.0", b"0.0")


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (b"%s\n%s\n", b"%s\n", b"%s\n%s\n%s\n"),
        (b"%s\n%s", b"%s", b"%s\n%s\n%s"),
        (b"%s\r\n%s", b"\r\n%s\r\n", b"%s\r\n%s\n\r\n%s\r\n"),
        (b"%s\n%s\n\n", b"%s", b"%s\n%s\n\n%s"),
    ],
)
def test_several_files_to_standard_output_are_lines_of_one(folder, capsysbinary, first, second, expected):
    row = b'{"prompt_id": 1, "reward": 1}'
    (folder / "1.jsonl").write_bytes(first % (row, row))
    (folder / "2.jsonl").write_bytes(second % row)
    run("1.jsonl", "2.jsonl", out="-")
    assert capsysbinary.readouterr().out == expected % ((row[:-1] + ZEROS,) * 3)


def test_parquet_to_standard_output(capsysbinary):
    pq.write_table(TABLE, "a.parquet")
    run("a.parquet", out="-")
    table = pq.read_table(pa.BufferReader(capsysbinary.readouterr().out))
    assert table.select(["prompt_id", "reward"]).equals(TABLE)
    assert table["adv_original"].to_pylist() == pytest.approx([HALF, -HALF])


def test_standard_output_is_flushed(folder):
    """What is in Python's buffer when the process goes on would come after the table."""
    read, write = os.pipe()
    os.set_blocking(read, False)
    (folder / "a.jsonl").write_bytes(ROWS)
    with os.fdopen(read, "rb", buffering=0) as reader, os.fdopen(write, "wb") as writer:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdout", SimpleNamespace(buffer=writer))
            run("a.jsonl", out="-")
        assert (reader.read() or b"").count(b'"adv_group": 0}\n') == 2


@pytest.mark.parametrize("layout", ["jsonl", "parquet"])
@pytest.mark.parametrize("prefix", ["new_", "", 'é"\\'])
def test_prefix(folder, layout, prefix):
    (folder / "a.jsonl").write_bytes(ROWS)
    run("a.jsonl", out=f"b.{layout}")
    with pytest.raises(DataError, match=r"adv_group.* are there already.*--prefix"):
        run(f"b.{layout}", out=f"c.{layout}")
    run(f"b.{layout}", out=f"c.{layout}", prefix=prefix)
    read = rows(folder / "c.jsonl") if layout == "jsonl" else pq.read_table("c.parquet").to_pylist()
    names = [prefix + name for name in COLUMNS]
    assert list(read[0]) == ["prompt_id", "reward", *(f"adv_{name}" for name in COLUMNS), *names]
    assert [read[0][name] for name in names] == pytest.approx([HALF, HALF, True, 0])


@pytest.mark.parametrize("layout", ["jsonl", "parquet"])
def test_bad_rows_stay_in_the_file_without_an_advantage(folder, layout):
    data = [("a", "1"), (None, "5"), ("a", "great"), ("a", "0"), ("a", None)]
    table = pa.table({"prompt_id": [key for key, _ in data], "reward": [reward for _, reward in data]})
    if layout == "parquet":
        pq.write_table(table, "a.parquet")
    else:
        (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    report = run(f"a.{layout}", skip=True)
    assert any(text.startswith("2 bad rows skipped") for text in report.warnings)
    written = (
        rows(folder / "a.adv.jsonl") if layout == "jsonl" else pq.read_table("a.adv.parquet").to_pylist()
    )
    assert [(row["prompt_id"], row["reward"]) for row in written] == data
    assert [row["adv_original"] for row in written] == pytest.approx([HALF, None, None, -HALF, None])
    assert [row["adv_processed"] for row in written] == pytest.approx([HALF, None, None, -HALF, None])
    assert [row["adv_kept"] for row in written] == [True, False, False, True, False]
    assert [row["adv_group"] for row in written] == [0, None, None, 0, 0]


def test_force_replaces_the_old_file(folder):
    (folder / "a.jsonl").write_bytes(ROWS)
    (folder / "b.jsonl").write_bytes(b"old")
    with pytest.raises(UsageError, match="exists already"):
        run("a.jsonl", out="b.jsonl")
    assert (folder / "b.jsonl").read_bytes() == b"old"
    run("a.jsonl", out="b.jsonl", force=True)
    assert len(rows(folder / "b.jsonl")) == 2


def test_the_input_is_untouched(folder):
    (folder / "a.jsonl").write_bytes(ROWS)
    os.utime("a.jsonl", ns=(1, 2))
    run("a.jsonl")
    assert (folder / "a.jsonl").read_bytes() == ROWS
    assert (folder / "a.jsonl").stat().st_mtime_ns == 2
    assert listing(folder) == ["a.adv.jsonl", "a.jsonl"]


# A source that changes between the passes.


@pytest.fixture
def meanwhile(monkeypatch):
    """Do something after the first pass."""

    def do(action):
        steps = importlib.import_module("advcli.pipeline.compute")
        original = steps.run

        def changed(*args):
            result = original(*args)
            action()
            return result

        monkeypatch.setattr(steps, "run", changed)

    return do


def grown(path):
    with path.open("ab") as file:
        file.write(ROWS)


def touched(path):
    os.utime(path, ns=(1, 1))


CHANGES = {
    "grew": grown,
    "shrank": lambda path: path.write_bytes(ROWS[: len(ROWS) // 2]),
    "emptied": lambda path: path.write_bytes(b""),
    "other rewards": lambda path: path.write_bytes(ROWS.replace(b"1}", b"5}")) and touched(path),
    "gone": lambda path: path.unlink(),
}


@pytest.mark.parametrize("out", ["old.jsonl", "old.parquet", "-"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_json_file_that_changes_is_an_error(folder, capsysbinary, meanwhile, change, out):
    (folder / "a.jsonl").write_bytes(ROWS)
    (folder / "old.jsonl").write_bytes(b"old")
    (folder / "old.parquet").write_bytes(b"old")
    meanwhile(lambda: CHANGES[change](folder / "a.jsonl"))
    with pytest.raises(DataError, match=r"a\.jsonl: (the file changed while it was read|no such file)"):
        run("a.jsonl", out=out, force=True)
    assert (folder / "old.jsonl").read_bytes() == (folder / "old.parquet").read_bytes() == b"old"
    assert set(listing(folder)) - {"a.jsonl"} == {"old.jsonl", "old.parquet"}


TABLES = {
    "shrank": TABLE.slice(0, 1),
    "emptied": TABLE.slice(0, 0),
    "other rewards": pa.table({"prompt_id": ["a", "a"], "reward": [5.0, 0.0]}),
    "other columns": pa.table({"x": [1, 2]}),
}


@pytest.mark.parametrize("out", ["out.parquet", "out.jsonl"])
@pytest.mark.parametrize("change", TABLES)
def test_a_parquet_file_that_changes_is_an_error(folder, meanwhile, change, out):
    pq.write_table(TABLE, "a.parquet")
    touched(folder / "a.parquet")
    meanwhile(lambda: pq.write_table(TABLES[change], "a.parquet"))
    with pytest.raises(DataError, match=r"a\.parquet: the file changed while it was read; try again when"):
        run("a.parquet", out=out)
    assert listing(folder) == ["a.parquet"]


def test_added_columns():
    result = AdvantageTable(
        torch.tensor([0.5, math.nan, -0.0]),
        torch.tensor([0.0, math.nan, math.nan], dtype=torch.float64),
        torch.tensor([True, False, False]),
    )
    found = added_columns("p_", result, Grouping(np.array([0, -1, 2]), 3, (), ""))
    assert {name: array.to_pylist() for name, array in found.items()} == {
        "p_original": [0.5, None, 0.0],
        "p_processed": [0.0, None, None],
        "p_kept": [True, False, False],
        "p_group": [0, None, 2],
    }
    assert [array.type for array in found.values()] == [pa.float64(), pa.float64(), pa.bool_(), pa.int64()]
