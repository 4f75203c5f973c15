"""Records to rows: each layout, what is split, what belongs to all rows, and how a layout is told."""

import pytest

from advcli.common.errors import DataError
from advcli.io.layouts.objects import LayoutMismatch, cells, guessed, laid_out, length, outer_name, rows
from advcli.records.layout import PLAIN, Layout

LISTS = {"prompt": "p", "rewards": [1, 0], "text": ["a", "b"], "tags": ["x", "y", "z"], "meta": {"k": 1}}
CHAT = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}]
NESTED = {"id": 7, "reward": 0.5, "rollouts": [{"reward": 1, "info": {"x": 2}}, {"text": "b"}]}


def test_rows():
    assert cells(LISTS, PLAIN, ["prompt", "meta.k", "gone"]) == (
        1,
        {"prompt": ["p"], "meta.k": [1], "gone": [None]},
    )
    assert rows(LISTS, PLAIN) == [LISTS]
    assert length(LISTS, PLAIN) == 1


def test_lists():
    layout = laid_out("lists", "rewards", [LISTS])
    assert layout == Layout("lists", "rewards", ("rewards", "text"), ("prompt", "tags", "meta"))
    count, found = cells(LISTS, layout, ["rewards", "text", "prompt", "tags", "meta.k", "gone"])
    assert count == 2
    assert found == {
        "rewards": [1, 0],
        "text": ["a", "b"],
        "prompt": ["p", "p"],
        "tags": [["x", "y", "z"]] * 2,
        "meta.k": [1, 1],
        "gone": [None, None],
    }
    assert rows(LISTS, layout)[1] == {
        "prompt": "p",
        "rewards": 0,
        "text": "b",
        "tags": ["x", "y", "z"],
        "meta": {"k": 1},
    }


def test_a_path_into_the_elements_of_a_list():
    record = {"scores": [1, 2], "info": [{"a": 3}, '{"a": 4}']}
    assert cells(record, laid_out("lists", "scores", [record]), ["info.a"])[1] == {"info.a": [3, 4]}


def test_a_chat_is_one_value_however_long():
    record = {"rewards": [1, 0], "messages": CHAT, "chats": [CHAT, CHAT]}
    assert laid_out("lists", "rewards", [record]).split == ("rewards", "chats")


def test_a_column_that_was_whole_stays_whole():
    layout = laid_out("lists", "rewards", [LISTS])
    record = {"rewards": [1, 0, 1], "tags": ["x", "y", "z"]}
    assert cells(record, layout, ["tags"])[1] == {"tags": [["x", "y", "z"]] * 3}


def test_a_column_that_the_first_records_lack_is_told_by_its_length():
    layout = laid_out("lists", "rewards", [{"rewards": [1, 0]}])
    record = {"rewards": [1, 0, 1], "late": ["a", "b", "c"], "note": ["x"]}
    assert cells(record, layout, ["late", "note"])[1] == {"late": ["a", "b", "c"], "note": [["x"]] * 3}


def test_a_list_of_another_length_is_refused_where_it_is_read_and_kept_where_it_is_copied():
    layout = Layout("lists", "rewards", ("rewards", "text"))
    record = {"rewards": [1, 0], "text": ["a", "b", "c"]}
    with pytest.raises(
        LayoutMismatch, match=r"'text' has 3 values, 'rewards' has 2, expected one value per row"
    ):
        cells(record, layout, ["text"])
    assert [row["text"] for row in rows(record, layout)] == [["a", "b", "c"]] * 2


def test_ones():
    record = {"rewards": [0.5], "advantages": [[1.0, 2.0]], "idx": 3}
    layout = laid_out("ones", "rewards", [record])
    assert cells(record, layout, list(record)) == (
        1,
        {"rewards": [0.5], "advantages": [[1.0, 2.0]], "idx": [3]},
    )
    with pytest.raises(LayoutMismatch, match=r"'rewards' has 2 values, expected one value per row"):
        cells({"rewards": [1, 2]}, layout, ["rewards"])


