"""A head start: the same table, the same error, and no thread that is left."""

import dataclasses
import gzip
import multiprocessing
import os
import signal
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from advcli.errors import AdvcliError, DataError
from advcli.io import prefetch
from advcli.io import read as read_module
from advcli.io.inputs import opened
from advcli.io.prefetch import HeadStart
from advcli.io.read import read
from advcli.io.sources import find as sources_module
from advcli.io.write import refused_names
from advcli.pipeline.request import Request
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*fork:DeprecationWarning"
)  # of Python, for any thread that is there
DATA = Path(__file__).parent / "data"
ROWS = b'{"prompt_id": "a", "reward": 1}\n{"prompt_id": "a", "reward": 0}\n'


@pytest.fixture(autouse=True, params=["thread", "process"])
def way(request, monkeypatch):
    """Both ways, whatever else runs here."""
    monkeypatch.setattr(prefetch, "_pays", lambda inputs: request.param == "process")
    return request.param


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


SAMPLES = sorted(path for path in DATA.rglob("*") if path.suffix in (".jsonl", ".parquet"))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: str(path.relative_to(DATA)))
@pytest.mark.parametrize("way", ["process"], indirect=True)
def test_the_table_of_every_format_comes_back(sample, way):
    """What a process cannot send is read again, and nobody would see it."""
    options = ColumnOptions(named=True)
    start = HeadStart([str(sample)], options)
    found = outcome(lambda: start.table(start.sources(), options, ()))
    with opened([str(sample)]) as sources:
        np.testing.assert_equal(found, outcome(lambda: read(sources, options)))


def outcome(read):
    """Column by column, or the words of the error."""
    try:
        table = read()
    except AdvcliError as error:
        return str(error)
    return {field.name: getattr(table, field.name) for field in dataclasses.fields(table)}


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


@pytest.mark.parametrize("name", ["-", "", "gone.jsonl", "https://host/a.jsonl", "x\0y"])
def test_only_plain_files_are_read_ahead(name):
    start = HeadStart([name], ColumnOptions())
    start._thread.join()
    assert (start.sources(), start._table, start._error) == ([], None, None)


def test_the_files_of_a_folder_are_read_ahead(dump):
    (dump.parent / "b.jsonl").write_bytes(ROWS)
    start = HeadStart([str(dump.parent)], ColumnOptions(n=2))
    with opened([str(dump.parent)]) as sources:
        assert start.sources() == sources
        assert start.table(sources, ColumnOptions(n=2), ()).rows == (100, 2)


def test_a_folder_with_a_file_that_has_to_be_copied_is_not_read_ahead(dump, monkeypatch):
    """A program that ends while it is imported puts nothing away."""
    pq.write_table(pa.table({"prompt_id": ["a"], "reward": [1.0]}), dump.parent / "b.parquet")
    packed = gzip.compress((dump.parent / "b.parquet").read_bytes())
    (dump.parent / "b.parquet").unlink()
    (dump.parent / "b.parquet.gz").write_bytes(packed)
    made = []
    monkeypatch.setattr(tempfile, "TemporaryDirectory", lambda **options: made.append(options))
    start = HeadStart([str(dump.parent)], ColumnOptions())
    assert (start.sources(), made) == ([], [])
    monkeypatch.undo()
    request = Request((str(dump.parent),), Settings(), ColumnOptions(), head_start=start)
    with request.opened() as sources:
        assert request.ahead(sources, ColumnOptions()) is None
        assert len(sources) == 2


def test_what_was_found_is_not_looked_for_again(dump, monkeypatch):
    start = HeadStart([str(dump)], ColumnOptions())
    start.sources()
    monkeypatch.setattr("advcli.pipeline.request.opened", None)
    with Request((str(dump),), Settings(), ColumnOptions(), head_start=start).opened() as sources:
        assert sources == start.sources()


