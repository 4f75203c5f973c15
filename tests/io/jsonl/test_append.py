"""New keys in a block at once, beside the same lines one by one."""

import random

import pyarrow as pa
import pytest

from advcli.io.jsonl import append
from advcli.io.jsonl import read as jsonl
from advcli.io.jsonl.blocks import Block
from advcli.io.jsonl.suffixes import Suffixes
from advcli.records.table import Source

USUAL = (b'{"a": %d}\n', b'{"a": "}{", "n": %d}\r\n', b'{"x":{"y":[{}]},"n":%d}\n', b'\t{"n": %d}\n'[1:])
ODD = (
    b"\n",
    b"  \n",
    b"{}\n",
    b"{ }\n",
    b' {"a": 1}\n',
    b'{"a": 1 }\n',
    b'{"a": 1} \n',
    b'{"a": 1}\x0c\n',
    b'\xef\xbb\xbf{"a": 1}\n',
    b"x\n",
    b'{"a": 1\n',
    b"}\n",
    b"\r\n",
)


def added(rows):
    return pa.table({"k": [None if row % 3 == 0 else row / 8 for row in range(rows)], "b": [True] * rows})


@pytest.mark.parametrize("seed", range(80))
def test_both_ways_write_the_same(tmp_path, monkeypatch, seed):
    chance = random.Random(seed)
    share = chance.choice([0, 0, 0.05, 0.4])
    data = b""
    for row in range(chance.randint(1, 40)):
        data += chance.choice(ODD) if chance.random() < share else chance.choice(USUAL) % row
    if chance.random() < 0.2:
        data = data.removesuffix(b"\n")
    count = data.count(b"\n") + 1
    dropped = (
        {number for number in range(1, count + 1) if chance.random() < 0.1}
        if chance.random() < 0.4
        else set()
    )
    rows = sum(
        bool(line.removeprefix(b"\xef\xbb\xbf").strip()) and number not in dropped
        for number, line in Block(1, data).lines()
    )
    (tmp_path / "a.jsonl").write_bytes(data)
    monkeypatch.setattr(jsonl, "_COPY_BYTES", chance.choice([60, 90, 1000]))
    apart = chance.random() < 0.5
    monkeypatch.setattr(jsonl, "is_long", lambda source: apart)
    monkeypatch.setattr("advcli.io.jsonl.suffixes._ROWS", chance.choice([1, 3, 1000]))
    monkeypatch.setattr("advcli.io.jsonl.blocks._PIECE", 7)

    def written():
        out = bytearray()
        source = Source("a.jsonl", tmp_path / "a.jsonl", "jsonl")
        jsonl.annotate(source, dropped, Suffixes(added(rows)), out.extend, end_line=True)
        return bytes(out)

    fast = written()
    assert not fast or fast.endswith(b"\n")
    monkeypatch.setattr(jsonl, "inserted", lambda *args: None)
    assert fast == written()


def test_simple_lines_are_done_at_once():
    data = b'{"a": 1}\n{"a": "\xc3\xa9"}\r\n'
    pieces = append.inserted(Block(5, data), {4, 7}, Suffixes(added(2)))
    assert b"".join(pieces) == b'{"a": 1, "k": null, "b": true}\n{"a": "\xc3\xa9", "k": 0.125, "b": true}\r\n'


@pytest.mark.parametrize("odd", [*ODD, b'{"a": 1}'])
def test_a_block_with_anything_else_is_left(odd):
    suffixes = Suffixes(added(3))
    assert append.inserted(Block(1, b'{"a": 1}\n' + odd), (), suffixes) is None
    assert next(suffixes) == b'"k": null, "b": true'


def test_a_block_with_a_line_that_is_left_out_is_left():
    assert append.inserted(Block(3, b'{"a": 1}\n' * 3), {5}, Suffixes(added(3))) is None