def test_nested():
    layout = laid_out("nested", "rollouts", [NESTED])
    assert layout == Layout("nested", "rollouts", items=("reward", "info", "text"))
    count, found = cells(
        NESTED, layout, ["reward", "id", "info.x", "rollouts.reward", "record.reward", "text"]
    )
    assert count == 2
    # The record's reward is an average: the row without one of its own has none.
    assert found["reward"] == [1, None]
    assert found["rollouts.reward"] == [1, None]
    assert found["record.reward"] == [0.5, 0.5]
    assert (found["id"], found["info.x"], found["text"]) == ([7, 7], [2, None], [None, "b"])
    assert rows(NESTED, layout) == [
        {"id": 7, "record.reward": 0.5, "reward": 1, "info": {"x": 2}},
        {"id": 7, "reward": 0.5, "text": "b"},
    ]
    assert outer_name("a", {"a": 1}) == "record.a"


def test_nested_in_a_string():
    record = {"rollouts": '[{"reward": 1}, {"reward": 0}]'}
    assert cells(record, Layout("nested", "rollouts", items=("reward",)), ["reward"]) == (
        2,
        {"reward": [1, 0]},
    )


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"rollouts": [1]}, "item 1 of 'rollouts' is no object, expected one per row"),
        ({"rollouts": {}}, "'rollouts' is no list, expected a list with one object per row"),
        ({}, "'rollouts' is missing"),
        ({"rollouts": None}, "'rollouts' is missing"),
    ],
)
def test_what_is_laid_out_otherwise(record, message):
    with pytest.raises(LayoutMismatch, match=message):
        cells(record, Layout("nested", "rollouts"), ["reward"])


GUESSES = {
    # Each with its records, layout and path.
    "a row": ([{"reward": 1, "tokens": [1, 2]}], "rows", ""),
    "a row with steps": ([{"total_reward": 1, "steps": [{"reward": 1}]}], "rows", ""),
    "a row with messages that have rewards": (
        [{"x": 1, "messages": [{"role": "user", "reward": 1}]}],
        "rows",
        "",
    ),
    "a list of rewards alone": ([{"rewards": [1]}], "rows", ""),
    "lists": ([{"rewards": [1, 0], "prompt": "a"}], "lists", "rewards"),
    "lists, null in one": ([{"scores": None}, {"scores": [1, None, True]}], "lists", "scores"),
    "lists of one": ([{"rewards": [1.0], "text": ["a"]}], "ones", "rewards"),
    "token rewards are no rewards of rows": ([{"rewards": [[0, 1], [1, 0]]}], "rows", ""),
    "nested": ([{"prompt": "a", "samples": [{"score": 1}]}], "nested", "samples"),
    "nested beside an average": ([{"reward": 0.5, "rollouts": [{"reward": 1}]}], "nested", "rollouts"),
    "nested under an odd name": ([{"prompt": "a", "tries": [{"reward": 1}]}], "nested", "tries"),
    "two odd names": ([{"x": [{"reward": 1}], "y": [{"reward": 1}]}], "rows", ""),
    "two usual names": ([{"samples": [{"reward": 1}], "rollouts": [{"reward": 1}]}], "nested", "rollouts"),
}


@pytest.mark.parametrize("name", GUESSES)
def test_a_layout_is_told_from_the_records(name):
    records, layout, path = GUESSES[name]
    found = guessed(records)
    assert (found.name, found.path) == (layout, path)


@pytest.mark.parametrize(
    ("name", "message"),
    [("nested", "no column is a list of objects"), ("lists", "no column of rewards is a list")],
)
def test_a_layout_that_was_asked_for_and_is_not_there(name, message):
    with pytest.raises(DataError, match=rf"{message}.*; try --explode COL"):
        laid_out(name, "", [{"reward": 1}])
