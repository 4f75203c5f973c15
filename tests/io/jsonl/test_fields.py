"""Fields read in C, beside the same lines read by Python: whatever the lines are, the outcome is the same."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advcli.common.errors import DataError
from advcli.io.collect.batch import BadRows
from advcli.io.collect.cells import numbers
from advcli.io.collect.keys import Coder
from advcli.io.jsonl import blocks as lines
from advcli.io.jsonl import fields
from advcli.io.jsonl import read as jsonl
from advcli.io.jsonl.blocks import Block
from advcli.records.table import Source

COLUMNS = ("id", "step", "reward")
USUAL = (
    b'{"id": "p%d", "step": %d, "reward": %.2f, "text": "say \\"}\\" [%d]\\n", "more": {"reward": [1, {}]}}\n'
)
ODD = [
    b"\n",
    b" \n",
    b"\r\n",
    b'{"id": "a", "step": 1, "reward": 0.5}\r\n',
    b'{"id": "a", "step": 1, "reward": 0.5 }\n',
    b' {"id": "a", "step": 1, "reward": 0.5}\n',
    b'{"id": "a", "step": 1, "reward": 0.5} {"id": "b"}\n',
    b'{"id": "a"}{"id": "b"}\n',
    b'{"id": "a", "step": 1,\n"reward": 0.5}\n',
    b'\xef\xbb\xbf{"id": "a", "step": 1, "reward": 0.5}\n',
    b"{}\n",
    b"[]\n",
    b"null\n",
    b"x\n",
    b'{"id": "a", "step": 1, "reward": 0.5\n',
    b'{"id": null, "step": null, "reward": null}\n',
    b'{"id": 5, "step": 1, "reward": 0.5}\n',
    b'{"id": 5.0, "step": 1.0, "reward": "0.5"}\n',
    b'{"id": "a", "step": "1", "reward": true}\n',
    b'{"id": "a", "step": 123456789012345678901234567890, "reward": 123456789012345678901234567890}\n',
    b'{"id": "a", "step": 1, "reward": 1' + b"0" * 400 + b"}\n",
    b'{"id": "a", "step": 1, "reward": 9007199254740993}\n',
    b'{"id": "a", "step": 1, "reward": NaN}\n',
    b'{"id": "a", "step": 1, "reward": -Infinity}\n',
    b'{"id": "a", "step": 1, "reward": Inf}\n',
    b'{"id": "a", "step": 1, "reward": 1, "x": -NaN}\n',
    b'{"id": "a", "step": 1, "reward": 1, "x": [1, Inf]}\n',
    b'{"id": "a", "step": 1, "reward": 1, "x": "so, Infer: Inf -NaN"}\n',
    b'{"id": "a", "step": 1, "reward": 1e400}\n',
    b'{"id": "a", "step": 1, "reward": 1E+0, "x": 01}\n',
    b'{"id": "a", "step": 1, "reward": 1e-7}\n',
    b'{"id": "a", "step": 1, "reward": 1, "reward": 2}\n',
    b'{"id": "a", "step": 1, "reward": 1, "x": 1, "x": 2}\n',
    b'{"id": "a", "step": 1, "reward": [1]}\n',
    b'{"id": ["a"], "step": {"n": 1}, "reward": {"x": 1}}\n',
    rb'{"\u0069d": "\u00e9\/\ud83d\ude00", "step": 1, "reward": 1}' + b"\n",
    rb'{"id": "\ud800", "step": 1, "reward": 1}' + b"\n",
    b'{"id": "\xed\xa0\x80", "step": 1, "reward": 1}\n',
    b'{"id": "a", "step": 1, "reward": 1, "x": "\xff"}\n',
    b'{"id": "a", "step": 1, "reward": 1, "x": "\x01"}\n',
    b'{"id": "a\x00b", "step": 1, "reward": 1}\n',
    '{"id": "a\u2028b\x85c", "step": 1, "reward": 1}\n'.encode(),
    b'{"id": "a", "step": 1, "reward": 1, "adv_kept": null}\n',
    rb'{"id": "a", "step": 1, "reward": 1, "\u0061dv_kept": true}' + b"\n",
    b'{"id": "a", "step": 1, "reward": 1, "x": "adv_kept"}\n',
    b'{"id": "' + b"x" * 300 + b'", "step": 1, "reward": 1}\n',
]


def batch_of(reader, block):
    """As the scan asks for it."""
    return reader.batch(block, fields.numbers(block))


def usual(place):
    return USUAL % (place // 4, place // 8, place * 0.37 % 1, place)


def outcome(path, *, skip):
    """What a scan tells about each row: its line, key, step and number; or the words of its error."""
    source = Source("a.jsonl", path, "jsonl")
    bad, dropped = BadRows(skip=skip), set()
    coders, found, places = [Coder(), Coder()], [], []
    try:
        for batch in jsonl.scan(source, COLUMNS, refused=("adv_kept",), bad_rows=bad, dropped=dropped):
            for name, coder in zip(COLUMNS, coders, strict=False):
                coder.add(batch.columns[name])
            found += zip(*map(np.ndarray.tolist, numbers(batch.columns["reward"])[:2]), strict=True)
            places += batch.lines.tolist()
    except DataError as error:
        return str(error)
    codes = [(coder.codes().tolist(), coder.names()) for coder in coders]
    return repr((codes, found, places)), dropped, bad.warnings()


@pytest.fixture(params=["both", fields._Msgspec, fields._Arrow])
def scanned(tmp_path, monkeypatch, request):
    """The outcome of a scan of some bytes in tiny blocks, and line by line; and how many blocks were read at once."""
    for way in (fields._Msgspec, fields._Arrow):
        if request.param not in ("both", way):
            monkeypatch.setattr(way, "__call__", lambda self, data, rows: None)

    def run(data, *, skip=True):
        path = tmp_path / "a.jsonl"
        path.write_bytes(data)
        read, plain = [], fields.Reader.batch

        def counted(self, block, numbers):
            read.append(plain(self, block, numbers))
            return read[-1]

        with monkeypatch.context() as patch:
            patch.setattr(lines, "_FIRST", 200)
            patch.setattr(lines, "_SIZE", 300)
            patch.setattr(lines, "_PIECE", 50)
            patch.setattr(fields.Reader, "batch", counted)
            fast = outcome(path, skip=skip)
            patch.setattr(fields.Reader, "batch", lambda self, block, numbers: None)
            return fast, outcome(path, skip=skip), sum(batch is not None for batch in read)

    return run


def test_usual_lines_are_read_at_once(scanned):
    fast, plain, blocks = scanned(b"".join(map(usual, range(100))))
    assert fast == plain
    assert blocks > 20


@pytest.mark.parametrize("skip", [True, False])
@pytest.mark.parametrize("odd", ODD, ids=[repr(line[:60]) for line in ODD])
def test_an_odd_line_among_usual_ones(scanned, odd, skip):
    rows = [usual(place) for place in range(40)]
    fast, plain, blocks = scanned(b"".join([*rows[:20], odd, *rows[20:]]), skip=skip)
    assert fast == plain
    assert blocks > 0


@pytest.mark.parametrize("seed", range(20))
def test_any_mixture_gives_the_same(scanned, seed):
    chance = random.Random(seed)
    share = chance.choice([0.02, 0.1, 0.5])
    rows = [chance.choice(ODD) if chance.random() < share else usual(place) for place in range(60)]
    data = b"".join(rows)
    if chance.random() < 0.3:
        data = data.removesuffix(b"\n")
    for skip in (True, False):
        fast, plain, _ = scanned(data, skip=skip)
        assert fast == plain


WAYS = {"msgspec": 0, "arrow": 1}


@pytest.mark.parametrize("way", WAYS)
@given(data=st.binary(max_size=40).filter(lambda data: b"\n" not in data))
def test_any_bytes_on_a_line_read_as_python_reads_them(way, data):
    """Where a way takes a line, Python takes it too and sees the same."""
    reader = fields.Reader("a", ("a",), ())
    reader.learn({"a": [1.5]})
    reader._learnt.ways = (reader._learnt.ways[WAYS[way]],)
    line = b'{"a": ' + data + b"}\n"
    batch = batch_of(reader, Block(1, line))
    if batch is not None:
        (_, row, _), *rest = jsonl._rows(Source("a", None, "jsonl"), [(1, line)], BadRows(), set())
        expected, found = numbers([row.get("a")])[0], numbers(batch.columns["a"])[0]
        np.testing.assert_array_equal(found, expected)
        assert not rest


def test_numbers_are_those_of_python_to_the_last_digit():
    chance = np.random.default_rng(5)
    bits = chance.integers(0, 1 << 63, 20_000, dtype=np.uint64) | (
        chance.integers(0, 2, 20_000, dtype=np.uint64) << 63
    )
    values = bits.view(np.float64)
    texts = [repr(value) for value in values[np.isfinite(values)].tolist()]
    texts += [
        text[:digits] + text[-1]
        for text in texts
        for digits in (3, 9)
        if text[digits - 1].isdigit() and "e" not in text[:digits]
    ]
    texts += [f"{value:.{places}f}" for places, value in zip(range(30), chance.random(30), strict=True)]
    texts = [text for text in texts if math.isfinite(float(text)) and abs(float(text)) < 2**53]
    data = "".join(f'{{"a": {text}}}\n' for text in texts).encode()
    reader = fields.Reader("a", ("a",), ())
    reader.learn({"a": [1.5]})
    reader._learnt.ways = reader._learnt.ways[:1]
    found = np.asarray(batch_of(reader, Block(1, data)).columns["a"])
    assert found.tobytes() == np.array([float(text) for text in texts]).tobytes()


@pytest.mark.parametrize(
    ("cells", "read"),
    [
        (["x", None], True),
        ([1, 2], True),
        ([1, 2.5], True),
        ([None], True),
        ([True], False),
        (["x", 1], False),
        ([[1]], False),
    ],
    ids=str,
)
def test_only_fields_of_one_plain_type_are_read(cells, read):
    reader = fields.Reader("a", ("a",), ())
    reader.learn({"a": cells})
    assert (batch_of(reader, Block(1, b'{"a": null}\n')) is not None) is read


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\tb"])
def test_a_name_that_msgspec_does_not_take_is_left_to_arrow(name):
    reader = fields.Reader("a", ("a",), (name,))
    reader.learn({"a": [1]})
    assert [type(way) for way in reader._learnt.ways] == [fields._Arrow]
    assert batch_of(reader, Block(1, b'{"a": 3}\n')).columns["a"].to_pylist() == [3]
