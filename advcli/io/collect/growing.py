"""A column that grows batch by batch, in one array: the parts of a list would be there twice once they are put together."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# More rows than that are not believed before they are there: a damaged file may say any number.
_MOST = 1 << 27


class Growing:
    """The values of a column.

    Example:
        >>> column = Growing()
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
            values: [n, …]; all of a column have the same further axes.
            room: how many values will be added, these among them, as far as that is known. Memory that is not
                written to is not used.
        """
        end = self._count + len(values)
        dtype = np.result_type(self._array, values) if self._count else values.dtype
        if end > len(self._array) or dtype != self._array.dtype:
            size = max(end, self._count + min(room, _MOST), 2 * self._count)
            held, self._array = self.values(), np.empty((size, *values.shape[1:]), dtype=dtype)
            if len(held):
                self._array[: self._count] = held
        self._array[self._count : end] = values
        self._count = end

    def values(self) -> NDArray[Any]:
        """[N, …] all values, in the order in which they came."""
        return self._array[: self._count]
