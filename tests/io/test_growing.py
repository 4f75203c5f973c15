"""Columns that grow: what `numpy.concatenate` and `numpy.repeat` give, here and where another process sees them."""

import numpy as np
import pytest

from advcli.io import growing
from advcli.io.growing import Growing, handle, repeated


@pytest.fixture(params=["here", "shared"])
def way(request, monkeypatch):
    monkeypatch.setattr(growing, "_seen", {} if request.param == "shared" else None)
    return request.param


@pytest.mark.parametrize(
    "batches",
    [
        [np.arange(3), np.arange(0), np.arange(70_000)],
        [np.empty(0), np.array([0.5, np.nan, np.inf])],
        [np.array([True]), np.array([False, True])],
        [np.ones((2, 3)), np.zeros((1, 3))],
        [np.arange(10, dtype=np.int8)[::2]],
        [np.empty(0, dtype=np.int8), np.empty(0, dtype=np.int8)],
    ],
    ids=["int64", "float64", "bool", "parts", "strided", "empty"],
)
def test_all_rows_are_there_in_order(way, batches):
    column = Growing()
    for batch in batches:
        column.append(batch)
    found, expected = column.whole(), np.concatenate(batches)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(found, expected)
    assert found.flags.writeable


def test_another_process_is_told_where_a_column_lies(way):
    column = Growing()
    column.append(np.arange(5))
    assert (handle(column.whole().data) is not None) == (way == "shared")
    assert handle(np.arange(5).data) is None


def test_a_column_of_two_types_is_refused_where_it_is_shared(monkeypatch):
    """Whoever waits then reads for himself."""
    monkeypatch.setattr(growing, "_seen", {})
    column = Growing()
    column.append(np.arange(5))
    with pytest.raises(AssertionError):
        column.append(np.arange(5.0))


@pytest.mark.parametrize("few", [1, 2, 1000])
def test_values_are_repeated_as_numpy_repeats_them(way, monkeypatch, few):
    monkeypatch.setattr(growing, "_FEW", few)
    values, counts = np.array([5, -1, 7, 7, 2]), np.array([3, 1, 0, 2, 1])
    assert repeated(values, counts).tolist() == [5, 5, 5, -1, 7, 7, 2]
    assert repeated(values[:0], counts[:0]).tolist() == []
