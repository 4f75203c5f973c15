"""Converts the cells of a dump to numbers and lists of numbers, whichever program wrote them."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from advcli.io.collect.values import values as values_of

Cells: TypeAlias = list[Any] | Any
"""One column of a batch: Python values (JSONL) or an arrow array (parquet)."""

NULL, NAN, INF = 1, 2, 3
"""Codes of a missing number, in the order of `records.table.CAUSES`."""


def numbers(cells: Cells) -> tuple[NDArray[np.float64], NDArray[np.int8], list[int]]:
    """Read cells as numbers.

    Numbers, booleans (1 and 0) and numbers written as strings are numbers.

    Returns:
        [n] float64, NaN where missing; [n] int8, 0 or the cause why it is missing; the positions of the cells
        that are not numbers.

    Example:
        >>> numbers([1, True, "0.5", None, "Infinity", "great"])
        (array([1. , 1. , 0.5, nan, nan, nan]), array([0, 0, 0, 1, 3, 0], dtype=int8), [5])
    """
    if isinstance(cells, pa.Array):
        if pa.types.is_dictionary(cells.type):
            cells = cells.dictionary_decode()
        if _is_number(cells.type):
            values = _as_float64(cells)
            return _split(values, np.asarray(cells.is_null()))
        cells = values_of(cells)
    bad: list[int] = []
    values = np.array([_number(cell, position, bad) for position, cell in enumerate(cells)], dtype=np.float64)
    nulls = np.array([cell is None for cell in cells], dtype=bool)
    clean, cause, _ = _split(values, nulls)
    cause[bad] = 0
    return clean, cause, bad


def lists(cells: Cells) -> tuple[NDArray[np.float64], NDArray[np.int64], list[int]]:
    """Read cells as lists of numbers.

    Returns:
        [T] float64, the numbers of all cells concatenated, NaN where one is missing; [n] int64, how many
        each cell has, 0 where it is null; the positions of the cells that are not lists of numbers.

    Example:
        >>> lists([[1, 0.5], None, "great"])
        (array([1. , 0.5]), array([2, 0, 0]), [2])
    """
    if isinstance(cells, pa.Array):
        if pa.types.is_list(cells.type) or pa.types.is_large_list(cells.type):
            numbers_of, _, wrong = numbers(cells.flatten())
            if not wrong:
                counts = np.array(pc.list_value_length(cells).fill_null(0), dtype=np.int64)
                return numbers_of, counts, []
        cells = values_of(cells)
    bad: list[int] = []
    result: list[NDArray[np.float64]] = []
    for position, cell in enumerate(cells):
        values, _, wrong = numbers(cell) if isinstance(cell, list) else (np.zeros(0), None, [])
        if wrong or not (cell is None or isinstance(cell, list)):
            bad.append(position)
            values = np.zeros(0)
        result.append(values)
    counts = np.array([len(values) for values in result], dtype=np.int64)
    return np.concatenate([*result, np.zeros(0)]), counts, bad


def token_means(cells: Cells, masks: Cells | None) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The mean of each row's list of per-token numbers.

    Args:
        cells: a list per row; anything else is missing.
        masks: a list of 0 and 1 per row: which tokens count. Without a mask of the same length, zeros at
            either end are padding.

    Returns:
        [n] float64 mean over the tokens that count, NaN if none does; [n] bool, whether the numbers differ.

    Example:
        >>> token_means([[0.5, 0.5, 0.0], [1.0, 3.0], None], None)
        (array([0.5, 2. , nan]), array([False,  True, False]))
        >>> token_means([[9.0, 0.5, 0.5]], [[0, 1, 1]])
        (array([0.5]), array([False]))
    """
    rows, marks = _lists(cells), _lists(masks) if masks is not None else []
    means, uneven = np.full(len(rows), math.nan), np.zeros(len(rows), dtype=bool)
    for position, row in enumerate(rows):
        counted = _tokens(row, marks[position] if marks else None)
        if counted.size and np.isfinite(counted).all():
            # The mean of equal numbers is that number; summing could be off in the last digit.
            even = counted.min() == counted.max()
            means[position], uneven[position] = counted[0] if even else counted.mean(), not even
    return means, uneven


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array.

    Example:
        >>> (
        ...     one_array(pa.chunked_array([[1], [2, 3]])).to_pylist(),
        ...     len(one_array(pa.chunked_array([], pa.int64()))),
        ... )
        ([1, 2, 3], 0)
    """
    if column.num_chunks == 1:
        # combine_chunks() would copy it.
        return column.chunk(0)
    combined = column.combine_chunks()
    if isinstance(combined, pa.ChunkedArray):
        assert combined.num_chunks <= 1, "more than one array can hold"
        return combined.chunk(0) if combined.num_chunks else pa.array([], combined.type)
    return combined


def _lists(cells: Cells) -> list[Any]:
    return values_of(cells) if isinstance(cells, pa.Array) else list(cells)


def _tokens(row: object, mask: object) -> NDArray[np.float64]:
    """The numbers of the tokens that count."""
    if isinstance(row, int | float):
        row = [row]
    if not isinstance(row, list) or not all(cell is None or isinstance(cell, int | float) for cell in row):
        return np.empty(0)
    values = np.array(row, dtype=np.float64)
    if isinstance(mask, list) and len(mask) == len(row):
        counted: NDArray[np.float64] = values[np.array([bool(cell) for cell in mask], dtype=bool)]
        return counted
    live = np.flatnonzero(values)
    return values[live[0] : live[-1] + 1] if live.size else values[:1]


def kinds_of_objects(objects: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The kind of each field of some JSON objects, in order of first appearance.

    Example:
        >>> kinds_of_objects([{"a": None, "b": "x"}, {"a": 1.5, "c": [1]}])
        {'a': 'number', 'b': 'text', 'c': 'nested'}
    """
    kinds: dict[str, str] = {}
    for row in objects:
        for name, value in row.items():
            if value is not None or name not in kinds:
                known = kinds.get(name, "number")
                kinds[name] = _kind_of_value(value) if known == "number" else known
    return kinds


