"""What trackio keeps in its database."""

import json
import sqlite3
from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from advcli.common.errors import DataError
from advcli.io.inputs import opened
from advcli.io.read import read
from advcli.records.table import ColumnOptions

METRICS = "create table metrics (id integer primary key, run_id text, timestamp text, run_name text, step integer, metrics text)"
TRACES = (
    "create table traces (id text primary key, run_id text, timestamp text, run_name text, step integer, key text, "
    "trace_index integer, messages text, metadata text)"
)


def loaded(path):
    with opened([str(path)]) as sources:
        return read(sources, ColumnOptions())


@pytest.fixture
def project(tmp_path):
    with closing(sqlite3.connect(tmp_path / "p.db")) as connection:
        connection.execute(METRICS)
        connection.execute(TRACES)
        yield connection


def table(*rows):
    return {"_type": "trackio.table", "_value": list(rows)}


def log(connection, step, metrics, run="r"):
    insert = "insert into metrics (run_id, timestamp, run_name, step, metrics) values ('i', 't', ?, ?, ?)"
    connection.execute(insert, (run, step, json.dumps(metrics)))
    connection.commit()


def test_the_log_calls_of_a_table_one_after_the_other(project, tmp_path):
    log(project, 3, {"loss": 0.5})
    log(project, 3, {"t": table({"prompt": "a", "reward": 1.0}, {"prompt": "a", "reward": 0.0})})
    log(project, 4, {"t": table({"prompt": "a", "reward": 0.5})})
    # Copies of the database that trackio keeps beside it.
    pq.write_table(pa.table({"step": [3], "loss": [0.5]}), tmp_path / "p.parquet")
    pq.write_table(pa.table({"cpu": [0.5]}), tmp_path / "p_system.parquet")
    found = loaded(tmp_path)
    assert found.choice.format == "trackio"
    assert found.rewards.tolist() == [1.0, 0.0, 0.5]
    assert [found.step_names[code] for code in found.step] == ["3", "3", "4"]


def test_of_several_runs_the_newest_is_read_and_it_is_said(project, tmp_path):
    for run, reward in (("old", 0.0), ("new", 1.0)):
        log(
            project,
            1,
            {"t": table({"prompt": "a", "reward": reward}, {"prompt": "a", "reward": reward})},
            run,
        )
    found = loaded(tmp_path / "p.db")
    assert found.rewards.tolist() == [1.0, 1.0]
    assert "holds 2 runs: the newest, 'new', is read" in found.warnings[0]


def test_traces(project, tmp_path):
    insert = "insert into traces values (?, 'i', 't', 'r', 3, 'rollouts', ?, ?, ?)"
    for place, (name, reward, advantage) in enumerate([("g", 1.0, 0.5), ("g", 0.0, -0.5), ("h", 1.0, None)]):
        metadata = {"reward": reward, "advantage": advantage, "group_id": name, "completion_tokens": 5}
        cells = (f"id{9 - place}", place, json.dumps([{"role": "user"}]), json.dumps(metadata))
        project.execute(insert, cells)
    project.commit()
    found = loaded(tmp_path / "p.db")
    assert found.choice.format == "trackio-traces"
    assert found.key.tolist() == [0, 0, 1]
    assert found.rewards.tolist() == [1.0, 0.0, 1.0]
    np.testing.assert_array_equal(found.logged, [0.5, -0.5, np.nan])


def test_nothing_but_averages(project, tmp_path):
    log(project, 3, {"loss": 0.5})
    with pytest.raises(DataError, match=r"p\.db: a trackio database without a table or a trace"):
        loaded(tmp_path / "p.db")


def test_several_tables(project, tmp_path):
    log(project, 3, {"a": table({"reward": 1.0}), "b": table({"reward": 1.0})})
    with pytest.raises(DataError, match=r"several tables were logged \(a or b\)"):
        loaded(tmp_path / "p.db")
