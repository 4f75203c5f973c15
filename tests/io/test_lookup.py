"""Going back to the files: rows by their place, rows by their key, rows that are there twice."""

import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from advcli.io.inputs import opened
from advcli.io.lookup import duplicates, read_back, rows_with_key
from advcli.io.read import read
from advcli.records.table import ColumnOptions

ROWS = [
    {
        "uid": f"u{n // 3}",
        "reward": float(n % 2),
        "text": "é" * n,
        "chat": [{"role": "user", "content": str(n)}],
    }
    for n in range(30)
]


def jsonl(path, rows, sep="\n"):
    path.write_text("".join(json.dumps(row) + sep for row in rows))
    return path


def parquet(path, rows, **options):
    pq.write_table(pa.Table.from_pylist(rows), path, **options)
    return path


WRITERS = {"jsonl": jsonl, "parquet": parquet}


def open_table(stack, *paths, **options):
    sources = stack.enter_context(opened([str(path) for path in paths]))
    return sources, read(sources, ColumnOptions(prompt="uid"), **options)


@pytest.fixture
def stack():
    from contextlib import ExitStack

    with ExitStack() as held:
        yield held


@pytest.mark.parametrize("kind", WRITERS)
def test_read_back_across_files_and_row_groups(kind, tmp_path, stack):
    options = {"row_group_size": 7} if kind == "parquet" else {}
    one = WRITERS[kind](tmp_path / f"a.{kind}", ROWS[:20], **options)
    two = WRITERS[kind](tmp_path / f"b.{kind}", ROWS[20:], **options)
    sources, table = open_table(stack, one, two)
    wanted = [29, 0, 6, 7, 19, 20]
    assert read_back(sources, table, wanted) == {place: ROWS[place] for place in wanted}
    assert read_back(sources, table, [16]) == {16: ROWS[16]}
    assert read_back(sources, table, []) == {}


def test_read_back_counts_rows_not_lines(tmp_path, stack):
    lines = [json.dumps(row) for row in ROWS[:4]]
    path = tmp_path / "f.jsonl"
    path.write_text(f"{lines[0]}\n\n{{broken\n{{broken\n{lines[1]}\n{lines[2]}\n  \n{lines[3]}\n")
    sources, table = open_table(stack, path, skip_bad_rows=True)
    assert read_back(sources, table, [1, 3]) == {1: ROWS[1], 3: ROWS[3]}
    assert rows_with_key(sources, table, "u1") == [3]
    assert duplicates(sources, table) == 0


@pytest.mark.parametrize("kind", WRITERS)
def test_rows_with_key(kind, tmp_path, stack):
    one = WRITERS[kind](tmp_path / f"a.{kind}", ROWS[:20])
    two = WRITERS[kind](tmp_path / f"b.{kind}", ROWS[15:])
    sources, table = open_table(stack, one, two)
    # u5 is rows 15 to 17, which are in both files.
    assert rows_with_key(sources, table, "u5") == [15, 16, 17, 20, 21, 22]
    assert rows_with_key(sources, table, "u") == []


@pytest.mark.parametrize("kind", WRITERS)
def test_duplicates_are_rows_equal_in_every_column(kind, tmp_path, stack):
    near = [
        {**ROWS[0], "text": "other"},
        {**ROWS[0], "reward": 0.5},
        {**ROWS[0], "chat": []},
        {**ROWS[0], "uid": "x"},
    ]
    rows = [*ROWS, ROWS[3], *near, ROWS[3], ROWS[0]]
    sources, table = open_table(stack, WRITERS[kind](tmp_path / f"a.{kind}", rows))
    assert len(rows) - len(pd.Series([json.dumps(row) for row in rows]).unique()) == 3
    assert duplicates(sources, table) == 3


@pytest.mark.parametrize("kind", WRITERS)
def test_duplicates_across_files(kind, tmp_path, stack):
    one = WRITERS[kind](tmp_path / f"a.{kind}", ROWS[:20])
    two = WRITERS[kind](tmp_path / f"b.{kind}", ROWS[15:])
    sources, table = open_table(stack, one, two)
    assert duplicates(sources, table) == 5


