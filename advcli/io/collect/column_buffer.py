"""A growable column buffer: concatenating a list of batches would hold the data twice."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# At most so many rows are allocated in advance: a damaged file may claim any number.
_MAX_RESERVED = 1 << 27


class ColumnBuffer:
    """A column that grows batch by batch, in one array.

    Example:
        >>> column = ColumnBuffer()
        >>> column.append(np.array([1, 2]), room=3)
        >>> column.append(np.array([0.5]))
        >>> column.values()
        array([1. , 2. , 0.5])
    """

    def __init__(self) -> None:
        self._array: NDArray[Any] = np.empty(0, dtype=np.bool_)
        self._count = 0

    def append(self, values: NDArray[Any], room: int = 0) -> None:
        """Add values at the end.

        Args:
            values: [n, …]; the axes after the first are the same in every batch.
            room: how many values will be added in total, including these; 0 if unknown. Unwritten memory costs
                nothing.
        """
        end = self._count + len(values)
        dtype = np.result_type(self._array, values) if self._count else values.dtype
        if end > len(self._array) or dtype != self._array.dtype:
            size = max(end, self._count + min(room, _MAX_RESERVED), 2 * self._count)
            old, self._array = self.values(), np.empty((size, *values.shape[1:]), dtype=dtype)
            if len(old):
                self._array[: self._count] = old
        self._array[self._count : end] = values
        self._count = end

    def values(self) -> NDArray[Any]:
        """[N, …] all values, in the order they were added."""
        return self._array[: self._count]
