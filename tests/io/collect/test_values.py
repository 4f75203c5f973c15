"""Values that Python has no type for become text, and say what the file says."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from advcli.io.collect.values import records, text, values

NS = 1_700_000_000_123_456_789  # 2023-11-14 22:13:20.123456789 UTC


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (pa.array([NS, None], pa.timestamp("ns")), ["2023-11-14T22:13:20.123456789", None]),
        (pa.array([NS], pa.timestamp("ns", "UTC")), ["2023-11-14T22:13:20.123456789Z"]),
        (pa.array([0, 1], pa.timestamp("us")), [datetime(1970, 1, 1), datetime(1970, 1, 1, 0, 0, 0, 1)]),
        (pa.array([0], pa.timestamp("s", "UTC")), [datetime(1970, 1, 1, tzinfo=UTC)]),
        (pa.array([1 << 50], pa.timestamp("ms")), ["1125899906842624ms"]),
        (pa.array([0], pa.timestamp("us", "Mars/Olympus")), ["1970-01-01T00:00:00.000000"]),
        (pa.array([1, None], pa.duration("ns")), ["1ns", None]),
        (pa.array([1 << 62], pa.duration("s")), [f"{1 << 62}s"]),
        (pa.array([1], pa.time64("ns")), ["00:00:00.000000001"]),
        (pa.array([1 << 30], pa.date32()), ["1073741824d"]),
        (pa.array([b"\xff\xfe", b"ok", None]).view(pa.string()), [r"\xff\xfe", "ok", None]),
        (pa.array([b"\xff"], pa.large_binary()).view(pa.large_string()), [r"\xff"]),
        (
            pa.array([[NS], None, []], pa.list_(pa.timestamp("ns"))),
            [["2023-11-14T22:13:20.123456789"], None, []],
        ),
        (pa.array([[1, 2]], pa.list_(pa.duration("ns"), 2)), [["1ns", "2ns"]]),
        (
            pa.array([{"a": NS, "b": 1}, None], pa.struct([("a", pa.timestamp("ns")), ("b", pa.int64())])),
            [{"a": "2023-11-14T22:13:20.123456789", "b": 1}, None],
        ),
        (pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.duration("ns"))), [[("k", "1ns")], None]),
        (pa.array([1, 1], pa.duration("ns")).dictionary_encode(), ["1ns", "1ns"]),
    ],
    ids=lambda cells: str(getattr(cells, "type", "")),
)
def test_values(cells, expected):
    assert values(cells) == expected
    assert values(cells.slice(1)) == expected[1:]
    assert records(pa.record_batch({"x": cells})) == [{"x": value} for value in expected]


def test_rows_without_columns():
    batch = pa.record_batch({"x": [1, 2]}).select([])
    assert records(batch) == [{}] * batch.num_rows


def test_text_is_kept_where_it_can_be():
    assert text("\ud800".encode("utf-8", "surrogatepass")) == "\ud800"
