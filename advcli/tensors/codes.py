"""Integer codes for equal values. Equal values are mostly adjacent, so each run is hashed once."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

# Codes and row numbers below this fit into 32 bits each.
_PACKED = 1 << 31
# Rows processed at a time, so that they stay in the CPU cache.
_FEW = 1 << 15


def numbered(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """[N] int64 codes: equal values get one code, numbered in order of first appearance.

    Example:
        >>> numbered(np.array([7, 7, 2, 7])).tolist()
        [0, 0, 1, 0]
    """
    if _is_numbered(values):
        return values
    starts = np.concatenate([[0], np.flatnonzero(values[1:] != values[:-1]) + 1])[: len(values)]
    if 2 * len(starts) > len(values):
        return _hashed(values)
    codes = _hashed(values[starts])
    return np.repeat(codes, np.diff(starts, append=len(values)))


def _is_numbered(values: NDArray[np.int64]) -> bool:
    """Whether the values are such codes already."""
    last_highest = -1
    for _, chunk, highest in _highest_so_far(values):
        if chunk.min() < 0 or highest[0] > last_highest + 1 or (highest[1:] - highest[:-1] > 1).any():
            return False
        last_highest = int(highest[-1])
    return True


def _highest_so_far(
    values: NDArray[np.int64],
) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
    """Per chunk: its first row, its values and the running maximum over all rows up to each."""
    last_highest = -1
    for start in range(0, len(values), _FEW):
        chunk = values[start : start + _FEW]
        if chunk[0] >= last_highest and (chunk[1:] >= chunk[:-1]).all():
            # Several times faster for sorted rows.
            highest = chunk
        else:
            highest = np.maximum.accumulate(chunk)
            np.maximum(highest, last_highest, out=highest)
        yield start, chunk, highest
        last_highest = int(highest[-1])


def _hashed(values: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray(pa.array(values).dictionary_encode().indices, dtype=np.int64)


def in_order(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """[N] the rows sorted by code, ties in row order.

    Where both fit, code and row number are packed into one int64: numpy's sort is many times faster than its argsort.

    Example:
        >>> in_order(np.array([5, 3, -1, 5])).tolist()
        [2, 1, 0, 3]
    """
    if max(len(codes), codes.max(initial=0), -codes.min(initial=0)) >= _PACKED:
        return np.argsort(codes, kind="stable")
    packed = codes << 32
    packed |= np.arange(len(codes))
    packed.sort()
    packed &= 0xFFFFFFFF
    return packed


def places(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """[N] how many earlier rows have the same code.

    Example:
        >>> places(np.array([5, 3, 5, 5])).tolist()
        [0, 0, 1, 2]
    """
    order = in_order(codes)
    starts = np.flatnonzero(np.concatenate([[True], np.diff(codes[order]) != 0])[: len(codes)])
    result = np.empty(len(codes), dtype=np.int64)
    result[order] = np.arange(len(codes)) - np.repeat(starts, np.diff(starts, append=len(codes)))
    return result


def paired(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """[N] one code per pair of codes (≥ 0), numbered in order of first appearance.

    Example:
        >>> paired(np.array([0, 0, 1]), np.array([5, 6, 5])).tolist()
        [0, 1, 2]
    """
    if not len(first):
        return first
    if int(first.max()) > len(first):
        first = numbered(first)
    of_first = np.zeros(int(first.max()) + 1, dtype=second.dtype)
    of_first[first] = second
    pieces = (slice(start, start + _FEW) for start in range(0, len(first), _FEW))
    if all((of_first[first[piece]] == second[piece]).all() for piece in pieces):
        # Each first code occurs with one second code only, so it identifies the pair.
        return numbered(first)
    return numbered(first * (int(second.max()) + 1) + second)


def first_rows(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The row at which each code first occurs; codes (≥ 0) are numbered in order of first appearance.

    Example:
        >>> first_rows(np.array([0, 0, 1, 0, 2])).tolist()
        [0, 2, 4]
    """
    result, last_highest = [np.empty(0, dtype=np.int64)], -1
    for start, _, highest in _highest_so_far(codes):
        result.append(np.flatnonzero(np.diff(highest, prepend=last_highest)) + start)
        last_highest = int(highest[-1])
    return np.concatenate(result)


def met_with_several(first: NDArray[np.int64], second: NDArray[np.int64]) -> int:
    """How many of the first codes (≥ 0) occur with more than one second code.

    Example:
        >>> met_with_several(np.array([0, 1, 0]), np.array([5, 5, 6]))
        1
    """
    pairs = first_rows(paired(first, second))
    return int((np.bincount(first[pairs]) > 1).sum())
