"""Columns that grow batch by batch until nobody knows how many rows there are.

In a process whose answer another one waits for (`advcli.io.apart`) they grow where both see them: so they are never there twice,
neither as batches beside the column that is made of them, nor on their way to whoever waits.
"""

import mmap
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

# So many values are repeated at a time: mostly what comes of them stays in the cache until it is written.
_FEW = 1 << 12
# Where a column that both see begins → the file of the memory that it lies in; None where nobody waits.
_seen: dict[int, int] | None = None


def share() -> None:
    """From now on, columns grow where another process can see them; there is no way back."""
    global _seen  # noqa: PLW0603
    _seen = {}


def handle(values: memoryview) -> int | None:
    """The file in memory that some bytes are the whole content of; None if there is none."""
    return None if _seen is None else _seen.get(_address(values))


class Growing:
    """[N] or [N, K] numbers of one type, some rows at a time.

    Example:
        >>> column = Growing()
        >>> column.append(np.array([1, 2])), column.append(np.array([3]))
        (None, None)
        >>> column.whole()
        array([1, 2, 3])
    """

    def __init__(self) -> None:
        self._parts: list[NDArray[Any]] = []
        self._handle: int | None = None

    def append(self, values: NDArray[Any]) -> None:
        """Put rows at the end: [n] or [n, K], of the type of those before."""
        if _seen is None or not values.size:
            self._parts.append(values)
            return
        if self._handle is None:
            self._handle, self._parts = os.memfd_create("advcli"), [values[:0], *self._parts]
        assert (values.dtype, values.shape[1:]) == (self._parts[0].dtype, self._parts[0].shape[1:])
        left = np.ascontiguousarray(values).data.cast("B")
        while left:
            left = left[os.write(self._handle, left) :]

    def whole(self) -> NDArray[Any]:
        """All rows; the column holds none of them any more."""
        parts, self._parts = self._parts, []
        if self._handle is None or _seen is None:
            return np.concatenate(parts)
        mapped = mmap.mmap(self._handle, 0)
        _seen[_address(memoryview(mapped))], self._handle = self._handle, None
        return np.frombuffer(mapped, dtype=parts[0].dtype).reshape(-1, *parts[0].shape[1:])


def repeated(values: NDArray[Any], counts: NDArray[np.int64]) -> NDArray[Any]:
    """What `numpy.repeat` gives, as a column that has grown.

    Args:
        values: [K].
        counts: [K] how often each is repeated.
    """
    if _seen is None or not len(values):
        return np.repeat(values, counts)
    column = Growing()
    for start in range(0, len(values), _FEW):
        some = slice(start, start + _FEW)
        column.append(np.repeat(values[some], counts[some]))
    return column.whole()


def _address(values: memoryview) -> int:
    found: int = np.frombuffer(values, dtype=np.uint8).ctypes.data
    return found
