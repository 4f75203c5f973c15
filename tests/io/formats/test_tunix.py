"""tunix's table of trajectories."""

import csv

import numpy as np
import pytest

from advcli.io.formats.tunix import group
from advcli.io.inputs import opened
from advcli.io.read import read
from advcli.records.table import ColumnOptions


def test_an_empty_group_id_and_line_breaks_in_cells(tmp_path):
    path = tmp_path / "trajectory_log_17.csv"
    names = ["conversation_text", "trajectory_reward", "policy_version", "original_input", "group_id"]
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(names)
        for group_id, reward in ((30, 1.0), (None, 0.0), (31, 0.5), (None, None)):
            original = {"prompts": "a\n'b'", "group_id": 30 if reward in (0.0, 1.0) else 31}
            rows.writerow(["[{'content': 'x\ny, \"z\"'}]", reward, 2, original, group_id])
    with opened([str(tmp_path)]) as sources:
        table = read(sources, ColumnOptions())
    assert table.choice.format == "tunix"
    assert table.key.tolist() == [0, 0, 1, 1]
    np.testing.assert_array_equal(table.rewards, [1.0, 0.0, 0.5, np.nan])


@pytest.mark.parametrize(
    "original", ["no literal", "{'prompts': 'x'}", "{'a': ", "array([1, 2])", None, "(" * 300]
)
def test_without_a_group_id_the_input_is_the_key(original):
    assert group(None, original) == original