@pytest.mark.parametrize("change", [lambda dump: dump.write_bytes(ROWS * 60), lambda dump: dump.unlink()])
def test_a_file_that_has_changed_is_looked_for_again(dump, change):
    (dump.parent / "b.jsonl").write_bytes(ROWS)
    inputs = (str(dump.parent),)
    start = HeadStart(inputs, ColumnOptions())
    before = start.sources()
    change(dump)
    with (
        opened(inputs) as now,
        Request(inputs, Settings(), ColumnOptions(), head_start=start).opened() as found,
    ):
        assert found == now != before


@pytest.mark.parametrize("way", ["thread"], indirect=True)
def test_a_thread_leaves_off_while_it_looks_for_files(dump, monkeypatch, way):
    for number in range(20):
        (dump.parent / f"{number}.jsonl").write_bytes(ROWS)
    looked, plain = [], sources_module._source
    start = None

    def look(*args):
        looked.append(args)
        if len(looked) == 3:
            begun.wait(10)
            start._stop.set()
        return plain(*args)

    begun = threading.Event()
    monkeypatch.setattr(sources_module, "_source", look)
    start = HeadStart([str(dump.parent)], ColumnOptions())
    begun.set()
    start._thread.join()
    assert (len(looked), start.sources(), start._table) == (3, [], None)


def test_it_leaves_off_when_it_is_told(dump):
    asked, told = threading.Event(), threading.Event()
    start = HeadStart([str(dump)], ColumnOptions(), advance=lambda rows: (asked.set(), told.wait(10)))
    assert asked.wait(10)
    ending = threading.Thread(target=prefetch.stop)
    ending.start()
    assert start._stop.wait(10)
    told.set()
    ending.join(10)
    assert [ending.is_alive(), start._thread.is_alive()] == [False, False]
    assert start._table is None
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("way", ["process"], indirect=True)
def test_a_process_leaves_off_in_the_middle_of_its_work(dump, monkeypatch, way):
    monkeypatch.setattr("advcli.io.read.read", lambda *args, **rules: time.sleep(60))
    start = HeadStart([str(dump)], ColumnOptions())
    assert start.sources()
    start.stop()
    assert (start._table, multiprocessing.active_children()) == (None, [])


@pytest.mark.parametrize(
    "end", [lambda: os.kill(os.getpid(), signal.SIGKILL), lambda: 1 / 0], ids=["killed", "bug"]
)
@pytest.mark.parametrize("way", ["process"], indirect=True)
def test_what_a_process_cannot_read_is_read_here(dump, monkeypatch, way, end, capfd):
    plain = read_module.read
    monkeypatch.setattr(read_module, "read", lambda *args, **rules: end())
    start = HeadStart([str(dump)], ColumnOptions(n=2))
    request = Request((str(dump),), Settings(), ColumnOptions(n=2), head_start=start)
    with request.opened() as sources:
        assert request.ahead(sources, ColumnOptions(n=2)) is None
        monkeypatch.setattr(read_module, "read", plain)
        assert len(request.load(sources).table.rewards) == 100
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("sizes", "much"),
    [([10], False), ([prefetch._MUCH, 1], True), ([0] * 200, True), ([], False)],
    ids=["little", "much", "many", "nothing"],
)
def test_a_process_is_for_much(tmp_path, sizes, much):
    folder = tmp_path / "dump"
    (folder / "deep").mkdir(parents=True)
    for number, size in enumerate(sizes):
        with (folder / "deep" / f"{number}.jsonl").open("wb") as file:
            file.truncate(size)
    assert prefetch._is_much([str(folder), "gone", "x\0y"]) is much


def test_no_process_where_the_system_makes_none(dump, monkeypatch):
    def refused(work):
        raise BlockingIOError

    monkeypatch.setattr(prefetch.apart, "Apart", refused)
    start = HeadStart([str(dump)], ColumnOptions(n=2))
    with opened([str(dump)]) as sources:
        assert len(start.table(sources, ColumnOptions(n=2), ()).rewards) == 100
