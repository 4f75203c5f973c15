"""JSON Lines: a line comes out with the bytes it came in with, and four keys before its last brace."""

import gzip
import io
import json
import re
import tracemalloc
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from advcli.common.errors import DataError
from advcli.io.collect.batch import BadRows
from advcli.io.jsonl import read as jsonl
from advcli.io.jsonl.suffixes import Suffixes
from advcli.pipeline.compute import Output, compute
from advcli.pipeline.request import Request
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions, Source

# What the rows of a dead group get, and a row that was skipped.
DEAD = b'"adv_original": 0.0, "adv_processed": 0.0, "adv_kept": true, "adv_group": 0'
SKIPPED = b'"adv_original": null, "adv_processed": null, "adv_kept": false, "adv_group": null'
ADDED = re.compile(
    rb'(, )?"adv_original": [^,]+, "adv_processed": [^,]+, "adv_kept": (?:true|false), "adv_group": (?:\d+|null)'
    rb"(?=[ \t]*\}[ \t\r]*$)"
)
BOM = b"\xef\xbb\xbf"
ROW = b'{"prompt_id": "a", "reward": 1}\n'
DONE = b'{"prompt_id": "a", "reward": 1, ' + DEAD + b"}\n"


@pytest.fixture
def annotated(tmp_path):
    """The bytes that come out for the bytes of a file."""

    def run(data, name="a.jsonl", *, skip=False, **columns):
        (tmp_path / name).write_bytes(data)
        out = tmp_path / "out.jsonl"
        compute(
            Request((str(tmp_path / name),), Settings(), ColumnOptions(**columns), skip_bad_rows=skip),
            Output(str(out), force=True),
        )
        return out.read_bytes()

    return run


