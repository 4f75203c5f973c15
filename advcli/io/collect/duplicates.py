"""Exact repeats: rows that a trainer or a resumed run wrote more than once.

Two equal answers to one prompt are not a repeat: a model may give the same answer twice. A repeat is a group seen
before that is equal in every column but the step, or, if rows have a number of their own, a row seen before.
"""

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from advcli.common.wording import counted, verb
from advcli.io.formats.catalog import STEPS
from advcli.io.layouts import objects
from advcli.records.layout import Layout

ROW = "@row"
"""The column of digests, one per row."""

_STEPS = {*STEPS, "gen_step"}
# Columns that number the rows within a group, a step or a run.
_NUMBERS = (
    "sample_idx",
    "traj_idx",
    "request_id",
    "trajectory_id",
    "sample_index",
    "sample_id",
    "_ng_rollout_index",
)


def digests(record: Mapping[str, Any], layout: Layout) -> list[str]:
    """A digest of every row of a record, over all its columns except the step.

    Example:
        >>> one, two = (digests({"step": step, "reward": 1}, Layout()) for step in (1, 2))
        >>> one == two
        True
    """
    return [
        blake2b(
            json.dumps(
                {key: value for key, value in row.items() if key not in _STEPS}, sort_keys=True, default=repr
            ).encode("utf-8", "surrogatepass"),
            digest_size=16,
        ).hexdigest()
        for row in objects.rows(record, layout)
    ]


def repeats(
    digest: NDArray[np.int64],
    key: NDArray[np.int64],
    step: NDArray[np.int64] | None,
    source: NDArray[np.int64],
    *,
    numbered: bool,
) -> NDArray[np.bool_]:
    """Which rows are exact repeats of earlier ones.

    Args:
        digest: [N] code of the row's digest.
        key: [N] code of the prompt, -1 for rows that are left out.
        step: [N] code of the step, or None.
        source: [N] number of the row's file.
        numbered: whether rows have a number of their own, so that two equal rows are a repeat.

    Returns:
        [N] bool.

    Example:
        >>> columns = np.array([0, 1, 0, 1]), np.zeros(4, int), np.array([0, 0, 1, 1]), np.zeros(4, int)
        >>> repeats(*columns, numbered=False).tolist()
        [False, False, True, True]
    """
    import pandas as pd

    frame = pd.DataFrame(
        {"digest": digest, "key": key, "source": source, "step": 0 if step is None else step}
    )
    frame = frame[frame["key"] >= 0]
    repeated = np.zeros(len(key), dtype=bool)
    if numbered:
        repeated[frame.index[frame.duplicated(["digest", "key", "step"])]] = True
        frame = frame[~frame.duplicated(["digest", "key", "step"])]
    seen: set[tuple[int, bytes]] = set()
    for (prompt, _, _), rows in frame.groupby(["key", "step", "source"], sort=False):
        block = (int(str(prompt)), rows["digest"].to_numpy().tobytes())
        if len(rows) > 1 and block in seen:
            repeated[rows.index] = True
        seen.add(block)
    return repeated


def has_numbers(kinds: Mapping[str, str]) -> bool:
    """Whether the rows of a dump have a number of their own."""
    return any(name in kinds for name in _NUMBERS)


def remark(repeated: NDArray[np.bool_]) -> str:
    """The message about repeats that were left out."""
    count = int(repeated.sum())
    return f"{counted(count, 'row')} {verb(count, 'is an exact repeat', 'are exact repeats')} of an earlier one: left out"
