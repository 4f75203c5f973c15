"""Databases, to read only."""

import sqlite3
from contextlib import closing

import pytest

from advcli.common.errors import DataError
from advcli.io.sources import sqlite


@pytest.fixture
def path(tmp_path):
    place = tmp_path / "a b#?.db"
    with closing(sqlite3.connect(place)) as database:
        database.execute('create table "odd ""name" (a integer, b text)')
        database.executemany('insert into "odd ""name" values (?, ?)', [(2, "x"), (1, None)])
        database.commit()
    return place


def test_tables_and_rows(path):
    with closing(sqlite.opened(path)) as database:
        assert sqlite.tables(database) == {'odd "name': ("a", "b")}
        assert sqlite.rows(database, 'odd "name') == [{"a": 2, "b": "x"}, {"a": 1, "b": None}]
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            database.execute('delete from "odd ""name"')


def test_only():
    assert sqlite.only([], "x.db") is None
    assert sqlite.only(["a"], "x.db") == "a"
    with pytest.raises(DataError, match=r"x\.db: several tables hold rollouts \(a or b\)"):
        sqlite.only(["a", "b"], "x.db")
