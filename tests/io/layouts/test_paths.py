"""Dotted paths: in JSON, through JSON in strings, and in arrow structs."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from advcli.io.inputs import opened
from advcli.io.layouts.paths import ABSENT, find, get, in_batch, parsed, roots
from advcli.io.read import read
from advcli.records.table import ColumnOptions

ROW = {
    "info": {"reward_components": {"format": 0.5, "none": None}},
    "text": '{"a": {"b": [10, {"c": 20}]}, "t": "[1"}',
    "info.literal": "wins",
    "rewards": {"a.b": 1, "a": {"b": {"y": 2}, "c": 3}},
    "list": [[1, 2], {"x": "y"}],
    "": {"": 7},
    "broken": '{"a": 1',
    "scalar": 5,
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("info.reward_components.format", 0.5),
        ("info.reward_components.none", None),
        ("info.literal", "wins"),
        ("info.reward_components.gone", ABSENT),
        ("info.gone", ABSENT),
        ("gone.info", ABSENT),
        ("text.a.b.0", 10),
        ("text.a.b.1.c", 20),
        ("text.t.0", ABSENT),
        # The longest key that is there comes first; the shorter one where it leads nowhere.
        ("rewards.a.b", 1),
        ("rewards.a.b.y", 2),
        ("rewards.a.c", 3),
        ("list.0.1", 2),
        ("list.1.x", "y"),
        ("list.2", ABSENT),
        ("list.-1", ABSENT),
        ("list.x", ABSENT),
        ("broken.a", ABSENT),
        ("scalar.x", ABSENT),
        (".", 7),
        ("info", ROW["info"]),
    ],
)
def test_find(path, value):
    found = find(ROW, path)
    assert found is ABSENT if value is ABSENT else found == value
    assert get(ROW, path) == (None if value is ABSENT else value)


def test_json_in_json_in_a_string():
    assert find({"a": '{"b": "{\\"c\\": 1}"}'}, "a.b.c") == 1


@pytest.mark.parametrize("text", ["", "plain", "5", '"x"', "[" * 100_000, "{]"])
def test_a_string_that_holds_no_object_is_itself(text):
    assert parsed(text) == text


def test_roots_are_columns():
    assert roots(["a.b.c", "a", "b", "x.y"], ["a", "a.b", "x.y.z"]) == {"a.b.c": "a.b", "a": "a"}


def test_structs_lists_and_strings_of_a_batch():
    batch = pa.record_batch(
        {
            "info": [{"parts": {"format": 0.5}, "items": [1, 2]}, {"parts": None, "items": None}, None],
            "text": ['{"r": 1}', "no", None],
        }
    )
    assert in_batch(batch, "info.parts.format", "info").to_pylist() == [0.5, None, None]
    assert in_batch(batch, "info.parts.format", "info").type == pa.float64()
    assert in_batch(batch, "info.items.1", "info") == [2, None, None]
    assert in_batch(batch, "text.r", "text") == [1, None, None]
    assert in_batch(batch, "info.gone.x", "info").null_count == 3
    assert in_batch(batch, "text", "text").to_pylist() == ['{"r": 1}', "no", None]


@pytest.mark.parametrize("layout", ["jsonl", "parquet"])
def test_a_path_is_a_column_of_a_dump(tmp_path, layout):
    rows = [{"prompt_id": "a", "info": {"parts": {"format": value, "other": "x"}}} for value in (0.0, 0.5)]
    path = tmp_path / f"d.{layout}"
    if layout == "jsonl":
        path.write_text("".join(f"{row}\n".replace("'", '"') for row in rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    with opened([str(path)]) as sources:
        table = read(sources, ColumnOptions(rewards=(("info.parts.format", 2.0),)))
    assert table.rewards.tolist() == [0.0, 1.0]


def test_a_struct_and_one_of_its_fields_are_both_read(tmp_path):
    rows = [{"key": {"id": name, "n": 1}, "reward": 1.0} for name in ("a", "b")]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "d.parquet")
    with opened([str(tmp_path / "d.parquet")]) as sources:
        table = read(sources, ColumnOptions(group_by=("key", "key.id")))
    assert table.key.tolist() == [0, 1]
