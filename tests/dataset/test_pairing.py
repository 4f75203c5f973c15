"""Which prompts, steps and rows are the same in two files, told by the files alone."""

import json
from types import SimpleNamespace

import pytest

from advcli.dataset.pairing import Pairing, Runs, joined
from advcli.io.inputs import opened
from advcli.pipeline.request import Request
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Write rows (as objects) under a name and load them."""
    monkeypatch.chdir(tmp_path)

    def do(name, rows, *, skip_bad_rows=False, **columns):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        request = Request((name,), Settings(), ColumnOptions(named=True, **columns), skip_bad_rows)
        with opened(request.inputs) as sources:
            return request.load(sources)

    return do


def rows(*cells, **more):
    """From (prompt, step, reward) of each row, with further columns."""
    given = [dict(zip(("prompt_id", "step", "reward"), cell, strict=False)) for cell in cells]
    return [row | {name: column[at] for name, column in more.items()} for at, row in enumerate(given)]


A = [("x", 1, 0), ("x", 1, 1), ("y", 1, 0), ("y", 1, 1), ("x", 2, 0), ("x", 2, 0)]
B = [("y", 1, 0), ("y", 1, 1), ("z", 2, 0), ("z", 2, 1), ("x", 3, 1), ("x", 3, 1)]


def test_prompts_and_steps_have_one_numbering(load):
    pairing = Pairing.of(load("a.jsonl", rows(*A)), load("b.jsonl", rows(*B)))
    assert [side.tolist() for side in pairing.prompts] == [[0, 0, 1, 1, 0, 0], [1, 1, 2, 2, 0, 0]]
    assert [[one and (one.name, one.place) for one in side] for side in pairing.named] == [
        [("x", "a.jsonl:1"), ("y", "a.jsonl:3"), None],
        [("x", "b.jsonl:5"), ("y", "b.jsonl:1"), ("z", "b.jsonl:3")],
    ]
    assert pairing.step_names == ("1", "2", "3")
    assert pairing.shared_steps() == (2, 0, 1)
    assert pairing.shared
    # x was met at 1 and 2 in A, at 3 in B; y at 1 in both.
    assert pairing.other_steps() == 1


def test_a_number_and_its_text_are_one_prompt_and_long_texts_are_told_apart(load):
    long = "q" * 100
    a = load("a.jsonl", rows((5, 1, 0), (5, 1, 1), (long + "1", 1, 0), (long + "2", 1, 0)))
    b = load("b.jsonl", rows(("5", 1, 0), ("5", 1, 1), (long + "2", 1, 0), (long + "3", 1, 0)))
    pairing = Pairing.of(a, b)
    assert [side.tolist() for side in pairing.prompts] == [[0, 0, 1, 2], [0, 0, 2, 3]]
    assert pairing.named[0][2].name == "q" * 64


def test_a_key_of_two_columns(load):
    given = [{"prompt": "p", "uid": u, "reward": r} for u, r in (("u", 0), ("u", 1), ("v", 0), ("v", 1))]
    a, b = (
        load("a.jsonl", given, group_by=("prompt", "uid")),
        load("b.jsonl", given[2:], group_by=("prompt", "uid")),
    )
    pairing = Pairing.of(a, b)
    assert [side.tolist() for side in pairing.prompts] == [[0, 0, 1, 1], [1, 1]]
    assert [one.name for one in pairing.named[0]] == ["p · u", "p · v"]
    assert pairing.steps is None
    assert pairing.shared_steps() is None
    assert pairing.other_steps() is None


def test_a_prompt_whose_rows_are_all_left_out_is_not_there(load):
    a = load("a.jsonl", rows(("z", 1, "bad"), *A, (None, 1, 0)), skip_bad_rows=True)
    pairing = Pairing.of(a, load("b.jsonl", rows(*B)))
    assert [one and one.name for one in pairing.named[0]] == ["x", "y", None]
    assert pairing.prompts[0].tolist() == [-1, 0, 0, 1, 1, 0, 0, -1]
    assert len(joined(a, a, Pairing.of(a, a)).a) == 6


def test_without_a_prompt_id_nothing_is_shared(load):
    a = load("a.jsonl", [{"reward": r} for r in (0, 1, 2, 3)], n=2)
    pairing = Pairing.of(a, load("b.jsonl", rows(*B)))
    assert pairing.prompts[0].tolist() == [-1] * 4
    assert not pairing.shared
    assert joined(a, a, Pairing.of(a, a)).by == "their place in the same files"


def test_rows_by_a_column_at_the_same_prompt_and_step(load):
    a = load("a.jsonl", rows(*A, text=["yes", "no", "yes", None, "yes", "yes"]), row="text")
    b = load("b.jsonl", rows(*A, text=["no", "yes", "yes", "no", "yes", "yes"]), row="text")
    found = joined(a, b, Pairing.of(a, b))
    assert found.by == "'text'"
    assert (found.a.tolist(), found.b.tolist()) == ([0, 1, 2, 4, 5], [1, 0, 2, 4, 5])


def test_the_column_may_have_another_name_and_prompts_that_share_nothing_are_left_aside(load):
    a = load("a.jsonl", rows(*A, id=[1, 2, 3, 4, 5, 6]), row="id")
    other = [("q" + prompt, step, reward) for prompt, step, reward in A]
    b = load("b.jsonl", rows(*other, key=["6", "5", "4", "3", "2", "1"]), row="key")
    found = joined(a, b, Pairing.of(a, b))
    assert found.by == "'id' and 'key'"
    # Step 1 has the rows 0 to 3; of the ids there only 3 and 4 stand at step 1 in both.
    assert (found.a.tolist(), found.b.tolist()) == ([2, 3], [3, 2])


def test_rows_that_are_left_out_have_no_partner(load):
    a = load("a.jsonl", rows(("z", 1, "bad"), *A, id=[9, 1, 2, 3, 4, 5, 6]), row="id", skip_bad_rows=True)
    b = load("b.jsonl", rows(("q", 1, 0), ("q", 1, 0), id=[9, 1]), row="id")
    found = joined(a, b, Pairing.of(a, b))
    assert (found.a.tolist(), found.b.tolist()) == ([1], [1])


def test_rows_at_the_same_place_need_a_witness(load):
    lengths = [3, 4, 5, 6, 7, 8]
    a = load("a.jsonl", rows(*A, response_length=lengths))
    same = load("b.jsonl", rows(*A, response_length=lengths))
    found = joined(a, same, Pairing.of(a, same))
    assert found.by == "their place and 'response_length'"
    assert found.a.tolist() == found.b.tolist() == [0, 1, 2, 3, 4, 5]
    for other in (
        rows(*A, response_length=[3, 4, 5, 6, 7, 9]),
        rows(*A[:5], response_length=lengths[:5]),
        rows(*B, response_length=lengths),
        rows(*A),
        rows(*[("q" + prompt, *rest) for prompt, *rest in A], response_length=lengths),
    ):
        b = load("b.jsonl", other)
        assert joined(a, b, Pairing.of(a, b)) is None
        assert joined(b, a, Pairing.of(b, a)) is None


def test_lengths_that_are_all_one_are_no_witness(load):
    a, b = (load(name, rows(*A, response_length=[9] * 6)) for name in ("a.jsonl", "b.jsonl"))
    assert joined(a, b, Pairing.of(a, b)) is None


def test_the_same_file_is_joined_by_place(load):
    a = load("a.jsonl", rows(*A))
    found = joined(a, a, Pairing.of(a, a))
    assert found.by == "their place in the same files"
    assert found.a.tolist() == found.b.tolist() == [0, 1, 2, 3, 4, 5]


def test_runs_of_a_column_are_in_groups_of_their_own(load):
    cells = [("x", 1, 0), ("x", 1, 1), ("y", 1, 0), ("x", 1, 1), ("y", 1, 1)]
    data = load("a.jsonl", rows(*cells, seed=[7, 3, 7, 7, None]), by="seed")
    found = Runs.of(data, None)
    assert sorted(found.names) == ["3", "7", "null"]
    split = found.apart(data).grouping
    by_row = list(
        zip(["x", "x", "y", "x", "y"], [found.names[code] for code in found.codes.tolist()], strict=True)
    )
    assert split.count == len(set(by_row)) == 4
    assert len(set(zip(by_row, split.group.tolist(), strict=True))) == 4
    # The prompts are those of all runs.
    assert Pairing.of(found.apart(data), data).prompts[0].tolist() == [0, 0, 1, 0, 1]


def test_one_run_is_left_as_it_is(load):
    data = load("a.jsonl", rows(*A))
    found = Runs.of(data, None)
    assert found.names == ("",)
    assert found.apart(data) is data


@pytest.mark.parametrize(
    ("pattern", "names", "expected"),
    [
        ("out/s*/*.jsonl", ["out/s1/a.jsonl", "out/s1/b.jsonl", "out/s2/a.jsonl"], ["s1", "s2"]),
        ("./out/*.jsonl", ["out/a.jsonl", "out/b.jsonl"], ["a.jsonl", "b.jsonl"]),
        ("out", ["out/s1/a.jsonl", "out/s1/x/b.jsonl", "out/s2/a.jsonl"], ["s1", "s2"]),
        ("out/s1/", ["out/s1/a.jsonl", "out/s1/b.jsonl"], ["s1"]),
        ("a.jsonl", ["a.jsonl"], ["a.jsonl"]),
        ("-", ["<stdin>"], ["<stdin>"]),
        ("hf://x/y/*/a.parquet", ["hf://x/y/s1/a.parquet", "hf://x/y/s2/a.parquet"], ["s1", "s2"]),
    ],
)
def test_runs_of_paths(pattern, names, expected):
    table = SimpleNamespace(names=tuple(names), rows=(2,) * len(names), by=None)
    found = Runs.of(SimpleNamespace(table=table), pattern)
    assert list(found.names) == expected
    assert len(found.codes) == 2 * len(names)
