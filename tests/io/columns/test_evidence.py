"""What rows say about a column."""

import pytest

from advcli.io.columns.evidence import Column, Evidence


def evidence(**columns):
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return Evidence(lambda: rows)


@pytest.mark.parametrize(
    ("cells", "counter"),
    [
        ([0, 1, 2, 3, 4, 5], True),
        ([7, 3, 9, 1, 4, 2], True),
        ([3, 3, 4, 4, 5, 5], True),
        ([0, 0, 0, 1, 1, 1], False),
        ([0, 1, 0, 2, 1, 0], False),
        ([0.5, 1, 2, 3, 4, 5], False),
        ([0, 1, 2], False),
        (["a", "b", "c", "d", "e", "f"], False),
    ],
)
def test_counter(cells, counter):
    assert Column(cells).is_counter == counter


@pytest.mark.parametrize(
    ("cells", "length"),
    [([3, 0, 12.0], True), ([0.02, 1], False), ([-1, 4], False), ([None, 7], True), ([], True)],
)
def test_length(cells, length):
    assert Column(cells).is_length == length


def test_nothing_is_there():
    assert Column([None, "", [], [{"role": "user", "content": " "}]]).is_empty
    assert not Column([]).is_empty
    assert not Column([0]).is_empty


def test_sparse():
    found = evidence(a=[1, None, None, None, None], b=[None, 1, 1, 1, 1])
    assert found.sparse("a", ["a", "b"])
    assert not found.sparse("b", ["a", "b"])


def test_spreads_evenly():
    prompts = list("ppqqppqq")
    assert evidence(p=prompts, v=[0, 0, 0, 0, 1, 1, 1, 1]).spreads_evenly("v", ["p"]) == 2
    assert evidence(p=prompts, v=[0, 1, 0, 1, 2, 3, 2, 3]).spreads_evenly("v", ["p"]) == 0
    assert evidence(p=prompts, v=[0, 0, 0, 0, 1, 0, 1, 1]).spreads_evenly("v", ["p"]) == 0


def test_columns_that_are_made_of_others_say_nothing():
    found = evidence(a=[1, 2])
    assert found.of("@step").cells == ()
    assert found.of("uid.prompt").cells == ()
    assert found.share_rows(["a", "uid.prompt"])


@pytest.mark.parametrize(
    ("rollouts", "numbers", "told"),
    [
        ("aabb", [0, 1, 0, 1], True),
        ("aaabb", [3, 1, 2, 1, 2], True),
        ("aabb", [0, 2, 0, 1], False),
        ("aabb", [0, 0, 0, 1], False),
        ("aabb", [0, 1, 0, None], False),
        ("abcd", [0, 0, 0, 0], False),
        ("aabcde", [0, 1, 0, 0, 0, 0], False),
    ],
)
def test_a_column_that_numbers_the_rows_of_another(rollouts, numbers, told):
    assert evidence(r=list(rollouts), t=numbers).numbers_rows("t", "r") == told


def test_usual_size():
    assert evidence(p=list("aabbc")).usual_size("p") == 2
    assert evidence(p=["a"]).usual_size("nothing") == 0
    assert evidence(p=[[1], [1, 2], None]).list_sizes("p") == {1, 2}
