"""Tables of W&B as they lie in the folder of a run."""

import json
import math

import numpy as np
import pytest

from advcli.common.errors import DataError
from advcli.io.inputs import opened
from advcli.io.read import read
from advcli.records.table import ColumnOptions

HASH = "f223b79dc6df53c58546"


@pytest.fixture
def media(tmp_path):
    folder = tmp_path / "run-1" / "files" / "media" / "table"
    folder.mkdir(parents=True)
    return folder


def put(folder, name, columns, *data):
    (folder / f"{name}_{HASH}.table.json").write_text(json.dumps({"columns": columns, "data": list(data)}))


def loaded(path):
    with opened([str(path)]) as sources:
        return read(sources, ColumnOptions())


def test_a_missing_number_is_a_bare_nan(media):
    columns = ["step", "prompt", "completion", "correct", "advantage"]
    put(media, "completions_5", columns, [5, "a", "x", 1.0, 0.5], [5, "a", "y", math.nan, -0.5])
    put(media, "completions_10", columns, [10, "a", "x", 1.0, 0.0])
    table = loaded(media.parents[3])
    assert table.choice.format == "wandb-table"
    np.testing.assert_array_equal(table.rewards, [1.0, np.nan, 1.0])
    assert table.logged.tolist() == [0.5, -0.5, 0.0]
    assert table.step_names == ("5", "10")


def test_without_a_step_that_of_the_name_counts(media):
    put(media, "samples_55", ["prompt", "reward"], ["a", 1.0], ["a", 0.0])
    assert loaded(media.parents[3]).step_names == ("55",)


def test_a_table_that_is_logged_again_with_more_rows_is_read_once(media):
    """log_mode MUTABLE or INCREMENTAL: each file has the rows of the one before."""
    rows = [[1, "a", 1.0], [1, "a", 0.0], [2, "a", 0.5], [2, "a", 0.25]]
    put(media, "t_1", ["step", "prompt", "reward"], *rows[:2])
    put(media, "t_2", ["step", "prompt", "reward"], *rows)
    table = loaded(media.parents[3])
    assert table.rewards.tolist() == [1.0, 0.0, 0.5, 0.25]
    assert f"t_1_{HASH}.table.json (its rows are repeated in t_2_{HASH}.table.json)" in table.warnings[0]


def test_another_table_of_the_run_is_passed_over(media):
    put(media, "completions_5", ["prompt", "reward"], ["a", 1.0], ["a", 0.0])
    put(media, "confusion_5", ["actual", "count"], ["a", 3])
    table = loaded(media.parents[3])
    assert table.rewards.tolist() == [1.0, 0.0]
    assert "a table without prompts" in table.warnings[0]


@pytest.mark.parametrize(
    ("columns", "row", "words"),
    [
        (["prompt", "reward", "reward"], ["a", 1.0, 2.0], "the column reward is there twice"),
        (["prompt", "reward"], ["a"], "row 1 has 1 values, expected 2"),
    ],
)
def test_a_table_that_is_none(media, columns, row, words):
    put(media, "t_1", columns, row)
    with pytest.raises(DataError, match=words):
        loaded(media.parents[3])


def test_an_object_with_other_lists_is_read_as_json(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"columns": ["a"], "prompt": "p", "rewards": [1.0, 0.0]}\n')
    assert loaded(tmp_path / "a.jsonl").rewards.tolist() == [1.0, 0.0]