def test_null_zero_and_swapped_columns_are_different(tmp_path, stack):
    columns = {
        "uid": pa.array(["a", "a", "a", "a", "a"]),
        "reward": pa.array([0.0, 0.0, 0.0, 0.0, 0.0]),
        "left": pa.array([None, 0, 1, 2, None], pa.int64()),
        "right": pa.array([None, 0, 2, 1, None], pa.int64()),
        "kind": pa.array(["x", "x", "x", "x", "x"]).dictionary_encode(),
        "when": pa.array([0, 0, 0, 0, 0], pa.timestamp("s")),
    }
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table(columns), path)
    sources, table = open_table(stack, path)
    assert duplicates(sources, table) == 1


def test_last_line_without_an_end_and_space_around(tmp_path, stack):
    line = json.dumps(ROWS[0])
    path = tmp_path / "f.jsonl"
    path.write_text(f"{line}\n  {line} \n{line}")
    sources, table = open_table(stack, path)
    assert duplicates(sources, table) == 2


def nested(rows):
    return {"prompt": "q", "rollouts": rows}


def as_lists(rows):
    return {"prompt": "q", **{name: [row[name] for row in rows] for name in rows[0]}}


ROLLOUTS = [[{"reward": float(n), "text": f"t{record}{n}"} for n in range(3)] for record in range(3)]


@pytest.mark.parametrize("laid", [nested, as_lists])
@pytest.mark.parametrize("kind", ["jsonl", "parquet", "json"])
def test_rows_that_lie_in_a_record(kind, laid, tmp_path, stack):
    records = [{**laid(rows), "prompt": f"p{place}"} for place, rows in enumerate(ROLLOUTS)]
    path = tmp_path / f"f.{kind}"
    if kind == "json":
        path.write_text(json.dumps(records, indent=1))
    else:
        WRITERS[kind](path, records)
    sources = stack.enter_context(opened([str(path)]))
    table = read(sources, ColumnOptions())
    assert len(table.rewards) == 9
    want = {row: {"prompt": f"p{row // 3}", **ROLLOUTS[row // 3][row % 3]} for row in (0, 4, 8)}
    assert read_back(sources, table, [8, 0, 4]) == want
    assert rows_with_key(sources, table, "p1") == [3, 4, 5]
    assert duplicates(sources, table) == 0


@pytest.mark.parametrize("laid", [nested, as_lists])
@pytest.mark.parametrize("kind", WRITERS)
def test_duplicates_within_and_across_records(kind, laid, tmp_path, stack):
    again = [*ROLLOUTS[0], ROLLOUTS[0][1]]
    path = WRITERS[kind](tmp_path / f"f.{kind}", [laid(rows) for rows in (again, ROLLOUTS[1], ROLLOUTS[0])])
    sources = stack.enter_context(opened([str(path)]))
    # One within the first record, three in the last.
    assert duplicates(sources, read(sources, ColumnOptions())) == 4


def test_a_prompt_that_is_a_path_is_read_back(tmp_path, stack):
    rows = [{"meta": {"id": f"a{n // 2}"}, "reward": n % 2} for n in range(4)]
    sources = stack.enter_context(opened([str(jsonl(tmp_path / "f.jsonl", rows))]))
    table = read(sources, ColumnOptions(prompt="meta.id"))
    assert rows_with_key(sources, table, "a1") == [2, 3]
    assert read_back(sources, table, [2]) == {2: {**rows[2], "meta.id": "a1"}}


def test_rows_that_are_left_out_are_no_duplicates(tmp_path, stack):
    rows = [{"prompt": "p", "step": step, "reward": n} for step in (1, 2) for n in range(2)]
    names = [str(jsonl(tmp_path / f"{name}.jsonl", some)) for name, some in (("a", rows), ("b", rows[:2]))]
    sources = stack.enter_context(opened(names))
    assert duplicates(sources, read(sources, ColumnOptions())) == 2
    # The group of step 1 is that of step 2, and the second file holds it again.
    assert duplicates(sources, read(sources, ColumnOptions(dedup=True))) == 0
