"""A column that grows: the values of all batches, in their order and in a type that holds them all."""

import numpy as np
import pytest

from advcli.io.collect.column_buffer import ColumnBuffer


@pytest.mark.parametrize("room", [0, 3, 7, 100])
def test_batches_lie_one_after_the_other_whatever_was_announced(room):
    column = ColumnBuffer()
    for start in range(0, 7, 2):
        column.append(np.arange(start, min(start + 2, 7)), room)
    assert column.values().tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert column.values().dtype == np.int64


def test_room_that_was_announced_is_made_once():
    column = ColumnBuffer()
    column.append(np.zeros(2), room=5)
    first = column.values()
    column.append(np.ones(3), room=3)
    assert np.shares_memory(first, column.values())
    assert len(column.values()) == 5


def test_a_wider_type_keeps_what_is_there():
    column = ColumnBuffer()
    column.append(np.array([1, 2], dtype=np.int8))
    column.append(np.array([0.5]))
    column.append(np.array([], dtype=np.int8))
    assert column.values().tolist() == [1.0, 2.0, 0.5]


def test_further_axes_stay():
    column = ColumnBuffer()
    column.append(np.empty((0, 2)))
    column.append(np.array([[1.0, 2.0]]))
    column.append(np.array([[3.0, 4.0]]))
    assert column.values().tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_a_number_of_rows_that_cannot_be_is_not_believed():
    column = ColumnBuffer()
    column.append(np.zeros(2), room=1 << 60)
    assert column.values().tolist() == [0.0, 0.0]


def test_nothing_at_all():
    assert len(ColumnBuffer().values()) == 0
