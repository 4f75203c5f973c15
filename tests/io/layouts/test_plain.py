"""Values that Python has no type for, or cannot read."""

import pyarrow as pa
import pytest

from advcli.io.layouts.plain import rows, values


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([1700000000123456789, None], pa.timestamp("ns")), ["2023-11-14T22:13:20.123456789", None]),
        (pa.array([0], pa.timestamp("us", "Mars/Olympus")), ["1970-01-01T00:00:00.000000+00:00"]),
        (pa.array([5], pa.duration("ns")), [5]),
        (
            pa.array([{"at": 1, "k": 2}, None], pa.struct([("at", pa.timestamp("ns")), ("k", pa.int64())])),
            [{"at": "1970-01-01T00:00:00.000000001", "k": 2}, None],
        ),
        (pa.array([[1], None], pa.list_(pa.duration("ns"))), [[1], None]),
        (pa.array([b"\xff"], pa.binary()).view(pa.string()), [b"\xff"]),
        (pa.array([1, None]), [1, None]),
    ],
)
def test_values(array, expected):
    assert values(array) == expected


def test_a_date_beyond_python():
    (shown,) = values(pa.array([10**15], pa.timestamp("ms")))
    assert shown is not None


def test_rows():
    batch = pa.record_batch({"a": [1, 2], "t": pa.array([1, 2], pa.duration("ns"))})
    assert rows(batch) == [{"a": 1, "t": 1}, {"a": 2, "t": 2}]