def _kind_of_value(value: object) -> str:
    if value is None or isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "text"
    return "nested" if isinstance(value, list | dict) else "other"


def _is_number(type_: pa.DataType) -> bool:
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    return any(test(type_) for test in tests)


def _as_float64(array: pa.Array) -> NDArray[np.float64]:
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.uint8())
    floats = pc.cast(array, pa.float64(), safe=False)
    return np.asarray(floats.fill_null(math.nan) if floats.null_count else floats, dtype=np.float64)


def _split(
    values: NDArray[np.float64], nulls: NDArray[np.bool_]
) -> tuple[NDArray[Any], NDArray[Any], list[int]]:
    """The values with NaN for each missing number, and the cause of each."""
    if not nulls.any() and np.isfinite(values).all():
        # Usually nothing is missing, and nothing is copied.
        return values, np.zeros(len(values), dtype=np.int8), []
    cause = np.zeros(len(values), dtype=np.int8)
    cause[np.isnan(values)] = NAN
    cause[np.isinf(values)] = INF
    cause[nulls] = NULL
    return np.where(cause > 0, np.nan, values), cause, []


def _number(cell: object, position: int, bad: list[int]) -> float:
    """A cell as a float; NaN, and its position added to `bad`, if it is not a number."""
    if cell is None:
        return math.nan
    if isinstance(cell, str):
        # float() would accept "1_000", which no dump means as a number.
        cell = "?" if "_" in cell else cell
    elif not isinstance(cell, int | float):
        bad.append(position)
        return math.nan
    try:
        return float(cell)
    except ValueError:
        bad.append(position)
        return math.nan
    except OverflowError:
        return math.inf
