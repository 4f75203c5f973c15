"""Exact repeats: what is one, and what only looks like one."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from advcli.io.collect.duplicates import digests, repeats
from advcli.io.inputs import opened
from advcli.io.read import read
from advcli.pipeline.compute import Output, compute
from advcli.pipeline.request import Request
from advcli.records.layout import PLAIN, Layout
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions


def rows(step, texts, prompt="p", **more):
    return [
        {"step": step, "prompt": prompt, "completion": text, "reward": float(len(text)), **more}
        for text in texts
    ]


@pytest.fixture
def left_out(tmp_path, monkeypatch):
    """Which rows are left out, by their place in the data set."""
    monkeypatch.chdir(tmp_path)

    def run(*files, layout="jsonl", **options):
        names = [f"{number}.{layout}" for number in range(len(files))]
        for name, content in zip(names, files, strict=True):
            if layout == "jsonl":
                (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in content))
            else:
                pq.write_table(pa.Table.from_pylist(content), tmp_path / name)
        with opened(names) as sources:
            table = read(sources, ColumnOptions(dedup=True, **options))
        out = np.flatnonzero(table.key < 0).tolist()
        said = [text for text in table.warnings if "exact repeat" in text]
        assert bool(out) == bool(said)
        return out

    return run


@pytest.mark.parametrize("layout", ["jsonl", "parquet"])
def test_a_group_under_several_steps(left_out, layout):
    assert left_out(rows(1, "ab"), rows(2, "ab"), rows(3, "ac"), layout=layout) == [2, 3]
    assert left_out(
        rows(1, "ab") + rows(1, "cd", "q"), rows(2, "cd", "q") + rows(2, "ax"), layout=layout
    ) == [4, 5]


def test_a_file_that_was_copied(left_out):
    assert left_out(rows(1, ("a", "bb")), rows(1, ("a", "bb"))) == [2, 3]


def test_two_equal_answers_are_no_repeat(left_out):
    assert left_out(rows(1, "aabb")) == []
    assert left_out(rows(1, "abab")) == []


@pytest.mark.parametrize("other", [{"reward": 9.0}, {"completion": "z"}, {"extra": None}])
def test_a_difference_in_any_column_is_no_repeat(left_out, other):
    first, second = rows(1, "ab"), rows(2, "ab")
    second[0] |= other
    assert left_out(first, second) == []


def test_another_order_is_no_repeat(left_out):
    assert left_out(rows(1, "ab"), rows(2, "ba")) == []


def test_a_group_of_one_is_no_repeat(left_out):
    assert left_out(rows(1, "a") + rows(1, "bc", "q"), rows(2, "a") + rows(2, "xy", "q")) == []


def test_rows_with_a_number_of_their_own(left_out):
    """A resumed run appends its rows to the same file."""
    numbered = [row | {"sample_idx": place} for place, row in enumerate(rows(1, "aab"))]
    assert left_out(numbered + numbered[1:]) == [3, 4]
    assert left_out([row | {"sample_idx": 0} for row in rows(1, "ab")]) == []


def test_lines_of_lists(left_out):
    line = {"prompt": ["p", "p"], "completion": ["a", "b"], "Format": [1.0, 0.0]}
    assert left_out([line | {"step": ["1", "1"]}, line | {"step": ["2", "2"]}]) == [2, 3]


def test_the_step_and_the_order_of_keys_do_not_count():
    one, two = {"step": 1, "a": 2, "b": [3]}, {"b": [3], "global_step": 7, "a": 2}
    assert digests(one, PLAIN) == digests(two, PLAIN) != digests({"a": 2, "b": [4]}, PLAIN)
    assert len(digests({"s": [{"r": 1}, {"r": 1}]}, Layout("nested", "s"))) == 2


def test_numbers_of_any_size():
    assert digests({"a": float("nan"), "b": 10**30, "c": "\ud800"}, PLAIN)


def test_rows_that_are_left_out_already_are_not_counted():
    digest, key, source = np.array([0, 1, 0, 1]), np.array([-1, -1, -1, -1]), np.array([0, 0, 1, 1])
    assert not repeats(digest, key, None, source, numbered=True).any()


def test_the_copy_keeps_every_row(tmp_path):
    """Rows that are left out are in the output, not kept and without an advantage."""
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows(1, ("a", "bb")) + rows(2, ("a", "bb"))))
    request = Request((str(path),), Settings(), ColumnOptions(dedup=True))
    compute(request, Output(str(tmp_path / "out.jsonl")))
    done = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["adv_kept"] for row in done] == [True, True, False, False]
    assert [row["adv_group"] for row in done] == [0, 0, None, None]
    assert [row["adv_original"] is None for row in done] == [False, False, True, True]
