"""Parquet: the copy is the original in every value, type and setting, and has four columns more."""

import decimal
import json
import os
import random

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from advcli.common.errors import DataError
from advcli.io.collect.batch import BadRows
from advcli.io.parquet import files
from advcli.io.parquet import read as parquet
from advcli.pipeline.compute import Output, compute
from advcli.pipeline.request import Request
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions, Source

NEW = ["adv_original", "adv_processed", "adv_kept", "adv_group"]
# Two groups of four.
BASE = {
    "prompt_id": ["a", "a", "a", "a", "b", "b", "b", "b"],
    "reward": [0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0],
}
FIRST, SECOND = 0.75**0.5, 0.5
ORIGINAL = [-FIRST, FIRST, -FIRST, FIRST, 1.5, -SECOND, -SECOND, -SECOND]


@pytest.fixture
def copied(tmp_path):
    """Write a table, compute, and open both files."""

    def run(table, *, rewards=(), **options):
        source, out = tmp_path / "a.parquet", tmp_path / "out.parquet"
        pq.write_table(table, source, **options)
        before = source.read_bytes()
        compute(
            Request((str(source),), Settings(), ColumnOptions(rewards=rewards)), Output(str(out), force=True)
        )
        assert source.read_bytes() == before
        return pq.ParquetFile(source), pq.ParquetFile(out)

    return run


def chunks(file, count):
    """Codec, physical type and path of each column chunk of the first row group."""
    group = file.metadata.row_group(0)
    found = (group.column(i) for i in range(count))
    return [(chunk.path_in_schema, chunk.physical_type, chunk.compression) for chunk in found]


def group_sizes(file):
    return [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]


def assert_copy(before, after):
    """Values, types, nullability, and the metadata of fields and schema, by pyarrow's own reader."""
    old, new = before.read(), after.read()
    assert new.column_names == old.column_names + NEW
    kept = new.select(old.column_names)
    for field, copy in zip(old.schema, kept.schema, strict=True):
        assert copy.equals(field, check_metadata=True)
    for name in old.column_names:
        assert repr(kept[name].to_pylist()) == repr(old[name].to_pylist())
        assert kept[name].equals(old[name]) or "nan" in repr(old[name].to_pylist())
    metadata = new.schema.metadata or {}
    assert {key: metadata.get(key) for key in old.schema.metadata or {}} == (old.schema.metadata or {})
    assert chunks(after, before.metadata.num_columns) == chunks(before, before.metadata.num_columns)
    assert group_sizes(after) == group_sizes(before)
    added = new.select(NEW)
    assert added.schema.types == [pa.float64(), pa.float64(), pa.bool_(), pa.int64()]
    return added.to_pydict()


def repeated(values, type_=None):
    """The values over and over, up to eight rows."""
    return pa.array((values * 8)[:8], type_)


def extension(type_, storage):
    return pa.ExtensionArray.from_storage(type_, storage)


