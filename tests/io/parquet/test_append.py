"""Columns appended to the bytes of a parquet file, beside the same file written again."""

import io
import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from advcli.common.errors import DataError
from advcli.io.parquet import append, column_chunks
from advcli.io.parquet import read as parquet
from advcli.io.parquet.column_chunks import Chunks
from advcli.io.slices import Slices
from advcli.records.table import Source

ADDED = pa.schema(
    [("adv_original", pa.float64()), ("adv_kept", pa.bool_()), ("adv_tokens", pa.list_(pa.float64()))]
)


def table(rows, chance):
    return pa.table(
        {
            "id": pa.array([f"p{row // 4}" for row in range(rows)]).cast(
                chance.choice([pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
            ),
            "reward": pa.array(
                [None if chance.random() < 0.1 else chance.random() for _ in range(rows)], pa.float32()
            ),
            "text": ["é" * chance.randrange(50) for _ in range(rows)],
            "nested": [[{"a": row, "b": [None, 0.5]}] * chance.randrange(3) for row in range(rows)],
            "when": pa.array(range(rows), pa.timestamp("ms", "UTC")),
            "none": pa.nulls(rows),
            "bytes": [b"\x00" * chance.randrange(5) for _ in range(rows)],
        }
    ).replace_schema_metadata({"run": "r1"} if chance.random() < 0.5 else None)


def new_columns(rows):
    values = np.arange(rows) / 8
    lists = [[float(row)] * (row % 3) if row % 5 else None for row in range(rows)]
    return pa.table(
        [
            pa.array(values, mask=np.arange(rows) % 7 == 0),
            pa.array(np.arange(rows) % 2 == 0),
            pa.array(lists, ADDED[2].type),
        ],
        schema=ADDED,
    )


def options(chance):
    return {
        "row_group_size": chance.choice([7, 50, 1000]),
        "compression": chance.choice(["none", "snappy", "zstd", "gzip", "brotli", "lz4"]),
        "use_dictionary": chance.choice([True, False]),
        "data_page_version": chance.choice(["1.0", "2.0"]),
        "version": chance.choice(["1.0", "2.4", "2.6"]),
        "store_schema": chance.choice([True, True, False]),
        "write_page_index": chance.choice([True, False]),
        "write_page_checksum": chance.choice([True, False]),
        "use_compliant_nested_type": chance.choice([True, False]),
        "use_deprecated_int96_timestamps": chance.choice([True, False, False]),
        "data_page_size": chance.choice([100, 1 << 20]),
    }


@pytest.mark.parametrize("seed", range(60))
def test_the_copy_reads_as_one_that_was_decoded(tmp_path, seed):
    chance = random.Random(seed)
    rows = chance.choice([1, 8, 100, 333])
    path = tmp_path / "a.parquet"
    pq.write_table(table(rows, chance), path, **options(chance))
    source = Source("a.parquet", path, "parquet")
    fast, plain = io.BytesIO(), io.BytesIO()
    about = {"advcli/adv_": '{"version": "1"}'}
    assert append.annotate(source, fast, Chunks(new_columns(rows)), about)
    parquet.annotate(source, plain, Slices(new_columns(rows)), about)
    one, other = pq.ParquetFile(fast), pq.ParquetFile(plain)
    # Dictionaries may be cut in other places, so values are compared.
    assert one.read().to_pylist() == other.read().to_pylist()
    assert one.read().select(pq.read_schema(path).names).to_pylist() == pq.read_table(path).to_pylist()
    assert one.read().select(ADDED.names).equals(new_columns(rows))
    # A file without arrow's schema gets none; else the two say the same.
    stored = b"ARROW:schema" in (pq.read_metadata(path).metadata or {})
    assert one.schema_arrow.equals(other.schema_arrow, check_metadata=stored)
    assert one.metadata.metadata[b"advcli/adv_"] == about["advcli/adv_"].encode()
    groups = range(one.num_row_groups)
    assert [one.metadata.row_group(i).num_rows for i in groups] == [
        other.metadata.row_group(i).num_rows for i in groups
    ]
    assert one.read_row_group(one.num_row_groups - 1).equals(other.read_row_group(other.num_row_groups - 1))
    before = path.read_bytes()
    length = int.from_bytes(before[-8:-4], "little")
    assert fast.getvalue().startswith(before[: -8 - length])


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
@pytest.mark.parametrize("nulls", [False, True])
def test_a_column_that_is_another_one_is_a_copy_of_its_bytes(tmp_path, compression, nulls):
    path, rows = tmp_path / "a.parquet", 100
    pq.write_table(pa.table({"a": range(rows)}), path, row_group_size=30, compression=compression)
    one = pa.array(np.arange(rows) / 8, mask=np.arange(rows) % 7 == 0 if nulls else None)
    group, text = pa.array(np.arange(rows) // 8), pa.array(["x", "yy"] * (rows // 2))
    equal = pa.array(one.to_pylist())
    added = pa.table({"o": one, "p": one, "g": group, "e": equal, "t": text, "q": one, "h": group, "u": text})
    out = io.BytesIO()
    assert append.annotate(Source("a", path, "parquet"), out, Chunks(added), {})
    file = pq.ParquetFile(out)
    assert file.read().equals(
        pa.table({"a": range(rows), **dict(zip(added.column_names, added, strict=True))})
    )
    assert file.schema_arrow.names == ["a", *added.column_names]
    assert column_chunks._first_with_same_memory(added) == [0, 0, 2, 3, 4, 0, 2, 4]
    ends = [(0, 4)]
    for place in range(file.num_row_groups):
        said = file.metadata.row_group(place)
        parts = [said.column(i) for i in range(said.num_columns)]
        assert [chunk.path_in_schema for chunk in parts] == file.schema_arrow.names
        assert said.total_byte_size == sum(chunk.total_uncompressed_size for chunk in parts)
        starts = [
            chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
            for chunk in parts
        ]
        ends += [
            (start, start + chunk.total_compressed_size) for start, chunk in zip(starts, parts, strict=True)
        ]
        bytes_of = {
            chunk.path_in_schema: out.getvalue()[start : start + chunk.total_compressed_size]
            for start, chunk in zip(starts, parts, strict=True)
        }
        assert bytes_of["o"] == bytes_of["p"] == bytes_of["q"]
        assert parts[1].statistics.max == parts[2].statistics.max == parts[6].statistics.max
    # No two chunks share a byte, and none is lost between them.
    ends.sort()
    assert all(end == start for (_, end), (start, _) in pairwise(ends))
    for number in range(file.num_row_groups):
        assert file.read_row_group(number).equals(file.read().slice(number * 30, 30))


def test_numbers_of_groups_are_stored_as_differences(tmp_path):
    path, rows = tmp_path / "a.parquet", 10_000
    pq.write_table(pa.table({"a": range(rows)}), path)
    out = io.BytesIO()
    new = pa.table({"g": pa.array(np.arange(rows) // 8, mask=np.arange(rows) % 99 == 5)})
    assert append.annotate(Source("a", path, "parquet"), out, Chunks(new), {})
    chunk = pq.ParquetFile(out).metadata.row_group(0).column(1)
    assert "DELTA_BINARY_PACKED" in chunk.encodings
    assert pq.ParquetFile(out).read()["g"].to_pylist() == new["g"].to_pylist()


def test_what_is_written_can_be_added_to_again(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": range(10)}), path, row_group_size=4)
    for place in range(3):
        out = io.BytesIO()
        new = Chunks(pa.table({f"n{place}": range(10)}))
        assert append.annotate(Source("a", path, "parquet"), out, new, {"k": str(place)})
        path.write_bytes(out.getvalue())
    found = pq.ParquetFile(path)
    assert found.read().to_pydict() == {name: list(range(10)) for name in ("a", "n0", "n1", "n2")}
    assert found.metadata.metadata[b"k"] == b"2"


def test_a_file_without_rows(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": pa.array([], pa.int8())}), path)
    out = io.BytesIO()
    done = append.annotate(Source("a", path, "parquet"), out, Chunks(new_columns(0)), {})
    assert not done or pq.read_table(out).schema.names == ["a", *ADDED.names]


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:-4] + b"PARE",
        lambda data: data[:-8] + b"\x00\x00\x00\x00PAR1",
        lambda data: data[:-9] + b"\x01" + data[-8:],
    ],
    ids=["encrypted", "no footer", "a footer that does not end"],
)
def test_an_odd_footer_is_left_alone(tmp_path, change):
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": [1]}), sink)
    (tmp_path / "a").write_bytes(change(sink.getvalue()))
    out = io.BytesIO()
    assert not append.annotate(Source("a", tmp_path / "a", "parquet"), out, Chunks(new_columns(1)), {})
    assert not out.getvalue()


@pytest.mark.parametrize("hole", [True, False])
def test_an_empty_block_is_an_error_only_where_it_is_damage(tmp_path, hole):
    path = tmp_path / "a.parquet"
    zeros = pa.table(
        {"a": [bytes(30_000)] * 5 if not hole else [f"{row} {row % 97}, " * 5 for row in range(9999)]}
    )
    pq.write_table(zeros, path, compression="none" if not hole else "snappy", use_dictionary=False)
    data = path.read_bytes()
    path.write_bytes(data[:40_000] + bytes(20_000) + data[60_000:] if hole else data)
    source, out = Source("a.parquet", path, "parquet"), io.BytesIO()
    if hole:
        with pytest.raises(DataError, match=r"a\.parquet: not a readable parquet file"):
            append.annotate(source, out, Chunks(new_columns(5)), {})
    else:
        assert append.annotate(source, out, Chunks(new_columns(5)), {})
        assert pq.read_table(out).select(["a"]).equals(zeros)


SAMPLES = sorted((Path(__file__).parents[1] / "data").rglob("*.parquet"))


@pytest.mark.parametrize("path", SAMPLES, ids=[path.parent.name for path in SAMPLES])
def test_dumps_of_frameworks(path):
    rows = pq.read_metadata(path).num_rows
    out = io.BytesIO()
    assert append.annotate(Source("a", path, "parquet"), out, Chunks(new_columns(rows)), {})
    assert pq.read_table(out).select(pq.read_schema(path).names).equals(pq.read_table(path))
