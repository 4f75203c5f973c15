"""Compact thrift: bytes written by hand from the specification, structs of any shape, and footers of real files."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advcli.io.parquet import thrift

SPECIFIED = [
    # field 1 is true, field 2 is false
    (b"\x11\x12\x00", {}, {1: (1, b""), 2: (2, b"")}),
    # field 3 is the i32 -1, field 20 the i64 300: a step over 15 spells the number
    (b"\x35\x01\x06\x28\xd8\x04\x00", {}, {3: (5, b"\x01"), 20: (6, b"\xd8\x04")}),
    # a list of two i32, a list of 16 bools
    (b"\x19\x25\x02\x04\x00", {}, {1: (9, b"\x25\x02\x04")}),
    (b"\x19\xf1\x10" + b"\x01" * 16 + b"\x00", {}, {1: (9, b"\xf1\x10" + b"\x01" * 16)}),
    # a struct with a text in it, a byte, a double
    (
        b"\x1c\x18\x02hi\x00\x13\xff\x17" + bytes(8) + b"\x00",
        {},
        {1: (12, b"\x18\x02hi\x00"), 2: (3, b"\xff"), 3: (7, bytes(8))},
    ),
    # the same, the struct opened; of a field that is not there nothing is wanted
    (b"\x1c\x18\x02hi\x00\x13\xff\x00", {1: {}, 9: {}}, {1: (12, {1: (8, b"\x02hi")}), 2: (3, b"\xff")}),
    # a list of two structs, opened and not
    (b"\x19\x2c\x15\x02\x00\x00\x00", {1: {}}, {1: (9, [{1: (5, b"\x02")}, {}])}),
    (b"\x19\x2c\x15\x02\x00\x00\x00", {}, {1: (9, b"\x2c\x15\x02\x00\x00")}),
    (b"\x19\x0c\x00", {1: {}}, {1: (9, [])}),
    (b"\x00", {}, {}),
]


@pytest.mark.parametrize(
    ("data", "wanted", "struct"), SPECIFIED, ids=[str(row[0].hex()) for row in SPECIFIED]
)
def test_bytes_of_the_specification(data, wanted, struct):
    assert thrift.decode(data, wanted) == struct
    assert thrift.encode(struct) == data


UNKNOWN = {
    "nothing": (b"", {}),
    "no end": (b"\x15\x02", {}),
    "a text that is cut off": (b"\x18\x05a\x00", {}),
    "a number that is cut off": (b"\x15\x82", {}),
    "more behind": (b"\x00\x00", {}),
    "a field twice": (b"\x15\x02\x05\x02\x02\x00", {}),
    "a map": (b"\x1b\x00\x00", {}),
    "a number where a struct is wanted": (b"\x15\x02\x00", {1: {}}),
    "numbers where structs are wanted": (b"\x19\x25\x02\x04\x00", {1: {}}),
    "more items than bytes": (b"\x19\xf3\xff\xff\xff\xff\x0f\x00", {}),
    "structs too deep": (b"\x1c" * 5000 + b"\x00" * 5001, {}),
    "lists too deep": (b"\x19" * 5000 + b"\x00", {}),
}


@pytest.mark.parametrize(("data", "wanted"), UNKNOWN.values(), ids=UNKNOWN)
def test_what_is_not_known(data, wanted):
    with pytest.raises(thrift.UnsupportedFooter):
        thrift.decode(data, wanted)


def varint(value):
    """The specification: seven bits a byte, the lowest first, a bit on top where more follow."""
    return bytes([value]) if value < 128 else bytes([value % 128 + 128]) + varint(value // 128)


def zigzag(value):
    """The specification: 0, -1, 1, -2, 2, ... are 0, 1, 2, 3, 4, ..."""
    return varint(2 * value if value >= 0 else -2 * value - 1)


def spelled(fields):
    """A struct: each field's step from the one before, its type, its value."""
    out, last = b"", 0
    for number, (kind, value) in fields.items():
        step = number - last
        out += bytes([step * 16 + kind]) if 0 < step < 16 else bytes([kind]) + zigzag(number)
        out, last = out + value, number
    return out + b"\x00"


def many(kind, items):
    head = (
        bytes([len(items) * 16 + kind]) if len(items) < 15 else bytes([15 * 16 + kind]) + varint(len(items))
    )
    return head + b"".join(items)


