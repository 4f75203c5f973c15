"""Trinity-RFT's experiences, as lines and in its database."""

import json
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from advcli.common.errors import DataError
from advcli.dataset.grouping import group
from advcli.io.inputs import opened
from advcli.io.read import read
from advcli.records.table import ColumnOptions

TABLE = (
    "create table {} (id integer primary key, timestamp datetime, task_id varchar(64), run_id integer, "
    "msg_id varchar(64), model_version integer, reward float, consumed integer)"
)


def loaded(path):
    with opened([str(path)]) as sources:
        return read(sources, ColumnOptions())


def experience(batch, task, run, step, reward):
    return {
        "eid": {"batch": batch, "task": task, "run": run, "step": step, "suffix": "ab"},
        "prompt_length": 6,
        "response_length": 3,
        "info": {"model_version": 4},
        "reward": reward,
    }


def database(path, *rows, table="pipeline_input_meta"):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(TABLE.format(table))
        columns = "task_id, run_id, model_version, reward, msg_id"
        connection.executemany(f"insert into {table} ({columns}) values (?, ?, ?, ?, 'm')", rows)
        connection.commit()
    return path


def test_a_task_of_another_batch_is_another_group(tmp_path):
    rows = [experience(5, 0, 0, 0, 1.0), experience(5, 0, 1, 0, 0.0), experience(6, 0, 0, 0, 1.0)]
    path = tmp_path / "explorer_output.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = loaded(tmp_path)
    assert table.choice.format == "trinity-rft"
    assert group(table).group.tolist() == [0, 0, 1]
    assert [table.step_names[code] for code in table.step] == ["5", "5", "6"]


def test_the_database_alone(tmp_path):
    rows = [("0", 0, 4, 1.0), ("0", 1, 4, 0.0), ("0", 0, 5, None), ("1", 0, 5, 0.5)]
    table = loaded(database(tmp_path / "explorer_output.db", *rows).parent)
    assert table.choice.format == "trinity-rft-db"
    np.testing.assert_array_equal(table.rewards, [1.0, 0.0, np.nan, 0.5])
    assert group(table).group.tolist() == [0, 0, 1, 2]


def test_several_tables_of_experiences(tmp_path):
    path = database(tmp_path / "experiences.db", ("0", 0, 4, 1.0), table="debug_buffer_a")
    database(path, ("0", 0, 4, 1.0), table="debug_buffer_b")
    with pytest.raises(DataError, match=r"several tables hold rollouts \(debug_buffer_a or debug_buffer_b\)"):
        loaded(path)
