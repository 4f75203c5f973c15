"""Tables of text, cell by cell."""

import math

import pytest

from advcli.common.errors import DataError
from advcli.io.sources.openers import delimited


def rows(tmp_path, text):
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return delimited(path, "a.csv").rows.read_all()


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "0"], [1, 0]),
        (["1", "0.5"], [1.0, 0.5]),
        (["1e-3", "-2.5E+2"], [0.001, -250.0]),
        (["True", "false"], [True, False]),
        (["", "1"], [None, 1]),
        # What a number would not give back stays text.
        (["01", "1"], ["01", "1"]),
        (["12345678901234567890", "1"], ["12345678901234567890", "1"]),
        (["9007199254740993", "0.5"], ["9007199254740993", "0.5"]),
        (["1", "x"], ["1", "x"]),
        (["1", "True"], ["1", "True"]),
        (["+1", ".5"], ["+1", ".5"]),
        (['"a,\nb ""c"""', "x"], ['a,\nb "c"', "x"]),
    ],
)
def test_cells(cells, expected, tmp_path):
    table = rows(tmp_path, "id,x\n" + "".join(f"{place},{cell}\n" for place, cell in enumerate(cells)))
    assert table["x"].to_pylist() == expected


def test_no_number(tmp_path):
    found = rows(tmp_path, "x,y\n1.0,a\nnan,b\ninf,c\n")["x"].to_pylist()
    assert found[0] == 1.0
    assert math.isnan(found[1])
    assert found[2] == math.inf


@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_the_first_line_tells_what_separates(separator, tmp_path):
    table = rows(tmp_path, f'"a,;b"{separator}c{separator}d\n1{separator}2{separator}3\n')
    assert table.column_names == ["a,;b", "c", "d"]


def test_line_ends_and_a_byte_order_mark(tmp_path):
    table = rows(tmp_path, b"\xef\xbb\xbfa,b\r\n1,x\r\n2,y")
    assert table.to_pydict() == {"a": [1, 2], "b": ["x", "y"]}


def test_a_table_in_another_encoding_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"a.csv: not UTF-8 at byte 7; try .* iconv -f LATIN1 -t UTF-8"):
        rows(tmp_path, "x,y\n1,é\n".encode("latin-1"))
