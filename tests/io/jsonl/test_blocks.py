"""Blocks of lines: nothing is lost at their edges, and lines are numbered through."""

import gzip
import io

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from advcli.common.errors import DataError
from advcli.io.jsonl import blocks
from advcli.records.table import Source


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(blocks, "_FIRST", 8)
    monkeypatch.setattr(blocks, "_SIZE", 16)
    monkeypatch.setattr(blocks, "_PIECE", 5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=12), st.booleans())
def test_the_lines_of_all_blocks_are_those_of_the_file(tmp_path, tiny, parts, packed):
    data = b"\n".join(parts)
    path = tmp_path / "a"
    path.write_bytes(gzip.compress(data) if packed else data)
    found = list(blocks.blocks(Source("a", path, "jsonl", "gzip" if packed else None)))
    assert [line for block in found for line in block.lines()] == list(enumerate(io.BytesIO(data), start=1))
    assert all(block.data.endswith(b"\n") or block.data.count(b"\n") == 0 for block in found)
    assert all(len(block.ends) == block.data.count(b"\n") for block in found)


def test_lines_before_the_place_where_a_file_breaks_off_come_first(tmp_path, tiny):
    data = gzip.compress(b"".join(b'{"line": %d}\n' % number for number in range(10_000)))
    path = tmp_path / "a.gz"
    path.write_bytes(data[: len(data) // 2])
    seen = 0

    def go():
        nonlocal seen
        for block in blocks.blocks(Source("a.gz", path, "jsonl", "gzip")):
            seen += len(block.ends)

    with pytest.raises(DataError, match=r"^a\.gz:\d+: ") as error:
        go()
    assert seen > 1000
    assert error.value.message.startswith(f"a.gz:{seen + 1}: ")
