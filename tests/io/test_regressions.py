"""What once went wrong between a file and its copy; one test for each kind."""

import contextlib
import gzip
import importlib
import json
import os
import random
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from advcli.common.errors import AdvcliError, DataError
from advcli.io.columns.choose import choose
from advcli.io.columns.evidence import Evidence
from advcli.io.parquet import read as parquet
from advcli.pipeline.compute import Output, compute
from advcli.pipeline.request import Request
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions

BASE = {"prompt_id": ["a"] * 4 + ["b"] * 4, "reward": [0.0, 1.0] * 4}
ROW = b'{"prompt_id": "a", "reward": 1}\n'
DEAD = b'"adv_original": 0.0, "adv_processed": 0.0, "adv_kept": true, "adv_group": 0'
DONE = b'{"prompt_id": "a", "reward": 1, ' + DEAD + b"}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*inputs, out="out", force=True, skip=False, prefix="adv_", **columns):
    return compute(
        Request(inputs, Settings(), ColumnOptions(**columns), skip_bad_rows=skip),
        Output(out, prefix=prefix, force=force),
    )


def cli(*args, **more):
    return subprocess.run(
        [sys.executable, "-m", "advcli", *map(str, args)],
        capture_output=True,
        timeout=100,
        check=False,
        **more,
    )


# ---- A. memory: text columns are never held ----


def wide(path, groups=20):
    rng = random.Random(0)
    schema = pa.schema([("prompt_id", pa.string()), ("reward", pa.float64()), ("text", pa.string())])
    with pq.ParquetWriter(path, schema) as writer:
        for _g in range(groups):
            writer.write_table(
                pa.table(
                    {
                        "prompt_id": ["a"] * 20,
                        "reward": [0.5] * 20,
                        "text": [rng.randbytes(50_000).hex() for _ in range(20)],
                    },
                    schema=schema,
                )
            )


PEAK = """
import sys, pyarrow as pa
from advcli.io.parquet import read
from advcli.io.inputs import opened
from advcli.io.collect.batch import BadRows
read._BATCH_BYTES = 1 << 20
class Sink:
    closed = False
    def write(self, data): return len(data)
    def flush(self): pass
    def close(self): pass
with opened([sys.argv[1]]) as (s,):
    if sys.argv[2] == "annotate":
        read.annotate(s, Sink(), lambda rows: pa.record_batch([pa.nulls(rows, pa.int8())], names=["n"]), {})
    else:
        for b in read.scan(s, ("prompt", "reward"), refused=(), bad_rows=BadRows(), dropped=set()): pass
print(pa.default_memory_pool().max_memory())
"""


def peak(path, what):
    """Most bytes that arrow held, with batches of 1 MB."""
    done = subprocess.run([sys.executable, "-c", PEAK, path, what], capture_output=True, check=True)
    return int(done.stdout)


def test_parquet_texts_are_not_held():
    """40 MB in 20 row groups. pre_buffer (pyarrow's default) caches the whole file."""
    wide("a.parquet")
    assert peak("a.parquet", "annotate") < 15e6


