"""The line of each row, including tables that don't store it because every line is a row."""

import numpy as np
from numpy.typing import NDArray

from advcli.records.table import RewardTable


def line_numbers(table: RewardTable) -> NDArray[np.int64]:
    """[N] int64 line (JSON Lines), element (JSON) or row (parquet) of each row in its source, counted from 1.

    Example:
        >>> from types import SimpleNamespace
        >>> line_numbers(SimpleNamespace(lines=None, rows=(2, 1))).tolist()
        [1, 2, 1]
    """
    if table.lines is not None:
        return table.lines
    return np.concatenate([np.empty(0, dtype=np.int64), *(np.arange(1, rows + 1) for rows in table.rows)])
