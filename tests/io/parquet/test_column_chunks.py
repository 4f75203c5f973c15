"""Row groups of new columns: written ahead for several files, they are what each file's own are."""

import io
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from advcli.io.parquet import append, column_chunks
from advcli.io.parquet.column_chunks import ChunkFormat, Chunks
from advcli.records.table import Source

LOOK = ChunkFormat("snappy", compliant=True)


def new_columns(rows):
    values = np.arange(rows) / 8
    lists = [[float(row)] * (row % 3) if row % 5 else None for row in range(rows)]
    return pa.table(
        {
            "adv_original": pa.array(values, mask=np.arange(rows) % 7 == 0),
            "adv_kept": pa.array(np.arange(rows) % 2 == 0),
            "adv_tokens": pa.array(lists, pa.list_(pa.float64())),
        }
    )


@pytest.fixture
def writers(monkeypatch):
    """The sizes of the groups that each writer was asked for."""
    found, plain = [], column_chunks.written

    def counted(table, sizes, look):
        found.append(list(sizes))
        return plain(table, sizes, look)

    monkeypatch.setattr(column_chunks, "written", counted)
    return found


def same(one, other):
    """Whether two groups are the same, wherever they lie."""
    places = []
    for group in (one, other):
        for column in column_chunks.structs(group.metadata, column_chunks.COLUMNS):
            column_chunks.move(column, 4 - group.start)
        places.append(group.metadata[column_chunks.COLUMNS])
    return places[0] == places[1] and (one.rows, one.body) == (other.rows, other.body)


def test_the_groups_of_small_files_are_written_at_once(writers):
    sizes = [3, 0, 5, 1]
    shared = Chunks(new_columns(9), sizes)
    start = 0
    for size in sizes:
        part = shared.part(start)
        if size:
            assert same(part(size, LOOK), Chunks(new_columns(9).slice(start, size))(size, LOOK))
        start += size
    assert writers == [[3, 5, 1], [3], [5], [1]]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        # The second file has another codec, so what was written for it is of no use; nor for the third.
        ([(3, LOOK), (4, ChunkFormat("zstd", compliant=True)), (2, LOOK)], [[3, 4, 2], [4, 2], [2]]),
        # The second file has two row groups.
        ([(3, LOOK), (1, LOOK), (3, LOOK), (2, LOOK)], [[3, 4, 2], [1], [3], [2]]),
    ],
    ids=["codec", "groups"],
)
def test_what_was_written_for_something_else_is_not_used(writers, asked, expected):
    shared, start = Chunks(new_columns(9), [3, 4, 2]), 0
    for rows, look in asked:
        part = shared.part(start)
        assert same(part(rows, look), Chunks(new_columns(9).slice(start, rows))(rows, look))
        start += rows
    assert writers[::2] == expected


def test_only_so_much_is_written_ahead(writers, monkeypatch):
    monkeypatch.setattr(column_chunks, "_MAX_ROWS", 10)
    Chunks(new_columns(30), [4, 6, 1, 19])(4, LOOK)
    Chunks(new_columns(30), [4, 7, 19])(4, LOOK)
    Chunks(new_columns(30), [20, 1, 9])(20, LOOK)
    monkeypatch.setattr(column_chunks, "_MAX_BYTES", 1)
    Chunks(new_columns(30), [4, 6, 20])(4, LOOK)
    assert writers == [[4, 6], [4], [20], [4]]


def test_rows_are_told_as_they_are_done():
    done = []
    shared = Chunks(new_columns(9), [3, 6], done.append)
    for start, sizes in ((0, [3]), (3, [2, 4])):
        part = shared.part(start)
        for size in sizes:
            part(size, LOOK)
    assert done == [3, 5, 9]


@pytest.mark.parametrize("seed", range(20))
def test_copies_of_many_files_are_those_of_each(tmp_path, seed):
    chance = random.Random(seed)
    sizes = [chance.choice([0, 1, 7, 40, 300]) for _ in range(12)]
    added = new_columns(sum(sizes))
    shared, start = Chunks(added, sizes), 0
    for place, size in enumerate(sizes):
        table = pa.table(
            {
                "a": range(size),
                "text": ["é" * (row % 9) for row in range(size)],
                "l": [[row] for row in range(size)],
            }
        )
        path = tmp_path / f"{place}.parquet"
        pq.write_table(
            table,
            path,
            row_group_size=chance.choice([5, 1000]),
            compression=chance.choice(["snappy", "snappy", "zstd"]),
            use_compliant_nested_type=chance.random() < 0.8,
        )
        source = Source(path.name, path, "parquet")
        together, alone = io.BytesIO(), io.BytesIO()
        done = append.annotate(source, together, shared.part(start), {"k": "v"})
        assert done == append.annotate(source, alone, Chunks(added.slice(start, size)), {"k": "v"})
        assert together.getvalue() == alone.getvalue()
        if done and size:
            assert pq.read_table(together).select(added.column_names).equals(added.slice(start, size))
        start += size
