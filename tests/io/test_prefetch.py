"""Prefetching gives the same table, the same error, and leaves no thread behind."""

import dataclasses
import gzip
import tempfile
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from advcli.common.errors import AdvcliError, DataError
from advcli.io import prefetch
from advcli.io.inputs import opened
from advcli.io.prefetch import Prefetch
from advcli.io.read import read
from advcli.io.sources import find as sources_module
from advcli.io.write import refused_names
from advcli.pipeline.request import Request
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions

DATA = Path(__file__).parent / "data"
ROWS = b'{"prompt_id": "a", "reward": 1}\n{"prompt_id": "a", "reward": 0}\n'


@pytest.fixture
def dump(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(ROWS * 50)
    return path


def test_the_table_is_the_one_that_read_gives(dump):
    start = Prefetch([str(dump)], ColumnOptions(n=2), prefix="adv_")
    with opened([str(dump)]) as sources:
        found = start.table(sources, ColumnOptions(n=2), refused_names("adv_"))
        plain = read(sources, ColumnOptions(n=2), refused=refused_names("adv_"))
    for field in dataclasses.fields(plain):
        np.testing.assert_equal(getattr(found, field.name), getattr(plain, field.name))


SAMPLES = sorted(path for path in DATA.rglob("*") if path.suffix in (".jsonl", ".parquet"))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: str(path.relative_to(DATA)))
def test_the_table_of_every_format_is_the_one_that_read_gives(sample):
    options = ColumnOptions(named=True)
    start = Prefetch([str(sample)], options)
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
    start = Prefetch([str(dump)], ColumnOptions())
    with opened([str(dump)]) as sources:
        assert start.table(sources, columns, refused) is None


def test_a_file_that_has_changed_is_read_again(dump):
    start = Prefetch([str(dump)], ColumnOptions())
    start.join()
    dump.write_bytes(ROWS * 60)
    with opened([str(dump)]) as sources:
        assert start.table(sources, ColumnOptions(), ()) is None


def test_an_error_waits_until_the_table_is_asked_for(dump):
    dump.write_bytes(ROWS + b"x\n")
    start = Prefetch([str(dump)], ColumnOptions())
    with opened([str(dump)]) as sources, pytest.raises(DataError, match=r"a\.jsonl:3"):
        start.table(sources, ColumnOptions(), ())


@pytest.mark.parametrize("name", ["-", "", "gone.jsonl", "https://host/a.jsonl", "x\0y"])
def test_only_plain_files_are_read_ahead(name):
    start = Prefetch([name], ColumnOptions())
    start.join()
    assert (start.sources(), start._table, start._error) == ([], None, None)


def test_the_files_of_a_folder_are_read_ahead(dump):
    (dump.parent / "b.jsonl").write_bytes(ROWS)
    start = Prefetch([str(dump.parent)], ColumnOptions(n=2))
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
    start = Prefetch([str(dump.parent)], ColumnOptions())
    assert (start.sources(), made) == ([], [])
    monkeypatch.undo()
    request = Request((str(dump.parent),), Settings(), ColumnOptions(), prefetch=start)
    with request.opened() as sources:
        assert request.prefetched(sources, ColumnOptions()) is None
        assert len(sources) == 2


def test_what_was_found_is_not_looked_for_again(dump, monkeypatch):
    start = Prefetch([str(dump)], ColumnOptions())
    start.sources()
    monkeypatch.setattr("advcli.pipeline.request.opened", None)
    with Request((str(dump),), Settings(), ColumnOptions(), prefetch=start).opened() as sources:
        assert sources == start.sources()


@pytest.mark.parametrize("change", [lambda dump: dump.write_bytes(ROWS * 60), lambda dump: dump.unlink()])
def test_a_file_that_has_changed_is_looked_for_again(dump, change):
    (dump.parent / "b.jsonl").write_bytes(ROWS)
    inputs = (str(dump.parent),)
    start = Prefetch(inputs, ColumnOptions())
    before = start.sources()
    change(dump)
    with (
        opened(inputs) as now,
        Request(inputs, Settings(), ColumnOptions(), prefetch=start).opened() as found,
    ):
        assert found == now != before


def test_a_thread_leaves_off_while_it_looks_for_files(dump, monkeypatch):
    for number in range(20):
        (dump.parent / f"{number}.jsonl").write_bytes(ROWS)
    looked, plain = [], sources_module._source
    start = None

    def look(*args):
        looked.append(args)
        if len(looked) == 3:
            begun.wait(10)
            start._stopping.set()
        return plain(*args)

    begun = threading.Event()
    monkeypatch.setattr(sources_module, "_source", look)
    start = Prefetch([str(dump.parent)], ColumnOptions())
    begun.set()
    start.join()
    assert (len(looked), start.sources(), start._table) == (3, [], None)


def test_it_leaves_off_when_it_is_told(dump):
    asked, told = threading.Event(), threading.Event()
    start = Prefetch([str(dump)], ColumnOptions(), advance=lambda rows: (asked.set(), told.wait(10)))
    assert asked.wait(10)
    ending = threading.Thread(target=prefetch.stop)
    ending.start()
    assert start._stopping.wait(10)
    told.set()
    ending.join(10)
    assert [ending.is_alive(), start.is_alive()] == [False, False]
    assert start._table is None
