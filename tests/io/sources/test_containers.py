"""Files of other kinds, unpacked once: what becomes of them, and what is said where nothing does."""

import gzip
import json
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from advcli.common.errors import DataError, UsageError
from advcli.io.inputs import opened
from advcli.io.read import read
from advcli.io.sources.containers import opener
from advcli.io.sources.fingerprint import fingerprints
from advcli.pipeline.compute import Output, compute
from advcli.pipeline.request import Request
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions

CSV = "prompt_id,reward,text\n01,1.0,a\n01,0.0,b\n02,0.5,c\n02,0.5,d\n"
TABLE = pa.table(
    {"prompt_id": ["01", "01", "02", "02"], "reward": [1.0, 0.0, 0.5, 0.5], "text": list("abcd")}
)


def zipped(path, **members):
    with zipfile.ZipFile(path, "w") as file:
        for name, text in members.items():
            file.writestr(name, text)


def arrow(path, make):
    with pa.OSFile(str(path), "wb") as file, make(file, TABLE.schema) as out:
        out.write_table(TABLE, max_chunksize=3)


WRITERS = {
    "a.csv": lambda path: path.write_text(CSV),
    "a.csv.gz": lambda path: path.write_bytes(gzip.compress(CSV.encode())),
    "a.tsv": lambda path: path.write_text(CSV.replace(",", "\t")),
    "a.arrow": lambda path: arrow(path, pa.ipc.new_file),
    "stream.arrow": lambda path: arrow(path, pa.ipc.new_stream),
    "a.feather": lambda path: pyarrow.feather.write_feather(TABLE, path, compression="lz4"),
    "a.zip": lambda path: zipped(path, **{"x/a.csv": CSV, "README.txt": "rows", "__MACOSX/a.csv": "junk"}),
    "jsonl.zip": lambda path: zipped(
        path, **{"a.jsonl": "".join(json.dumps(row) + "\n" for row in TABLE.to_pylist())}
    ),
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("in_a_folder", [False, True])
def test_each_kind_is_read(name, in_a_folder, tmp_path):
    WRITERS[name](tmp_path / name)
    with opened([str(tmp_path if in_a_folder else tmp_path / name)]) as sources:
        table = read(sources, ColumnOptions())
    assert table.names == (str(tmp_path / name),)
    assert table.key.tolist() == [0, 0, 1, 1]
    assert table.rewards.tolist() == [1.0, 0.0, 0.5, 0.5]


@pytest.mark.parametrize("name", WRITERS)
def test_rows_are_written_as_parquet_or_lines(name, tmp_path):
    WRITERS[name](tmp_path / name)
    (tmp_path / "out").mkdir()
    compute(Request((str(tmp_path / name),), Settings(), ColumnOptions()), Output(f"{tmp_path}/out/"))
    (path,) = (tmp_path / "out").iterdir()
    is_parquet = ".parquet" in path.name
    rows = (
        pq.read_table(path).to_pylist() if is_parquet else [*map(json.loads, path.read_text().splitlines())]
    )
    assert [{key: row[key] for key in ("prompt_id", "reward", "text")} for row in rows] == TABLE.to_pylist()
    np.testing.assert_allclose(
        [row["adv_original"] for row in rows], [0.5**0.5, -(0.5**0.5), 0, 0], atol=1e-3
    )


@pytest.mark.parametrize("out", ["out.csv", "out.arrow", "out.tsv.gz"])
def test_no_output_is_called_what_it_is_not(out, tmp_path):
    (tmp_path / "a.csv").write_text(CSV)
    request = Request((str(tmp_path / "a.csv"),), Settings(), ColumnOptions())
    with pytest.raises(UsageError, match="rows are written as parquet or JSON Lines, not as"):
        compute(request, Output(str(tmp_path / out)))


def test_a_dump_is_read_and_not_the_table_beside_it(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"prompt_id": "a", "reward": 1}\n{"prompt_id": "a", "reward": 0}\n')
    (tmp_path / "metrics.csv").write_text("step,loss\n1,0.5\n")
    (tmp_path / "x.db").write_bytes(b"SQLite format 3\0")
    with opened([str(tmp_path)]) as sources:
        assert [source.name for source in sources] == [str(tmp_path / "a.jsonl")]


def test_the_fingerprint_is_that_of_the_file_itself(tmp_path):
    (tmp_path / "a.csv").write_text(CSV)
    with opened([str(tmp_path / "a.csv")]) as sources:
        (found,) = fingerprints(sources, read(sources, ColumnOptions()))
    assert found.size == len(CSV)


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.arrow", b"ARROW1\0\0" + bytes(20), "its rows cannot be read"),
        ("a.arrow", b"\xff\xff\xff\xff\x10\0\0\0" + bytes(3), "its rows cannot be read"),
        ("a.zip", b"PK\x03\x04" + bytes(40), "its rows cannot be read"),
        ("a.csv", b"prompt_id,reward\na,1,2\n", "its rows cannot be read"),
        ("a.csv", b"<html><body>404</body></html>", "this is an HTML page"),
        ("a.csv", b"prompt_id,reward\n", "no rows"),
        ("a.csv", b"", "the file is empty"),
    ],
)
def test_what_cannot_be_read_is_one_line(name, data, words, tmp_path):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError, match=words) as error, opened([str(tmp_path / name)]) as sources:
        read(sources, ColumnOptions())
    assert "\n" not in str(error.value)


def test_several_dumps_in_an_archive(tmp_path):
    zipped(tmp_path / "a.zip", **{"a.jsonl": "{}", "b.jsonl": "{}"})
    with (
        pytest.raises(
            DataError, match=r"holds 2 files that may be dumps: a\.jsonl, b\.jsonl; try unpacking it"
        ),
        opened([str(tmp_path / "a.zip")]),
    ):
        pass


def test_plain_files_have_no_opener():
    assert opener("a.jsonl", b'{"reward": 1}') is None
    assert opener("a.csv", b'{"reward": 1}') is None
    assert opener("a.csv", b"a,b\n1,2\n").name == "csv"
