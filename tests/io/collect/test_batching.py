"""Small batches taken in together: the same table and the same error as one by one."""

import dataclasses
import json
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from advcli.common.errors import AdvcliError, DataError
from advcli.io.collect import batching
from advcli.io.collect.batch import BadRows, Batch
from advcli.io.collect.collector import Collector
from advcli.io.collect.numbering import line_numbers
from advcli.io.inputs import opened
from advcli.io.read import read
from advcli.records.table import Choice, ColumnOptions

CHOICE = Choice("generic", ("id",), None, (("reward", 1.0),))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def batch(name, ids, rewards, first=1):
    columns = {"id": pa.array(ids, pa.string()), "reward": rewards}
    return Batch(name, columns, np.arange(first, first + len(ids)))


def rows_of(chance, number):
    """Some rows; now and then a column is missing, of another type, or holds what it should not."""
    kind = chance.random()
    rows = []
    for _ in range(chance.choice([1, 2, 5, 9])):
        row = {"prompt_id": f"p{number // 2}", "step": number // 3, "reward": chance.random(), "text": "x"}
        if kind < 0.1:
            row["prompt_id"] = number // 2
        elif kind < 0.2:
            row["reward"] = str(row["reward"])
        elif kind < 0.3:
            row["reward"] = None if chance.random() < 0.5 else float("nan")
        elif kind < 0.4:
            del row["step"]
        elif kind < 0.5:
            row["reward"] = chance.choice([0, 1])
        rows.append(row)
    return rows


BROKEN = {
    "nothing": lambda row: row,
    "prompt": lambda row: row | {"prompt_id": None},
    "reward": lambda row: row | {"reward": "great"},
    "both": lambda row: row | {"reward": "great", "prompt_id": None},
}


def written(suffix, seed):
    """A folder of small files; where something is broken, it is in two of them."""
    chance = random.Random(seed)
    for number in range(14):
        rows = rows_of(chance, number)
        if number in (6, 9):
            row = chance.randrange(len(rows))
            rows[row] = BROKEN[chance.choice(list(BROKEN))](rows[row])
        if suffix == "parquet":
            names = dict.fromkeys(name for row in rows for name in row)
            kinds = {name: {type(row[name]) for row in rows if row.get(name) is not None} for name in names}
            mixed = {name for name, kind in kinds.items() if len(kind) > 1}
            columns = {
                name: [
                    str(row[name]) if name in mixed and row[name] is not None else row.get(name)
                    for row in rows
                ]
                for name in names
            }
            pq.write_table(pa.table(columns), f"{number}.parquet")
        else:
            lines = [json.dumps(row) for row in rows]
            if number == 11 and chance.random() < 0.2:
                lines.append("x")
            end = "\n" * (chance.random() < 0.8)
            Path(f"{number}.jsonl").write_text("\n".join(lines) + end)
    return [f"{number}.{suffix}" for number in range(14)]


def outcome(names, **rules):
    """What is read, column by column, or the words of the error."""
    try:
        with opened(names) as sources:
            table = read(sources, ColumnOptions(), **rules)
    except AdvcliError as error:
        return str(error)
    # Lines are numbered only where somebody has to: seen from outside, they always are.
    table = dataclasses.replace(table, lines=line_numbers(table))
    return {field.name: getattr(table, field.name) for field in dataclasses.fields(table)}


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
@pytest.mark.parametrize("rules", [{}, {"skip_bad_rows": True}, {"refuse_missing": True}], ids=str)
@pytest.mark.parametrize("seed", range(10))
def test_the_outcome_is_that_of_one_by_one(monkeypatch, suffix, rules, seed):
    names = written(suffix, seed)
    found = outcome(names, **rules)
    monkeypatch.setattr(batching, "_MAX_BATCH_ROWS", 0)
    np.testing.assert_equal(found, outcome(names, **rules))


def test_small_batches_are_one_for_the_collector(monkeypatch):
    taken, plain = [], Collector.add
    monkeypatch.setattr(Collector, "add", lambda self, one: taken.append(one) or plain(self, one))
    collector = Collector(CHOICE, BadRows())
    all_of_them = batching.BatchQueue(collector)
    for name, ids in (("a", ["x", "x"]), ("b", ["x"]), ("c", ["y", "y", "y"])):
        all_of_them.add(batch(name, ids, pa.array([1.0] * len(ids))))
    # Another type, and Python's values: they wait for nobody.
    all_of_them.add(batch("d", ["z"], pa.array([1])))
    all_of_them.add(batch("e", ["z"], [1]))
    all_of_them.flush()
    assert [len(one.lines) for one in taken] == [6, 1, 1]
    assert [taken[0].position(row) for row in range(6)] == ["a:1", "a:2", "b:1", "c:1", "c:2", "c:3"]
    table = collector.table([], (2, 1, 3, 1, 1), (frozenset(),) * 5)
    assert table.key.tolist() == [0, 0, 0, 1, 1, 1, 2, 2]


@pytest.mark.parametrize("limit", ["_MAX_QUEUED_ROWS", "_MAX_QUEUED_BYTES"])
def test_no_more_wait_than_may(monkeypatch, limit):
    monkeypatch.setattr(batching, limit, 1)
    collector = Collector(CHOICE, BadRows())
    waiting = batching.BatchQueue(collector)
    waiting.add(batch("a", ["x"] * 2, pa.array([1.0, 2.0])))
    assert not waiting._queued


def test_an_error_names_the_first_row_of_the_first_file():
    waiting = batching.BatchQueue(Collector(CHOICE, BadRows()))
    waiting.add(batch("a", ["x", None], pa.array(["1", "2"])))
    waiting.add(batch("b", ["x", "x"], pa.array(["great", "2"])))
    with pytest.raises(DataError, match=r"a:2: 'id' is null"):
        waiting.flush()


@pytest.mark.parametrize("skip", [False, True])
def test_a_line_that_is_broken_comes_after_the_rows_before_it(skip):
    """Rows that wait for others are older than what is found in the next file."""
    row = {"prompt_id": "a", "reward": 1.0}
    lines = {"a": row, "b": row | {"prompt_id": None}, "c": "x"}
    for name, line in lines.items():
        Path(f"{name}.jsonl").write_text(("x" if line == "x" else json.dumps(line)) + "\n")
    names = [f"{name}.jsonl" for name in lines]
    if skip:
        assert "2 bad rows skipped (first: b.jsonl:1: " in outcome(names, skip_bad_rows=True)["warnings"][0]
    else:
        assert outcome(names).startswith("b.jsonl:1: 'prompt_id' is null")