INTEGERS = st.integers(-(2**63), 2**63 - 1)
NUMBERS = st.tuples(st.sampled_from([thrift.I16, thrift.I32, thrift.I64]), INTEGERS.map(zigzag))
PLAIN = (
    NUMBERS
    | st.binary(max_size=300).map(lambda text: (thrift.BINARY, varint(len(text)) + text))
    | st.sampled_from(
        [(thrift.TRUE, b""), (thrift.FALSE, b""), (thrift.BYTE, b"\xff"), (thrift.DOUBLE, bytes(8))]
    )
    | st.lists(INTEGERS.map(zigzag), max_size=20).map(lambda some: (thrift.LIST, many(thrift.I64, some)))
    | st.lists(st.sampled_from([b"\x01", b"\x02"]), max_size=20).map(
        lambda some: (thrift.LIST, many(thrift.TRUE, some))
    )
)
FIELDS = st.integers(1, 200)
STRUCTS = st.recursive(
    st.dictionaries(FIELDS, PLAIN, max_size=4).map(spelled),
    lambda inner: st.dictionaries(
        FIELDS,
        PLAIN
        | inner.map(lambda data: (thrift.STRUCT, data))
        | st.lists(inner, max_size=17).map(lambda some: (thrift.LIST, many(thrift.STRUCT, some))),
        max_size=4,
    ).map(spelled),
    max_leaves=8,
)


@given(
    st.dictionaries(st.integers(1, 2000), PLAIN | STRUCTS.map(lambda data: (thrift.STRUCT, data)), max_size=6)
)
def test_fields_are_the_bytes_that_spell_them(fields):
    assert thrift.decode(spelled(fields), {}) == fields
    assert thrift.encode(fields) == spelled(fields)


@given(STRUCTS)
def test_what_is_opened_is_written_as_it_was(data):
    plain = thrift.decode(data, {})
    lists = [
        name
        for name, (kind, value) in plain.items()
        if kind == thrift.LIST and value[0] % 16 == thrift.STRUCT
    ]
    wanted = {name: {} for name, (kind, _) in plain.items() if kind == thrift.STRUCT or name in lists}
    opened = thrift.decode(data, wanted)
    assert thrift.encode(opened) == data
    for name in wanted:
        kind, value = opened[name]
        again = thrift.encode_list(value) if kind == thrift.LIST else thrift.encode(value)
        assert again == plain[name][1]
    for name in lists:
        assert thrift.decode_list(plain[name][1], {}) == opened[name][1]


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_unknown(data):
    try:
        thrift.decode(data, {1: {1: {}}, 2: {}})
    except thrift.UnsupportedFooter:
        return


@pytest.mark.parametrize(
    ("value", "data"),
    [(0, b"\x00"), (-1, b"\x01"), (1, b"\x02"), (63, b"\x7e"), (64, b"\x80\x01"), (300, b"\xd8\x04")],
)
def test_numbers_of_the_specification(value, data):
    assert (thrift.integer(data), thrift.of_integer(value)) == (value, data)
    with pytest.raises(thrift.UnsupportedFooter):
        thrift.integer(data + b"\x00")


@given(INTEGERS, st.binary(max_size=300))
def test_numbers_and_texts(value, text):
    assert thrift.of_integer(value) == zigzag(value)
    assert thrift.integer(zigzag(value)) == value
    assert thrift.of_binary(text) == varint(len(text)) + text
    assert thrift.binary(varint(len(text)) + text) == text


@pytest.mark.parametrize("wanted", [{}, {2: {}, 5: {}, 7: {}}, {4: {1: {3: {12: {}}}}}], ids=str)
def test_the_footer_of_a_file_comes_out_as_it_went_in(wanted):
    sink = io.BytesIO()
    table = pa.table({"a": [1, 2], "b": [["x"], None], "c": [{"d": 0.5}, None]})
    pq.write_table(
        table, sink, row_group_size=1, write_page_index=True, sorting_columns=[pq.SortingColumn(0)]
    )
    data = sink.getvalue()
    footer = data[-8 - int.from_bytes(data[-8:-4], "little") : -8]
    assert thrift.encode(thrift.decode(footer, wanted)) == footer