@pytest.mark.parametrize("what", ["scan", "annotate"])
def test_repeated_texts_are_not_held(what):
    """30 000 rows of 50 texts of 10 kB: 0.5 MB dictionary-encoded, 300 MB decoded."""
    texts = [os.urandom(5000).hex() for _ in range(50)]
    pq.write_table(
        pa.table({"prompt": [texts[i // 600] for i in range(30_000)], "reward": np.zeros(30_000)}),
        "d.parquet",
    )
    assert peak("d.parquet", what) < 60e6


# ---- B. parquet is not exact ----


def sizes(path):
    meta = pq.read_metadata(path)
    return [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]


def test_row_groups_of_different_sizes_are_kept():
    table = pa.table(BASE)
    with pq.ParquetWriter("a.parquet", table.schema) as writer:
        for start, rows in ((0, 1), (1, 5), (6, 2)):
            writer.write_table(table.slice(start, rows))
    run("a.parquet", out="out.parquet")
    assert sizes("out.parquet") == [1, 5, 2]


def test_batches_do_not_cut_row_groups(monkeypatch):
    """Here the batch (by bytes) is no multiple of the row group."""
    monkeypatch.setattr(parquet, "_BATCH_BYTES", 250_000)
    table = pa.table(
        {"prompt_id": ["a"] * 90, "reward": [0.5] * 90, "x": [os.urandom(5000) for _ in range(90)]}
    )
    pq.write_table(table, "a.parquet", row_group_size=30)
    run("a.parquet", out="out.parquet")
    assert sizes("out.parquet") == [30, 30, 30]


def test_codec_of_a_list_with_an_old_element_name():
    """Arrow < 4, Spark, many Hub files: the path is x.list.item; the copy's is x.list.element."""
    pq.write_table(
        pa.table({**BASE, "x": [["t"]] * 8}), "a.parquet", compression="zstd", use_compliant_nested_type=False
    )
    run("a.parquet", out="out.parquet")
    old, new = pq.ParquetFile("a.parquet"), pq.ParquetFile("out.parquet")
    assert new.metadata.row_group(0).column(2).compression == "ZSTD"
    assert new.schema_arrow.field("x").type.equals(old.schema_arrow.field("x").type, check_metadata=True)
    assert new.metadata.row_group(0).column(2).path_in_schema == "x.list.item"


# ---- C. tracebacks instead of an AdvcliError ----


def extension(type_, cells, storage):
    return pa.ExtensionArray.from_storage(type_, pa.array(cells, storage))


@pytest.mark.parametrize("kind", ["uuid", "json"])
def test_a_uuid_or_json_column_is_a_key(kind):
    """DuckDB and pyarrow write UUID; dictionary_encode has no kernel for extension types."""
    array = (
        extension(pa.uuid(), [bytes([i // 4]) * 16 for i in range(8)], pa.binary(16))
        if kind == "uuid"
        else extension(pa.json_(), [f"{i // 4}" for i in range(8)], pa.string())
    )
    pq.write_table(pa.table({"prompt_id": array, "reward": BASE["reward"]}), "a.parquet")
    run("a.parquet", out="out.parquet")
    assert pq.read_table("out.parquet")["adv_group"].to_pylist() == [0] * 4 + [1] * 4


def test_uuid_to_jsonl():
    values = [uuid.UUID(int=i) for i in range(8)]
    pq.write_table(
        pa.table({**BASE, "x": extension(pa.uuid(), [v.bytes for v in values], pa.binary(16))}), "a.parquet"
    )
    run("a.parquet", out="out.jsonl")
    assert [json.loads(line)["x"] for line in Path("out.jsonl").read_text().splitlines()] == [
        str(v) for v in values
    ]


def bad_utf8():
    return pa.Array.from_buffers(
        pa.string(),
        8,
        [None, pa.py_buffer(np.arange(9, dtype=np.int32).tobytes()), pa.py_buffer(b"\xff\xff\xfe\xfeaabb")],
    )


@pytest.mark.parametrize(
    "columns",
    [
        {"prompt_id": "bad", "reward": 0},
        {"prompt_id": 0, "reward": "bad"},
        {"prompt_id": 0, "reward": 0, "x": "bad"},
    ],
)
def test_text_that_is_no_utf8_in_parquet(columns):
    """Old writers store bytes as text. Key and reward: UnicodeDecodeError; x: only with --out x.jsonl."""
    table = pa.table(
        {name: bad_utf8() if value == "bad" else pa.array(BASE[name]) for name, value in columns.items()}
    )
    pq.write_table(table, "a.parquet")
    with contextlib.suppress(AdvcliError):
        run("a.parquet", out="out.jsonl")


@pytest.mark.parametrize(
    "array",
    [
        pa.array([2**62] * 8, pa.timestamp("us")),
        pa.array([2**30] * 8, pa.date32()),
        pa.array([10**14] * 8, pa.duration("s")),
    ],
    ids=lambda array: str(array.type),
)
def test_dates_that_python_cannot_say(array):
    pq.write_table(pa.table({**BASE, "x": array}), "a.parquet")
    with contextlib.suppress(AdvcliError):
        run("a.parquet", out="out.jsonl")


def test_parquet_that_grew_between_the_passes(monkeypatch):
    """pa.record_batch raises a plain ValueError, not an ArrowException."""
    pq.write_table(pa.table(BASE), "a.parquet")
    steps = importlib.import_module("advcli.pipeline.compute")
    original = steps.run

    def changed(*args):
        pq.write_table(pa.concat_tables([pa.table(BASE)] * 2), "a.parquet")
        return original(*args)

    monkeypatch.setattr(steps, "run", changed)
    with pytest.raises(DataError, match="the file changed while it was read"):
        run("a.parquet", out="out.parquet")


@pytest.mark.parametrize(
    "columns",
    [
        {"group_by": ("prompt_id", "prompt_id")},
        {"length": "step"},
        {"length": "rewards"},
        {"length": "cause"},
        {"length": "bad"},
        {"length": "lines"},
        {"length": "advantage"},
    ],
    ids=str,
)
def test_a_column_with_the_name_of_an_inner_one(columns):
    """Collector._parts mixes the user's names with its own ("rewards", "cause", "bad", "step", "lines")."""
    rows = [
        {
            "prompt_id": "a",
            "reward": i % 2,
            "step": 1,
            "rewards": 3,
            "cause": 3,
            "bad": 3,
            "lines": 3,
            "advantage": 3,
        }
        for i in range(4)
    ]
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with contextlib.suppress(AdvcliError):
        run("a.jsonl", out="out.jsonl", **columns)


@pytest.mark.parametrize("out", [None, "o/", "-"])
def test_a_glob_that_matches_folders_only(out):
    Path("d1").mkdir()
    with pytest.raises(DataError, match=r"d[*]"):
        run("d*", out=out)


@pytest.mark.parametrize("out", ["x" * 300 + ".jsonl", "x" * 300 + "/"])
def test_a_name_that_is_too_long(out):
    Path("a.jsonl").write_bytes(ROW * 2)
    with pytest.raises(AdvcliError, match="too long"):
        run("a.jsonl", out=out)


def test_a_long_name_that_is_allowed():
    """250 bytes are a legal name; the temporary one is 15 bytes longer, and unlink() hides the DataError."""
    Path("a.jsonl").write_bytes(ROW * 2)
    run("a.jsonl", out="x" * 244 + ".jsonl")


@pytest.mark.parametrize("out", ["locked/x.jsonl", "locked/"])
def test_a_folder_that_may_not_be_entered(out):
    if os.getuid():
        pytest.skip("written for root")
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "a.jsonl").write_bytes(ROW * 2)
        (root / "locked").mkdir(mode=0o600)
        root.chmod(0o755)
        os.seteuid(65534)
        try:
            with pytest.raises(DataError, match="permission denied"):
                run(str(root / "a.jsonl"), out=str(root / out) + ("/" if out.endswith("/") else ""))
        finally:
            os.seteuid(0)


def test_closed_standard_input():
    done = cli("compute", "-", preexec_fn=lambda: os.close(0))
    assert b"Traceback" not in done.stderr, done.stderr[-200:]


# ---- D. values that change or are lost ----


def test_other_integers_of_a_line_with_a_huge_one(tmp_path):
    """parse_int=_BigInt turns every integer of the line into text: the column becomes JSON strings."""
    Path("a.jsonl").write_text(
        '{"prompt_id": "a", "reward": 1, "n": 1}\n{"prompt_id": "a", "reward": 0, "n": 2, "x": '
        + "9" * 5000
        + "}\n"
    )
    run("a.jsonl", out="out.parquet")
    table = pq.read_table("out.parquet")
    assert table["n"].to_pylist() == [1, 2]
    assert table["x"].to_pylist() == [None, "9" * 5000]  # JSON text of the number, not of a string


def test_a_huge_integer_beside_a_nested_prompt():
    Path("a.jsonl").write_text(
        '{"prompt": [{"turn": 1}], "reward": 1, "x": '
        + "9" * 5000
        + '}\n{"prompt": [{"turn": 1}], "reward": 0}\n'
    )
    run("a.jsonl", out="out.jsonl")
    assert [
        json.loads(line, parse_int=str)["adv_group"] for line in Path("out.jsonl").read_text().splitlines()
    ] == ["0", "0"]


def test_nanoseconds_of_a_time():
    """time64[ns].as_py() drops them."""
    pq.write_table(pa.table({**BASE, "x": pa.array([1] * 8, pa.time64("ns"))}), "a.parquet")
    run("a.parquet", out="out.jsonl")
    assert json.loads(Path("out.jsonl").read_text().splitlines()[0])["x"] == "00:00:00.000000001"


def test_a_form_feed_line_is_broken_so_it_is_left_out():
    """scan calls it broken (and drops it), annotate calls it blank (and copies it)."""
    Path("a.jsonl").write_bytes(ROW + b"\x0c\n" + ROW)
    run("a.jsonl", out="out.jsonl", skip=True)
    assert Path("out.jsonl").read_bytes() == DONE * 2


def test_no_empty_line_for_a_dropped_one(capsysbinary):
    Path("1.jsonl").write_bytes(ROW * 2 + b'{"cut')
    Path("2.jsonl").write_bytes(ROW)
    run("1.jsonl", "2.jsonl", out="-", skip=True)
    assert capsysbinary.readouterr().out == DONE * 3


# ---- E. which column ----


def kinds(text):
    return {name: kind or "number" for name, _, kind in (word.partition(":") for word in text.split())}


def test_trl_an_id_is_no_reward():
    """log_extra may log an integer id: it is taken as the prompt AND summed into the reward."""
    choice = choose(kinds("step prompt:text completion:text acc problem_id advantage"), ColumnOptions())
    assert choice.prompt == ("problem_id",)
    assert choice.rewards == (("acc", 1.0),)


@pytest.mark.parametrize(
    "option", [{"prompt": "task"}, {"group_by": ("task",)}, {"step": "task"}, {"length": "task"}], ids=str
)
def test_trl_a_column_with_another_part_is_no_reward(option):
    choice = choose(kinds("step prompt:text completion:text acc task advantage"), ColumnOptions(**option))
    assert choice.rewards == (("acc", 1.0),)


def test_a_total_beside_a_part_is_the_reward_alone():
    """A function called `reward` may be the total or one of several: it is read alone, and what is not read is named."""
    row = {"step": 1, "prompt": "p", "completion": "c", "reward": 1.0, "format_reward": 0.5, "advantage": 0.0}
    there = kinds("step prompt:text completion:text reward format_reward advantage")
    choice = choose(there, ColumnOptions(), evidence=Evidence(lambda: [row, row]))
    assert (choice.format, choice.rewards, choice.unread) == (
        "generic",
        (("reward", 1.0),),
        ("format_reward",),
    )


# ---- F. messages ----


@pytest.mark.parametrize("pack", [gzip.compress, lambda data: pa.compress(data, codec="zstd", asbytes=True)])
def test_a_short_truncated_stream_has_a_line_too(pack):
    """Fails while the first 64 bytes are looked at: 'a.jsonl: truncated compressed stream', no line, no hint."""
    packed = pack(ROW * 100)
    Path("a.jsonl").write_bytes(packed[:-3])
    with pytest.raises(DataError, match=r"a\.jsonl:\d+: .*runcated.*; try"):
        run("a.jsonl")


def test_a_folder_is_named_once():
    """DataError is a ValueError: _matches catches its own and says 'd: d: no dump'."""
    Path("d").mkdir()
    with pytest.raises(DataError, match=r"^d: no dump"):
        run("d")


def test_an_empty_name_is_not_the_working_directory():
    """`advcli compute "$DUMP"` with DUMP unset annotates every file below the working directory."""
    Path("a.jsonl").write_bytes(ROW * 2)
    with pytest.raises(AdvcliError):
        run("", out="out.jsonl")


def test_only_broken_lines_skipped_says_so():
    Path("a.jsonl").write_bytes(b"oops\nagain\n")
    with pytest.raises(DataError, match=r"not valid JSON|2 bad rows|broken"):
        run("a.jsonl", skip=True)


def test_dev_stdout_to_a_file():
    """The shell has made the file: 'exists already'. With --force the new file replaces the one that the shell holds open."""
    Path("a.jsonl").write_bytes(ROW * 2)
    with Path("o.jsonl").open("wb") as out:
        done = subprocess.run(
            [sys.executable, "-m", "advcli", "compute", "a.jsonl", "--out", "/dev/stdout", "-q"],
            check=False,
            stdout=out,
            stderr=subprocess.PIPE,
        )
    assert (done.returncode, done.stderr) == (0, b"")
    assert Path("o.jsonl").read_bytes() == DONE * 2


def test_dev_stdout_gets_rows_only():
    """The table is printed between the rows: --out /dev/stdout is not seen as standard output."""
    Path("a.jsonl").write_bytes(ROW * 2)
    assert cli("compute", "a.jsonl", "--out", "/dev/stdout").stdout == DONE * 2