COLUMNS = {
    "list of struct": repeated(
        [[{"role": "user", "content": "é"}], [], None, [None], [{"role": None, "content": ""}]]
    ),
    "map": repeated([[("k", 1), ("l", None)], [], None], pa.map_(pa.string(), pa.int64())),
    "struct of list": repeated([{"a": [1, None], "b": {"c": None}}, None, {"a": [], "b": None}]),
    "list of list": repeated([[[1], [], None], [], None]),
    "large list": repeated([["x"], [], None], pa.large_list(pa.string())),
    "fixed size list": repeated([[1, None], None], pa.list_(pa.int16(), 2)),
    "list of nothing": repeated([[], None], pa.list_(pa.null())),
    "dictionary": pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None, 0, 2, 1, 1, 2], pa.int8()), ["y", "x", "é"]
    ),
    "ordered dictionary": pa.DictionaryArray.from_arrays(
        pa.array([1, 0] * 4, pa.int16()), ["low", "high"], ordered=True
    ),
    "dictionary of integers": repeated([7, None, 9]).dictionary_encode(),
    "list of dictionary": pa.ListArray.from_arrays(
        pa.array(range(9), pa.int32()), repeated(["x", "y"]).dictionary_encode()
    ),
    "timestamp ns with zone": repeated([1, None, 2**62], pa.timestamp("ns", "Europe/Berlin")),
    "timestamp us": repeated([-1, None], pa.timestamp("us")),
    "timestamp ms with zone": repeated([1, None], pa.timestamp("ms", "+05:30")),
    "timestamp s": repeated([1, None], pa.timestamp("s")),
    "date32": repeated([1, None, -40_000], pa.date32()),
    "date64": repeated([86_400_000, None], pa.date64()),
    "time64": repeated([1, None], pa.time64("ns")),
    "duration": repeated([1, None, -5], pa.duration("ns")),
    "decimal128": repeated(
        [decimal.Decimal("1.10"), None, decimal.Decimal("-" + "9" * 20 + ".99")], pa.decimal128(38, 2)
    ),
    "decimal256": repeated([decimal.Decimal("9" * 60), None], pa.decimal256(60, 0)),
    "binary": repeated([b"\x00\xff", b"", None]),
    "large binary": repeated([b"\x00\xff", None], pa.large_binary()),
    "fixed size binary": repeated([b"\x00ab", None], pa.binary(3)),
    "float16": repeated([np.float16(1.5), None, np.float16("nan")], pa.float16()),
    "float32": repeated([0.1, None, -0.0], pa.float32()),
    "float64": repeated([0.1, None, float("nan"), float("inf"), -0.0, 5e-324]),
    "large string": repeated(["x", "", None], pa.large_string()),
    "string view": repeated(["x", "longer than twelve bytes", None], pa.string_view()),
    "string": repeated(["", None, "\u2028\x00\n", "😀"]),
    "uint64": repeated([2**64 - 1, None, 0], pa.uint64()),
    "int64": repeated([2**63 - 1, None, -(2**63)]),
    "uint8": repeated([255, None], pa.uint8()),
    "bool": repeated([True, None, False]),
    "null": pa.nulls(8),
    "uuid": extension(pa.uuid(), repeated([bytes(range(16)), None], pa.binary(16))),
    "json": extension(pa.json_(), repeated(['{"a":1}', None])),
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_every_kind_of_column_comes_out_as_it_was(copied, column):
    try:
        pq.write_table(pa.table({"x": column}), pa.BufferOutputStream())
    except pa.ArrowNotImplementedError as error:
        pytest.skip(f"this pyarrow writes no such column: {error}")
    added = assert_copy(*copied(pa.table({"x": column, **BASE, "y": column})))
    assert added["adv_original"] == pytest.approx(ORIGINAL)
    assert added["adv_processed"] == added["adv_original"]
    assert added["adv_kept"] == [True] * 8
    assert added["adv_group"] == [0, 0, 0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize("codec", ["NONE", "SNAPPY", "GZIP", "BROTLI", "ZSTD", "LZ4"])
def test_codec_is_kept_and_the_new_columns_have_it_too(copied, codec):
    before, after = copied(pa.table(BASE), compression=codec)
    assert_copy(before, after)
    new = chunks(after, 6)[2:]
    assert [path for path, _, _ in new] == NEW
    assert {compression for _, _, compression in new} == {codec.replace("NONE", "UNCOMPRESSED")}


def test_codec_is_kept_per_column(copied):
    table = pa.table({**BASE, "x": [[{"a": 1}]] * 8, "dotted.name": ["t"] * 8})
    codecs = {
        "prompt_id": "gzip",
        "reward": "none",
        "x.list.element.a": "zstd",
        "dotted.name": "brotli",
    }
    before, after = copied(table, compression=codecs)
    assert_copy(before, after)
    assert [codec for _, _, codec in chunks(after, 4)] == ["GZIP", "UNCOMPRESSED", "ZSTD", "BROTLI"]


def test_int96_timestamps_stay_int96(copied):
    table = pa.table({**BASE, "t": repeated([1, None, 2**60], pa.timestamp("ns"))})
    before, after = copied(table, use_deprecated_int96_timestamps=True)
    assert_copy(before, after)
    assert chunks(after, 3)[2][1] == "INT96"


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_row_groups_keep_their_size(copied, size):
    before, after = copied(pa.table(BASE), row_group_size=size)
    assert assert_copy(before, after)["adv_original"] == pytest.approx(ORIGINAL)
    assert group_sizes(after)[0] == size


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_batches_line_up_with_the_new_columns(copied, monkeypatch, size):
    """Long texts make many batches: each row keeps its own advantage."""
    monkeypatch.setattr(parquet, "_BATCH_BYTES", 20_000)
    rng = random.Random(0)
    rewards = [float(rng.randrange(5)) for _ in range(600)]
    table = pa.table(
        {
            "prompt_id": [i % 60 for i in range(600)],
            "reward": rewards,
            "x": [rng.randbytes(500) for _ in rewards],
        }
    )
    before, after = copied(table, row_group_size=size)
    old, new = before.read(), after.read()
    assert new.select(old.column_names).equals(old)
    frame = new.to_pandas()
    in_group = frame.groupby("prompt_id")["reward"]
    expected = (frame["reward"] - in_group.transform("mean")) / in_group.transform("std")
    np.testing.assert_allclose(frame["adv_original"], expected, rtol=1e-12)
    assert max(group_sizes(after)) <= size


def test_metadata_of_fields_and_schema_is_kept(copied):
    schema = pa.schema(
        [
            pa.field("prompt_id", pa.string(), metadata={"k": "v", b"\xff": b"\xfe"}),
            pa.field("reward", pa.float64(), nullable=False),
        ],
        metadata={"run": "r1", b"\xff": b"\x00"},
    )
    before, after = copied(pa.table(BASE, schema=schema))
    assert_copy(before, after)
    assert not after.schema_arrow.field("reward").nullable
    assert after.schema_arrow.metadata[b"run"] == b"r1"


def test_settings_and_version_travel_in_the_metadata(copied):
    from advcli import __version__

    _, after = copied(pa.table(BASE))
    told = json.loads(after.schema_arrow.metadata[b"advcli/adv_"])
    assert told["version"] == __version__
    assert (told["estimator"], told["scale"], told["reward"]) == ("grpo", "group", {"reward": 1.0})


FRAMES = {
    "range index": lambda frame: frame,
    "shifted range": lambda frame: frame.set_index(pd.RangeIndex(5, 21, 2, name="i")),
    "named index": lambda frame: frame.set_index(pd.Index(list("abcdefgh"), name="key")),
    "two levels": lambda frame: frame.set_index(pd.MultiIndex.from_product([[1, 2], list("abcd")])),
    "categories": lambda frame: frame.assign(
        c=pd.Categorical(list("abababab"), categories=list("cba"), ordered=True)
    ),
    "zones": lambda frame: frame.assign(t=pd.date_range("2020-01-01", periods=8, tz="UTC").as_unit("ns")),
    "nullable": lambda frame: frame.assign(n=pd.array([1, None] * 4, dtype="Int64")),
    "periods": lambda frame: frame.assign(p=pd.period_range("2020-01", periods=8, freq="M")),
}


@pytest.mark.parametrize("change", FRAMES.values(), ids=FRAMES)
def test_pandas_reads_the_copy_as_it_read_the_original(copied, tmp_path, change):
    frame = change(pd.DataFrame(BASE))
    assert_copy(*copied(pa.Table.from_pandas(frame)))
    old, new = pd.read_parquet(tmp_path / "a.parquet"), pd.read_parquet(tmp_path / "out.parquet")
    pd.testing.assert_frame_equal(new.drop(columns=NEW), old)
    pd.testing.assert_frame_equal(old, frame)


def test_a_file_of_another_writer_without_arrow_s_own_schema(copied):
    table = pa.table({**BASE, "x": repeated(["a", None]), "l": repeated([[1], None])})
    before, after = copied(table, store_schema=False, version="1.0", data_page_version="2.0")
    assert_copy(before, after)


@pytest.mark.parametrize("names", [["a.b", "a"], ["", " "], ["é", "adv"], ["a.list.element", "a"]])
def test_odd_column_names(copied, names):
    table = pa.table({**BASE, names[0]: repeated([1, None]), names[1]: repeated([[{"b": 1}], None])})
    assert_copy(*copied(table))


def test_a_column_with_a_dot_is_read_as_itself(copied):
    table = pa.table({"prompt_id": BASE["prompt_id"], "r": [{"x": 9.0}] * 8, "r.y": BASE["reward"]})
    added = assert_copy(*copied(table, rewards=(("r.y", 1.0),)))
    assert added["adv_original"] == pytest.approx(ORIGINAL)


@pytest.mark.parametrize("name", NEW)
def test_a_column_of_ours_is_refused(copied, name):
    with pytest.raises(DataError, match=rf"a\.parquet: the column {name} is there already.*--prefix"):
        copied(pa.table({**BASE, name: [1] * 8}))


def test_a_name_that_is_there_twice_is_refused(copied):
    table = pa.Table.from_arrays(
        [pa.array(BASE["prompt_id"]), *[pa.array(BASE["reward"])] * 2], ["p", "r", "r"]
    )
    with pytest.raises(DataError, match=r"a\.parquet: the column r is there twice, expected unique names"):
        copied(table)


@pytest.mark.parametrize("groups", [0, 1])
def test_no_rows_is_an_error(tmp_path, groups):
    empty = pa.table(BASE).slice(0, 0)
    with pq.ParquetWriter(tmp_path / "a.parquet", empty.schema) as writer:
        for _ in range(groups):
            writer.write_table(empty)
    with pytest.raises(DataError, match=r"a\.parquet: no rows, expected one per response") as error:
        compute(Request((str(tmp_path / "a.parquet"),), Settings(), ColumnOptions()), Output())
    assert error.value.exit_code == 3
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


@pytest.fixture
def damaged(tmp_path):
    """Compute on a parquet file of four row groups after a change of its bytes."""
    table = pa.table({**{k: v * 500 for k, v in BASE.items()}, "x": [os.urandom(30) for _ in range(4000)]})
    pq.write_table(table, tmp_path / "good.parquet", row_group_size=1000)
    good = (tmp_path / "good.parquet").read_bytes()

    def run(change):
        (tmp_path / "a.parquet").write_bytes(change(good))
        compute(
            Request((str(tmp_path / "a.parquet"),), Settings(), ColumnOptions()),
            Output(str(tmp_path / "out.parquet")),
        )

    return run


DAMAGE = {
    "cut at the end": lambda data: data[:-100],
    "cut in the middle": lambda data: data[: len(data) // 2],
    "magic bytes only": lambda data: b"PAR1",
    "zeros in the data": lambda data: (
        data[: len(data) // 2] + bytes(20_000) + data[len(data) // 2 + 20_000 :]
    ),
    "zeros in the keys": lambda data: data[:4] + bytes(60) + data[64:],
    "zeros in the footer": lambda data: data[:-60] + bytes(52) + data[-8:],
    "footer of another length": lambda data: data[:-8] + b"\xff\xff\xff\x7f" + data[-4:],
}


@pytest.mark.parametrize("change", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_an_error_and_leaves_no_output(damaged, tmp_path, change):
    with pytest.raises(DataError, match=r"a\.parquet: not a readable parquet file \(.+\)"):
        damaged(change)
    assert {path.name for path in tmp_path.iterdir()} == {"good.parquet", "a.parquet"}


def source(tmp_path, table):
    pq.write_table(table, tmp_path / "s.parquet", row_group_size=3)
    return Source("s.parquet", tmp_path / "s.parquet", "parquet")


def test_scan_reads_only_the_named_columns(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "_MAX_ROWS", 3)
    there = source(tmp_path, pa.table({**BASE, "text": ["x"] * 8}))
    batches = list(parquet.scan(there, ("reward", "gone"), refused=(), bad_rows=BadRows(), dropped=set()))
    assert {name for batch in batches for name in batch.columns} == {"reward", "gone"}
    assert [cell for batch in batches for cell in batch.columns["reward"].to_pylist()] == BASE["reward"]
    assert [cell for batch in batches for cell in batch.columns["gone"].to_pylist()] == [None] * 8
    places = [batch.position(i) for batch in batches for i in range(len(batch.lines))]
    assert places == [f"s.parquet:{i}" for i in range(1, 9)]


def test_scan_counts_rows_even_without_columns(tmp_path):
    batches = parquet.scan(
        source(tmp_path, pa.table(BASE)), (), refused=(), bad_rows=BadRows(), dropped=set()
    )
    assert sum(len(batch.lines) for batch in batches) == 8


def test_shapes_are_those_of_the_schema(tmp_path):
    table = pa.table({**BASE, "l": [[1]] * 8, "n": pa.nulls(8), "t": pa.array([0] * 8, pa.timestamp("s"))})
    assert parquet.columns(source(tmp_path, table)) == {
        "prompt_id": "text",
        "reward": "number",
        "l": "list",
        "n": "null",
        "t": "other",
    }


def test_the_head_is_a_few_rows_without_binary_columns(tmp_path):
    table = pa.table({**BASE, "l": [[1]] * 8, "b": pa.array([b"x"] * 8)})
    assert parquet.head(source(tmp_path, table), 2) == [
        {"prompt_id": "a", "reward": 0.0, "l": [1]},
        {"prompt_id": "a", "reward": 1.0, "l": [1]},
    ]


def test_objects_are_all_columns(tmp_path):
    table = pa.table({**BASE, "l": [[1]] * 8})
    assert pa.Table.from_batches(parquet.objects(source(tmp_path, table))).equals(table)


def test_a_row_group_that_fits_is_a_batch_however_it_is_encoded(tmp_path, monkeypatch):
    """A text that is repeated is stored once: what a file tells of its size may be a hundredth of what it holds."""
    table = pa.table({"a": range(100), "long": ["x" * 1000] * 100, "l": [["y" * 500] * 9] * 100})
    pq.write_table(table, tmp_path / "a.parquet")
    file = files.File("a.parquet", pa.OSFile(str(tmp_path / "a.parquet")))
    for columns in (["a"], ["long"], ["l"], ["a", "long"], None):
        size = table.select(columns or table.column_names).nbytes
        for limit in (100 * 2**power for power in range(24)):
            monkeypatch.setattr(parquet, "_BATCH_BYTES", limit)
            if parquet._is_one_batch(file, 0, columns):
                assert limit >= size
    monkeypatch.setattr(parquet, "_BATCH_BYTES", 32 << 20)
    assert parquet._is_one_batch(file, 0, ["a"])
    monkeypatch.setattr(parquet, "_MAX_ROWS", 99)
    assert not parquet._is_one_batch(file, 0, ["a"])
