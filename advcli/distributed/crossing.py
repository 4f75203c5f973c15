"""The groups with rows in several files, found by their digests: their rows have to move."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from advcli.distributed.tasks import ObjectRef, Tasks
from advcli.io.collect.cells import one_array
from advcli.io.collect.text_codes import mixed

_FEW = 8
"""Groups with rows in several files move alone if no more than one of so many is such a group."""
_TASKS = 8
"""Tasks that look for these groups."""

Digests: TypeAlias = NDArray[np.uint64]


@dataclass(frozen=True)
class Crossing:
    """The groups that have rows in several files.

    Attributes:
        digests: their digests, ascending; None if these are too many to move alone.
        targets: file → the partitions of those with rows in it.
        again: prompts that are drawn at several steps; 0 where a prompt is one group, whatever its steps.
    """

    digests: Digests | None
    targets: Mapping[int, set[int]]
    again: int


def find(
    tasks: Tasks,
    rows: Sequence[ObjectRef],
    steps: Sequence[NDArray[np.int64] | None],
    places: int,
    workers: int,
) -> Crossing:
    """Find the groups that have rows in several files.

    Args:
        tasks: where it is done.
        rows: of each file, from `scan.read`.
        steps: of each file, the number of each of its steps among all; None where a prompt is one group.
        places: how many partitions there are.
        workers: how many tasks run at a time.
    """
    count = min(workers, _TASKS)
    pieces = [tasks.split(count, digests_of, table, count, of) for table, of in zip(rows, steps, strict=True)]
    by_step = any(of is not None for of in steps)
    result = tasks.get(
        [
            tasks.run(several, number, places, by_step, *parts)
            for number, parts in enumerate(zip(*pieces, strict=True))
        ]
    )
    again = sum(one.again for one in result)
    if any(one.digests is None for one in result):
        return Crossing(None, {}, again)
    targets: dict[int, set[int]] = {}
    for one in result:
        for number, to in one.targets.items():
            targets.setdefault(number, set()).update(to)
    return Crossing(np.sort(np.concatenate([one.digests for one in result])), targets, again)


def digests_of(rows: pa.Table, many: int, steps: NDArray[np.int64] | None) -> list[Digests]:
    """The groups of a file once each, for each of some tasks: [n, 2] the digests of their prompts and their own."""
    rows = rows.select(["key", "step", "usable"])
    rows = rows if numbers(rows, "usable").all() else rows.filter(rows["usable"]).combine_chunks()
    prompts, groups, _ = runs(rows, steps)
    groups, first = np.unique(groups, return_index=True)
    both = np.stack([prompts[first], groups], axis=1)
    to = both[:, 0] % np.uint64(many)
    return [both[to == number] for number in range(many)]


def several(number: int, places: int, by_step: bool, *pieces: Digests) -> Crossing:  # noqa: FBT001  sent to a task
    """Those of one task that have rows in several files; one piece per file, its groups in ascending order."""
    del number
    groups = [piece[:, 1] for piece in pieces]
    every = np.sort(np.concatenate(groups))
    result = np.unique(every[1:][every[1:] == every[:-1]])
    again = _again(np.concatenate(pieces), distinct=not len(result)) if by_step else 0
    if _FEW * len(result) > len(every):
        return Crossing(None, {}, again)
    targets = {}
    for file, own in enumerate(groups):
        there = result[among(result, own)]
        if len(there):
            targets[file] = set((there % np.uint64(places)).astype(np.int64).tolist())
    return Crossing(result, targets, again)


def among(digests: Digests, ascending: Digests) -> NDArray[np.bool_]:
    """[n] whether each is one of some others, which are in ascending order."""
    if not len(ascending):
        return np.zeros(len(digests), dtype=bool)
    at = np.searchsorted(ascending, digests).clip(max=len(ascending) - 1)
    result: NDArray[np.bool_] = ascending[at] == digests
    return result


def _again(both: Digests, *, distinct: bool) -> int:
    """Prompts with several groups; `distinct` if each group is there once."""
    if not distinct:
        both = both[np.unique(both[:, 1], return_index=True)[1]]
    prompts = np.sort(both[:, 0])
    return len(np.unique(prompts[1:][prompts[1:] == prompts[:-1]]))


def runs(rows: pa.Table, steps: NDArray[np.int64] | None) -> tuple[Digests, Digests, NDArray[np.int64]]:
    """The digests of the prompt and of the group of each run of rows of a file, and how many rows it has."""
    key = numbers(rows, "key")
    starts = np.ones(len(key), dtype=bool)
    np.not_equal(key[1:], key[:-1], out=starts[1:])
    if steps is None:
        first = np.flatnonzero(starts)
        prompts = groups = key[first].view(np.uint64)
    else:
        step = numbers(rows, "step")
        starts[1:] |= step[1:] != step[:-1]
        first = np.flatnonzero(starts)
        prompts = key[first].view(np.uint64)
        groups = mixed(prompts, steps[step[first]].astype(np.uint64), 1)
    return prompts, groups, np.diff(first, append=len(key))


def numbers(block: pa.Table, name: str) -> NDArray[Any]:
    """A column as numbers."""
    result: NDArray[Any] = one_array(block[name]).to_numpy(zero_copy_only=False)
    return result
