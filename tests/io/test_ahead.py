"""A head start: the same table, the same error, and no thread that is left."""

import dataclasses
import threading

import numpy as np
import pytest

from advcli.errors import DataError
from advcli.io import ahead
from advcli.io.ahead import HeadStart
from advcli.io.read import read
from advcli.io.sources import opened
from advcli.io.write import refused_names
from advcli.records.table import ColumnOptions

ROWS = b'{"prompt_id": "a", "reward": 1}\n{"prompt_id": "a", "reward": 0}\n'


@pytest.fixture
def dump(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(ROWS * 50)
    return path


def test_the_table_is_the_one_that_read_gives(dump):
    start = HeadStart([str(dump)], ColumnOptions(n=2), prefix="adv_")
    with opened([str(dump)]) as sources:
        found = start.table(sources, ColumnOptions(n=2), refused_names("adv_"))
        plain = read(sources, ColumnOptions(n=2), refused=refused_names("adv_"))
    for field in dataclasses.fields(plain):
        np.testing.assert_equal(getattr(found, field.name), getattr(plain, field.name))


@pytest.mark.parametrize(
    ("columns", "refused"), [(ColumnOptions(n=4), ()), (ColumnOptions(), ("x",))], ids=["columns", "names"]
)
def test_what_was_read_for_something_else_is_not_used(dump, columns, refused):
    start = HeadStart([str(dump)], ColumnOptions())
    with opened([str(dump)]) as sources:
        assert start.table(sources, columns, refused) is None


def test_a_file_that_has_changed_is_read_again(dump):
    start = HeadStart([str(dump)], ColumnOptions())
    start._thread.join()
    dump.write_bytes(ROWS * 60)
    with opened([str(dump)]) as sources:
        assert start.table(sources, ColumnOptions(), ()) is None


def test_an_error_waits_until_the_table_is_asked_for(dump):
    dump.write_bytes(ROWS + b"x\n")
    start = HeadStart([str(dump)], ColumnOptions())
    with opened([str(dump)]) as sources, pytest.raises(DataError, match=r"a\.jsonl:3"):
        start.table(sources, ColumnOptions(), ())


@pytest.mark.parametrize("name", ["-", "", "gone.jsonl", ".", "https://host/a.jsonl", "x\0y"])
def test_only_plain_files_are_read_ahead(name):
    start = HeadStart([name], ColumnOptions())
    start._thread.join()
    assert (start._sources, start._table, start._error) == ([], None, None)


def test_a_thread_leaves_off_when_it_is_told(dump, monkeypatch):
    asked = threading.Event()
    monkeypatch.setattr(
        HeadStart, "_go_on", lambda self, rows: (asked.set(), self._stop.wait(10), self._leave())
    )
    monkeypatch.setattr(
        HeadStart, "_leave", lambda self: (_ for _ in ()).throw(ahead._Stopped()), raising=False
    )
    start = HeadStart([str(dump)], ColumnOptions())
    assert asked.wait(10)
    ahead.stop()
    assert not start._thread.is_alive()
    assert start._table is None
