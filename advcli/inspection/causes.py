"""Why groups are dead: extreme rewards, the same text in most rows, truncated or failed rows, constant parts."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from advcli.dataset.load import DataSet
from advcli.inspection.details import answer
from advcli.io.lookup import Row, read_back
from advcli.records.results.inspection import DeadCauses
from advcli.records.table import Source
from advcli.stats.health import dead_groups
from advcli.tensors.masks import rewarded
from advcli.tensors.segments import Segments

# Maximum number of rows to read back, in whole groups: their texts are in memory at once.
_ROWS = 2000
# Columns that usually hold the reference answer, which all rows of a prompt share.
_GOLD = ("answer",)


def _flag(value: Any) -> bool:  # noqa: ANN401  any JSON value
    return value is True or value == 1 or str(value).lower() in ("true", "yes")


def _present(value: Any) -> bool:  # noqa: ANN401  any JSON value
    # Some writers use NaN, which differs from itself, for a missing value.
    return value is not None and value == value and value not in (False, 0, "", [], {})


def _says(*words: str) -> Callable[[Any], bool]:
    return lambda value: str(value).lower() in words


_CUT = _says("length", "max_tokens", "max_length", "truncated", "overlong")
_BROKEN = _says("error", "failed", "failure", "aborted", "timeout", "crashed", "invalid")
_Flags = Mapping[str, Callable[[Any], bool]]

TRUNCATED: _Flags = MappingProxyType(
    {
        "truncated": _flag,
        "is_truncated": _flag,
        "overlong": _flag,
        "is_overlong": _flag,
        "finish_reason": _CUT,
        "stop_reason": _CUT,
    }
)
"""Column → whether its value means that the response was truncated."""

FAILED: _Flags = MappingProxyType(
    {
        "error": _present,
        "exception": _present,
        "failed": _flag,
        "is_failed": _flag,
        "is_error": _flag,
        "has_error": _flag,
        "aborted": _flag,
        "is_aborted": _flag,
        "timed_out": _flag,
        "status": _BROKEN,
    }
)
"""Column → whether its value means that the rollout failed."""


def dead_causes(data: DataSet, sources: Sequence[Source]) -> DeadCauses | None:
    """Count the causes of dead groups; a group may have several.

    Args:
        data: the data set.
        sources: its files, from which the rows of dead groups are read back.

    Returns:
        The counts; None without a dead group.
    """
    rows = data.rows
    valid = rewarded(rows.rewards, rows.group)
    values, segments = rows.rewards[valid], Segments.of(rows.group[valid], rows.count)
    dead, level = dead_groups(values, segments)
    groups = torch.nonzero(dead).squeeze(1)
    if not len(groups):
        return None
    low, high = float(values.min()), float(values.max())
    members = _members(rows.group, _evenly(groups, segments.size()[groups]))
    read = read_back(sources, data.table, [row for group_rows in members for row in group_rows])
    excluded = (*data.table.choice.prompt, *_GOLD)
    texts = [[answer(read[row], excluded) for row in group_rows] for group_rows in members]
    cut, cut_by = _flagged(TRUNCATED, members, read)
    if not cut_by:
        cut, cut_by = _at_longest(rows.lengths, members)
    failed, failed_by = _flagged(FAILED, members, read)
    same = [_mostly_same(group_texts) for group_texts in texts] if any(map(any, texts)) else []
    causes = [cause for cause, known in ((same, same), (cut, cut_by), (failed, failed_by)) if known]
    return DeadCauses(
        groups=len(groups),
        all_max=int((level[dead] == high).sum()) if low < high else 0,
        all_min=int((level[dead] == low).sum()) if low < high else 0,
        read=len(members),
        same_text=sum(same) if same else None,
        truncated=sum(cut) if cut_by else None,
        truncated_by=cut_by,
        failed=sum(failed) if failed_by else None,
        failed_by=failed_by,
        unexplained=sum(not any(found) for found in zip(*causes, strict=True)) if causes else len(members),
        constant_parts=_constant_parts(data, valid, segments, dead),
    )


def _evenly(groups: Tensor, sizes: Tensor) -> list[int]:
    """An evenly spaced sample of the groups with about `_ROWS` rows."""
    count = len(groups)
    most = max(1, min(count, int(_ROWS * count / max(1, int(sizes.sum())))))
    return [int(groups[position * count // most]) for position in range(most)]


def _members(group: Tensor, wanted: Sequence[int]) -> list[list[int]]:
    """The rows of each requested group."""
    result: dict[int, list[int]] = {number: [] for number in wanted}
    rows = torch.nonzero(torch.isin(group, torch.tensor(wanted))).squeeze(1)
    for row, number in zip(rows.tolist(), group[rows].tolist(), strict=True):
        result[number].append(row)
    return list(result.values())


def _flagged(
    flags: _Flags, members: Sequence[Sequence[int]], read: Mapping[int, Row]
) -> tuple[list[bool], str]:
    """Which groups have the flag on every row, and the column of the flag; "" without such a column."""
    column = next((name for name in flags if any(name in row for row in read.values())), "")
    if not column:
        return [], ""
    return [all(flags[column](read[row].get(column)) for row in rows) for rows in members], column


def _at_longest(lengths: Tensor | None, members: Sequence[Sequence[int]]) -> tuple[list[bool], str]:
    """Which groups have only rows of the longest length, if several rows have it, which suggests a length limit."""
    if lengths is None:
        return [], ""
    known = lengths[lengths.isfinite()]
    longest = float(known.max()) if len(known) else 0.0
    if int((known == longest).sum()) < 2 or float(known.min()) == longest:
        return [], ""
    at = (lengths == longest).numpy()
    return [bool(np.all(at[list(rows)])) for rows in members], f"length {longest:,.0f}, the longest"


def _mostly_same(texts: Sequence[str]) -> bool:
    """Whether more than half of the rows have the same text."""
    text, count = Counter(texts).most_common(1)[0]
    return bool(text) and 2 * count > len(texts)


def _constant_parts(data: DataSet, valid: Tensor, segments: Segments, dead: Tensor) -> Mapping[str, int]:
    """Part → dead groups in which it is constant; {} with one reward."""
    if data.table.parts is None:
        return {}
    parts = torch.from_numpy(data.table.parts)[valid].nan_to_num(nan=0.0)
    return {
        name: int((dead & dead_groups(parts[:, position], segments)[0]).sum())
        for position, (name, _) in enumerate(data.table.choice.rewards)
    }
