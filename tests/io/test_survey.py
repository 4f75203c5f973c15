"""The first look: shards with drifting columns, late columns, mixed formats, and what the user may say."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from advcli.common.errors import DataError, UsageError
from advcli.dataset.grouping import group
from advcli.io import survey as survey_module
from advcli.io.inputs import opened
from advcli.io.parquet import read as parquet
from advcli.io.read import read
from advcli.io.survey import survey
from advcli.records.table import ColumnOptions

SWIFT = {"step": ["1", "1"], "prompt": ["p", "p"], "completion": ["a", "b"], "Format": [1.0, 0.0]}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(name, *rows):
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def surveyed(*names, **options):
    with opened(names) as sources:
        return survey(sources, ColumnOptions(**options))


def loaded(*names, **options):
    with opened(names) as sources:
        return read(sources, ColumnOptions(**options))


def test_columns_are_the_union_of_all_shards():
    put("a.jsonl", {"prompt_id": None, "reward": 1}, {"prompt_id": "x", "reward": 2})
    put("b.jsonl", {"prompt_id": "x", "reward": 0.5, "step": 3})
    pq.write_table(pa.table({"prompt_id": [1], "reward": ["0.25"], "length": [7]}), "c.parquet")
    found = surveyed("a.jsonl", "b.jsonl", "c.parquet")
    assert found.kinds == {"prompt_id": "text", "reward": "number", "step": "number", "length": "number"}
    table = loaded("b.jsonl", "c.parquet", step="step")
    assert table.rewards.tolist() == [0.5, 0.25]
    assert table.step_names == ("3", "null")
    assert table.choice.length == "length"


def test_a_column_that_comes_after_the_first_records_is_found():
    rows = [{"prompt_id": "a", "x": number} for number in range(150)]
    put("late.jsonl", *rows, {"prompt_id": "a", "x": 0, "reward": 1.0})
    table = loaded("late.jsonl")
    assert table.choice.rewards == (("reward", 1.0),)
    assert int((table.cause == 1).sum()) == 150
    assert loaded("late.jsonl", rewards=(("x", 1.0),), length="reward").choice.length == "reward"


def test_a_reward_function_that_appears_late_is_not_left_out():
    put("completions.jsonl", *[SWIFT] * 120, SWIFT | {"MathAccuracy": [1.0, 1.0]})
    table = loaded("completions.jsonl")
    assert table.choice.rewards == (("Format", 1.0), ("MathAccuracy", 1.0))
    assert table.rewards[-2:].tolist() == [2.0, 1.0]


def test_a_format_whose_columns_are_spread_over_shards_is_recognised():
    base = {"input": "p", "output": "o", "step": 1}
    put("1.jsonl", base | {"score": 1}, base | {"score": 0})
    put("2.jsonl", base)
    assert surveyed("1.jsonl", "2.jsonl").form.name == "verl"


def test_two_formats_are_both_named():
    put("1.jsonl", {"input": "p", "output": "o", "score": 1, "step": 1})
    put("c.jsonl", SWIFT)
    with pytest.raises(DataError) as error:
        surveyed("1.jsonl", "c.jsonl")
    assert error.value.message == "the inputs have several formats: verl (1.jsonl) and ms-swift (c.jsonl)"
    assert error.value.hint == "the files of one format at a time, such as 1.jsonl"


def test_a_format_can_be_named():
    put("1.jsonl", {"input": "p", "output": "o", "score": 1, "step": 1, "prompt_id": "x"})
    assert surveyed("1.jsonl").form.name == "verl"
    assert surveyed("1.jsonl", format="generic").form.name == "generic"
    with pytest.raises(UsageError, match=r"unknown format 'verk'; try verl"):
        surveyed("1.jsonl", format="verk")
    with pytest.raises(DataError, match=r"format trl needs the column 'prompt'"):
        loaded("1.jsonl", format="trl")


ODD = {"q": "p", "tries": [{"r": 1.0}, {"r": 0.0}], "rs": [3.0, 4.0], "texts": ["a", "b"], "other": [5, 6]}


def test_explode_names_the_list_of_objects():
    put("odd.jsonl", ODD, ODD | {"q": "o"})
    table = loaded("odd.jsonl", explode=("tries",), prompt="q", rewards=(("r", 1.0),))
    assert (table.choice.layout.name, table.choice.layout.path) == ("nested", "tries")
    assert table.rewards.tolist() == [1.0, 0.0] * 2
    assert table.lines.tolist() == [1, 1, 2, 2]


def test_explode_names_the_lists():
    put("odd.jsonl", ODD)
    table = loaded("odd.jsonl", explode=("rs",), prompt="q", rewards=(("rs", 1.0), ("other", 1.0)))
    assert table.rewards.tolist() == [8.0, 10.0]
    found = surveyed("odd.jsonl", explode=("rs", "texts"))
    assert (found.layout.split, "other" in found.layout.whole) == (("rs", "texts"), True)
    assert found.kinds["other"] == "nested"


def test_without_a_prompt_the_rows_of_a_record_are_a_group():
    put("odd.jsonl", ODD, ODD)
    table = loaded("odd.jsonl", explode=("tries",), rewards=(("r", 1.0),))
    assert table.choice.prompt == ("@file", "@line")
    assert group(table).group.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"explode": ("gone",)},
            "--explode gone: no such column; the columns are q, tries, rs, texts, other",
        ),
        ({"layout": "columns"}, "unknown layout 'columns'; try rows, ones, lists or nested"),
        ({"layout": "lists"}, "no column of rewards is a list"),
        ({"explode": ("rs",), "layout": "x"}, "unknown layout 'x'"),
    ],
)
def test_what_cannot_be_exploded(options, message):
    put("odd.jsonl", ODD)
    with pytest.raises((UsageError, DataError)) as error:
        loaded("odd.jsonl", **options)
    assert message in str(error.value)


def test_a_layout_can_be_forced():
    put("d.jsonl", {"prompt": "p", "rewards": [1.0], "n": [2]})
    assert surveyed("d.jsonl").layout.name == "ones"
    assert surveyed("d.jsonl", layout="rows").layout.name == "rows"
    assert surveyed("d.jsonl", layout="lists").layout.name == "lists"


def test_nothing_to_look_at():
    put("d.jsonl", {})
    assert surveyed("d.jsonl") is None


def test_a_place_can_be_a_key():
    put("a.jsonl", {"reward": 1}, {"reward": 2})
    put("b.jsonl", {"reward": 3}, {"reward": 4})
    assert group(loaded("a.jsonl", "b.jsonl", group_by=("@file",))).group.tolist() == [0, 0, 1, 1]


def test_of_many_files_a_few_records_each_are_held(monkeypatch):
    limits = []
    look = survey_module.look
    monkeypatch.setattr(
        survey_module, "look", lambda *args, **more: limits.append(more.get("limit")) or look(*args, **more)
    )
    for number in range(200):
        put(f"{number}.jsonl", *({"prompt_id": "a", "reward": row} for row in range(10)))
    put("last.jsonl", *({"prompt_id": "a", "reward": row, "late": "x"} for row in range(10)))
    names = [*(f"{number}.jsonl" for number in range(200)), "last.jsonl"]
    with opened(names) as sources:
        found = survey(sources, ColumnOptions())
    # Each of them once: what is seen when they are found is not looked at again.
    assert (limits, found.whole, found.kinds["late"]) == ([4] * 201, False, "text")


def test_a_column_that_comes_late_tells_that_a_file_is_a_dump():
    """Of many files a few records each are looked at; before one is passed over, more of them."""
    for number in range(150):
        put(f"{number}.jsonl", {"prompt_id": "a", "reward": 1.0})
    averages = {"step": 1, "reward": 0.5, "critic": 0.1}
    put("late.jsonl", *[averages] * 50, averages | {"prompt_id": "a"})
    put("log.jsonl", *[averages] * 150)
    with opened(["."]) as sources:
        names = {source.name for source in sources}
        assert ("late.jsonl" in names, "log.jsonl" in names) == (True, False)
        assert "log.jsonl" in sources[0].remarks[0]


def test_of_a_flat_parquet_file_no_row_is_looked_at(monkeypatch):
    pq.write_table(pa.table({"prompt_id": ["a", "a"], "reward": [0.0, 1.0]}), "a.parquet")
    pq.write_table(pa.table({"prompt_id": ["a"], "rewards": [[0.0, 1.0]]}), "b.parquet")
    monkeypatch.setattr(parquet, "head", None)
    with opened(["a.parquet"]) as sources:
        assert survey(sources, ColumnOptions()).layout.name == "rows"
    with opened(["b.parquet"]) as sources, pytest.raises(TypeError):
        survey(sources, ColumnOptions())


def test_a_path_leads_into_the_text_of_a_flat_file():
    info = json.dumps({"score": 0.5})
    pq.write_table(pa.table({"prompt_id": ["a"], "reward": [1.0], "info": [info]}), "a.parquet")
    with opened(["a.parquet"]) as sources:
        kinds = survey(sources, ColumnOptions(extra=("info.score", "info.gone", "other.score"))).kinds
    assert kinds.get("info.score") == "number"
    assert "info.gone" not in kinds
    assert "other.score" not in kinds
