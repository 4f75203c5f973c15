"""Compact thrift: bytes written by hand from the specification, and footers of real files."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advcli.io import thrift

BYTES = {
    # field 1 is true, field 2 is false
    b"\x11\x12\x00": {1: (1, True), 2: (2, False)},
    # field 3 is the i32 -1, field 20 the i64 300: a step over 15 spells the number
    b"\x35\x01\x06\x28\xd8\x04\x00": {3: (5, -1), 20: (6, 300)},
    # a list of two i32, a list of 16 bools
    b"\x19\x25\x02\x04\x00": {1: (9, (5, [1, 2]))},
    b"\x19\xf1\x10" + b"\x01" * 16 + b"\x00": {1: (9, (1, [1] * 16))},
    # a struct with a text in it, a byte, a double
    b"\x1c\x18\x02hi\x00\x13\xff\x17" + bytes(8) + b"\x00": {
        1: (12, {1: (8, b"hi")}),
        2: (3, 255),
        3: (7, bytes(8)),
    },
    b"\x00": {},
}


@pytest.mark.parametrize(("data", "struct"), BYTES.items(), ids=[data.hex() for data in BYTES])
def test_bytes_of_the_specification(data, struct):
    assert thrift.decode(data) == struct
    assert thrift.encode(struct) == data


INTEGERS = st.integers(-(2**63), 2**63 - 1)
VALUES = st.recursive(
    st.tuples(st.just(thrift.I64), INTEGERS)
    | st.tuples(st.just(thrift.BINARY), st.binary(max_size=300))
    | st.just((thrift.TRUE, True))
    | st.tuples(st.just(thrift.LIST), st.tuples(st.just(thrift.I64), st.lists(INTEGERS, max_size=20))),
    lambda inner: st.tuples(st.just(thrift.STRUCT), st.dictionaries(st.integers(1, 200), inner, max_size=4)),
)


@given(st.dictionaries(st.integers(1, 2000), VALUES, max_size=6))
def test_what_is_written_is_read(struct):
    assert thrift.decode(thrift.encode(struct)) == struct
    assert thrift.decode_first(thrift.encode(struct) + b"more") == (struct, len(thrift.encode(struct)))


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_unknown(data):
    try:
        thrift.decode(data)
    except thrift.Unknown:
        return


def test_the_footer_of_a_file_comes_out_as_it_went_in():
    sink = io.BytesIO()
    table = pa.table({"a": [1, 2], "b": [["x"], None], "c": [{"d": 0.5}, None]})
    pq.write_table(
        table, sink, row_group_size=1, write_page_index=True, sorting_columns=[pq.SortingColumn(0)]
    )
    data = sink.getvalue()
    footer = data[-8 - int.from_bytes(data[-8:-4], "little") : -8]
    assert thrift.encode(thrift.decode(footer)) == footer