LINES = {
    # id: (bytes before the new keys, bytes after them)
    "plain": (b'{"prompt_id":"a","reward":1', b"}\n"),
    "key order": (b'{"z":0,"reward":1,"a":0,"prompt_id":"a","b":0', b"}\n"),
    "integer of 30 digits": (b'{"prompt_id":"a","reward":1,"x":123456789012345678901234567891', b"}\n"),
    "integer of 5000 digits": (b'{"prompt_id":"a","reward":1,"x":' + b"7" * 5000, b"}\n"),
    "float of 30 digits": (b'{"prompt_id":"a","reward":1,"x":0.123456789012345678901234567891', b"}\n"),
    "odd numbers": (b'{"prompt_id":"a","reward":1E+0,"x":[-0,1e400,-0.0e-7,1.10]', b"}\n"),
    "bare NaN": (b'{"prompt_id":"a","reward":1,"x":[NaN,Infinity,-Infinity]', b"}\n"),
    "odd escapes": (rb'{"pr\u006Fmpt_id":"a","reward":1,"x":"\u0041\/\b\ud83d\uDE00\u0000"', b"}\n"),
    "lone surrogate": (rb'{"prompt_id":"\ud800","reward":1', b"}\n"),
    "lone surrogate as bytes": (b'{"prompt_id":"\xed\xa0\x80","reward":1', b"}\n"),
    "duplicate keys": (b'{"prompt_id":"b","x":1,"x":2,"reward":9,"reward":1,"prompt_id":"a"', b"}\n"),
    "unicode": ('{"prompt_id":"Größe 提示 😀 é","reward":1'.encode(), b"}\n"),
    "other line ends in a string": ('{"prompt_id":"a\u2028b\u2029c\x85d","reward":1'.encode(), b"}\n"),
    "CRLF": (b'{"prompt_id":"a","reward":1', b"}\r\n"),
    "trailing blanks": (b'{"prompt_id":"a","reward":1', b"} \t \r\n"),
    "leading blanks": (b' \t{ "prompt_id" : "a" , "reward" : 1', b"}\n"),
    "blanks before the brace": (b'{"prompt_id":"a","reward":1', b" \t }\n"),
    "braces in a string": (b'{"prompt_id":"a","reward":1,"x":"}{ \\"}"', b"}\n"),
    "nested at the end": (b'{"prompt_id":"a","reward":1,"x":{"y":[{}]}', b"}\n"),
    "empty keys and values": (b'{"":"","prompt_id":"a","s":"","reward":1,"x":{},"y":[],"z":null', b"}\n"),
    "very long": (b'{"prompt_id":"a","reward":1,"x":"' + b"\\n\xc3\xa9" * 1_000_000 + b'"', b"}\n"),
    "our key in a string": (b'{"prompt_id":"a","reward":1,"x":"\\"adv_kept\\": true"', b"}\n"),
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_new_keys_stand_before_the_last_brace(annotated, line):
    head, tail = line
    assert annotated((head + tail) * 2) == (head + b", " + DEAD + tail) * 2


FILES = {
    # id: (file, what comes out)
    "byte order mark": (BOM + ROW * 2, BOM + DONE * 2),
    "byte order mark alone on its line": (BOM + b"\n" + ROW * 2, BOM + b"\n" + DONE * 2),
    "two files with a mark, joined": ((BOM + ROW) * 2, (BOM + DONE) * 2),
    "blank lines": (
        b"\n \t\r\n" + ROW + b"\n\n" + ROW + b"\r\n",
        b"\n \t\r\n" + DONE + b"\n\n" + DONE + b"\r\n",
    ),
    "no last newline": (ROW + ROW[:-1], DONE + DONE[:-1]),
    "blanks after the last newline": (ROW * 2 + b"  ", DONE * 2 + b"  "),
    "mixed line ends": (ROW + ROW[:-1] + b"\r\n" + ROW, DONE + DONE[:-1] + b"\r\n" + DONE),
    "one row": (ROW[:-1], ROW[:-2] + b", " + SKIPPED.replace(b'"adv_group": null', b'"adv_group": 0') + b"}"),
}


@pytest.mark.parametrize("file", FILES.values(), ids=FILES)
def test_everything_between_the_rows_stays(annotated, file):
    data, expected = file
    assert annotated(data) == expected


@pytest.mark.parametrize("empty", [b"{}", b"{ }", b"{\t }", b" {} "])
def test_an_empty_object_gets_no_comma(annotated, empty):
    expected = empty.replace(b"{", b"{" + SKIPPED)
    assert annotated(ROW * 2 + empty + b"\n", skip=True) == DONE * 2 + expected + b"\n"


def padded(text):
    return st.sampled_from(["", " ", "\t "]).map(lambda blank: blank + text)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(10**29, 10**31)
    | st.floats()
    | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def a_line(draw):
    """A row as some writer might have written it, its own keys somewhere among others."""
    fields = draw(st.lists(st.tuples(st.text(max_size=4), VALUES), max_size=4))
    fields += [
        ("prompt_id", draw(st.sampled_from(["a", 7, "é"]))),
        ("reward", draw(st.sampled_from([0, 1.5, "2"]))),
    ]
    fields = draw(st.permutations(fields))
    ascii_only = draw(st.booleans())
    colon, comma, end = draw(padded(":")), draw(padded(",")), draw(padded("}"))
    dumped = (
        json.dumps(name, ensure_ascii=ascii_only) + colon + json.dumps(value, ensure_ascii=ascii_only)
        for name, value in fields
    )
    tail = draw(st.sampled_from([b"\n", b"\r\n", b" \n", b"\n\n"]))
    return ("{" + comma.join(dumped) + end).encode("utf-8", "surrogatepass") + tail


@settings(max_examples=60, deadline=None)
@given(data=st.lists(a_line(), min_size=1, max_size=5).map(b"".join))
@example(data=b'{"prompt_id":"a","reward":0}\n{"reward":1,"prompt_id":"a" }')
def test_without_the_new_keys_the_bytes_are_those_of_the_input(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp()
    source, out = folder / "random.jsonl", folder / "random.out.jsonl"
    source.write_bytes(data)
    columns = ColumnOptions(prompt="prompt_id", rewards=(("reward", 1.0),))
    compute(Request((str(source),), Settings(singleton="zero"), columns), Output(str(out), force=True))
    rows = [line for line in data.split(b"\n") if line.strip()]
    written = [line for line in out.read_bytes().split(b"\n") if line.strip()]
    stripped, counts = zip(*(ADDED.subn(b"", line) for line in written), strict=True)
    assert list(stripped) == rows
    assert set(counts) == {1}
    assert b"\n".join(ADDED.sub(b"", line) for line in out.read_bytes().split(b"\n")) == data
    for line in written:
        assert {"adv_original", "adv_processed", "adv_kept", "adv_group"} <= json.loads(line).keys()


BROKEN = {
    # id: (line 3 of a file, the message about it)
    "not JSON": (b"oops\n", "not valid JSON at column 1"),
    "cut": (b'{"prompt_id": "a", "rew', "not valid JSON at column 20 .*the last line is incomplete"),
    "two objects": (ROW[:-1] + ROW, "not valid JSON at column 32"),
    "trailing comma": (b'{"prompt_id": "a", "reward": 1,}\n', "not valid JSON"),
    "array": (b'[1, {"prompt_id": "a"}]\n', r"a JSON array, expected one JSON object per line; try .*jq -c"),
    "number": (b"5\n", "the line is 5, expected one JSON object per line"),
    "latin-1": (b'{"prompt_id": "caf\xe9", "reward": 1}\n', "not UTF-8 at byte 19"),
    "too deep": (b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", "nested too deeply"),
    "zeros": (b"\0\0\0\n", "not valid JSON at column 1"),
}


@pytest.mark.parametrize("line", BROKEN.values(), ids=BROKEN)
def test_a_broken_line_is_an_error_with_its_place(annotated, line):
    broken, message = line
    with pytest.raises(DataError, match=rf"a\.jsonl:3: .*{message}"):
        annotated(b"\n" + ROW + broken)


@pytest.mark.parametrize("line", BROKEN.values(), ids=BROKEN)
def test_a_broken_line_that_is_skipped_is_left_out(annotated, line):
    broken, _ = line
    assert annotated(ROW + broken.rstrip(b"\n") + b"\n" + ROW, skip=True) == DONE * 2


def test_a_column_of_ours_is_refused_wherever_it_stands(annotated):
    with pytest.raises(DataError, match=r"a\.jsonl:3: the column adv_kept is there already.*--prefix"):
        annotated(ROW * 2 + b'{"prompt_id": "a", "reward": 1, "adv\\u005fkept": 1}\n', skip=True)


def gz(data):
    return gzip.compress(data)


def zst(data):
    return pa.compress(data, codec="zstd", asbytes=True)


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.zst", "a.jsonl", "dump"])
@pytest.mark.parametrize("pack", [gz, zst])
@pytest.mark.parametrize("parts", [1, 2, 3])
def test_compressed_input_whatever_its_name(annotated, pack, name, parts):
    """Several members or frames are one stream, as `cat a.gz b.gz` makes it; a line may cross them."""
    data = BOM + ROW * 6 + ROW[:-1]
    cuts = [len(data) * part // parts for part in range(parts + 1)]
    packed = b"".join(pack(data[start:end]) for start, end in pairwise(cuts))
    assert annotated(packed, name) == BOM + DONE * 6 + DONE[:-1]


@pytest.mark.parametrize("pack", [gz, zst])
def test_a_truncated_stream_is_an_error_with_its_place(annotated, pack):
    rows = b"".join(b'{"prompt_id": "a", "reward": 1, "x": %d}\n' % (i**9) for i in range(30_000))
    packed = pack(rows)
    with pytest.raises(DataError, match=r"a\.jsonl:(\d+): .*[Tt]runcated") as error:
        annotated(packed[: len(packed) * 3 // 4])
    line = int(re.search(r":(\d+):", str(error.value))[1])
    assert 1_000 < line <= 30_000
    # A stream that lost its end is not a row that can be skipped.
    with pytest.raises(DataError, match=r"[Tt]runcated"):
        annotated(packed[: len(packed) * 3 // 4], skip=True)


def test_a_damaged_checksum_is_an_error(annotated):
    packed = bytearray(gz(ROW * 9))
    packed[-8] ^= 1
    with pytest.raises(DataError, match=r"a\.jsonl.*incorrect data check"):
        annotated(bytes(packed))


@pytest.fixture
def source(tmp_path):
    def make(data):
        (tmp_path / "s.jsonl").write_bytes(data)
        return Source("s.jsonl", tmp_path / "s.jsonl", "jsonl")

    return make


def scanned(source, columns, **options):
    return list(
        jsonl.scan(source, columns, **{"refused": (), "bad_rows": BadRows(), "dropped": set(), **options})
    )


def test_scan_reads_the_named_fields_and_knows_where_they_stood(source):
    rows = source(b'\n{"a": 1, "b": [NaN]}\n\n{"b": 2, "c": 3}\r\n{"a": 12345678901234567890123}')
    batch, last = scanned(rows, ("a", "c"))
    assert batch.columns == {"a": [1, None], "c": [None, 3]}
    assert last.columns == {"a": [12345678901234567890123], "c": [None]}
    assert [batch.position(0), batch.position(1), last.position(0)] == ["s.jsonl:2", "s.jsonl:4", "s.jsonl:5"]
    assert [*batch.lines, *last.lines] == [2, 4, 5]


def test_scan_counts_broken_lines_and_numbers_them(source):
    bad, dropped = BadRows(skip=True), set()
    batches = scanned(source(b'{"a": 1}\nx\n{"a": 2}\n[]\n'), ("a",), bad_rows=bad, dropped=dropped)
    assert [cell for batch in batches for cell in batch.columns["a"]] == [1, 2]
    assert dropped == {2, 4}
    assert bad.count == 2
    assert bad.first.startswith("s.jsonl:2: ")


def test_digits_beyond_what_python_converts_are_kept_as_they_are(source):
    digits = "9" * 5000
    (batch,) = scanned(source(b'{"a": %s}' % digits.encode()), ("a",))
    assert batch.columns["a"] == [digits]


@pytest.mark.parametrize(
    ("suffixes", "rows"),
    [([1], 2), ([1] * 3, 2), ([], 1)],
    ids=["grew", "shrank", "from nothing"],
)
def test_another_number_of_rows_than_before_is_an_error(source, suffixes, rows):
    with pytest.raises(DataError, match=r"s\.jsonl: the file changed while it was read"):
        jsonl.annotate(source(b"{}\n" * rows), (), Suffixes(pa.table({"x": suffixes})), io.BytesIO().write)


@pytest.mark.parametrize(
    ("data", "end"),
    [(b"{}\n{}", b"\n"), (b"{}\n{}\n", b""), (b"{}\n{}\n\n", b""), (b"{}\n{}\n ", b"\n")],
    ids=["no newline", "newline", "blank line", "blanks"],
)
def test_the_last_line_is_ended_when_more_follows(source, data, end):
    out = io.BytesIO()
    jsonl.annotate(source(data), (), Suffixes(pa.table({"x": [1] * 2})), out.write, end_line=True)
    assert out.getvalue() == data.replace(b"{}", b'{"x": 1}') + end


def test_objects_are_the_rows(source):
    data = source(b'{"a": 1}\nbroken\n\n{"b": [NaN, "\xc3\xa9"]}\n')
    first, second = jsonl.objects(data, {2})
    assert first == {"a": 1}
    assert second["b"][1] == "é"
    with pytest.raises(DataError, match=r"s\.jsonl:2"):
        list(jsonl.objects(data, ()))


def test_the_head_is_the_first_lines_that_can_be_read(source):
    data = source(b'broken\n{"a": 1, "b": null}\n{"b": "x", "c": [1]}\n')
    shapes = {"a": "number", "b": "text", "c": "list"}
    assert jsonl.head(data) == (shapes, [{"a": 1, "b": None}, {"b": "x", "c": [1]}], True)


def test_the_head_of_a_long_file_is_not_all_of_it(source):
    """A key that comes late is found, and its record kept, when all lines are asked for."""
    data = source(b'{"a": 1}\n' * 150 + b'{"a": 1, "late": "x"}\n' + b'{"a": 1}\n' * 5)
    shapes, records, done = jsonl.head(data)
    assert (shapes, len(records), done) == ({"a": "number"}, 100, False)
    shapes, records, done = jsonl.head(data, whole=True)
    assert (shapes, done) == ({"a": "number", "late": "text"}, True)
    assert records[100:] == [{"a": 1, "late": "x"}]


def test_the_head_holds_few_large_records(source, monkeypatch):
    monkeypatch.setattr(jsonl, "_HEAD_BYTES", 100)
    data = source(b'{"a": "' + b"x" * 90 + b'"}\n' + b'{"a": "yyyyyyyyyyyyyyyyyyyy"}\n' * 9)
    assert len(jsonl.head(data)[1]) == 2


def test_texts_are_not_held_in_memory(source):
    """80 MB of text, 20 kB a row: what is held, a few blocks, is less than a fifth of it."""
    text = b'{"prompt_id": "%d", "reward": 1, "x": "' + b"y" * 20_000 + b'"}\n'
    data = source(b"".join(text % (i // 8) for i in range(4000)))
    tracemalloc.start()
    try:
        rows = sum(
            len(batch.lines)
            for batch in jsonl.scan(data, ("reward",), refused=(), bad_rows=BadRows(), dropped=set())
        )
        jsonl.annotate(data, (), Suffixes(pa.table({"x": [1] * 4000})), lambda _: None)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert rows == 4000
    assert peak < 16e6
