"""Finds the groups with rows in several files by their digests, because their rows must be moved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from advcli.distributed.tasks import ObjectRef, Tasks
from advcli.io.collect.cells import one_array
from advcli.io.collect.text_codes import mixed

_GROUPS_PER_CROSSING = 8
"""Only groups that span files are moved if at most one group in this many does; else all rows are shuffled."""
_MAX_TASKS = 8
"""The maximum number of tasks that search for these groups."""

Digests: TypeAlias = NDArray[np.uint64]


@dataclass(frozen=True)
class Crossing:
    """The groups that have rows in several files.

    Attributes:
        digests: their digests, ascending; None if there are too many to move only these.
        targets: file → the partitions of such groups with rows in it.
        reused: number of prompts drawn at several steps; 0 if a prompt is one group regardless of its steps.
    """

    digests: Digests | None
    targets: Mapping[int, set[int]]
    reused: int


def find(
    tasks: Tasks,
    rows: Sequence[ObjectRef],
    steps: Sequence[NDArray[np.int64] | None],
    partitions: int,
    workers: int,
) -> Crossing:
    """Find the groups that have rows in several files.

    Args:
        tasks: the cluster.
        rows: the rows of each file, from `scan.read`.
        steps: for each file, the global codes of its steps; None if a prompt is one group.
        partitions: the number of partitions.
        workers: how many tasks run concurrently.
    """
    count = min(workers, _MAX_TASKS)
    pieces = [tasks.split(count, digests_of, table, count, of) for table, of in zip(rows, steps, strict=True)]
    by_step = any(of is not None for of in steps)
    result = tasks.get(
        [
            tasks.run(find_in_task, number, partitions, by_step, *parts)
            for number, parts in enumerate(zip(*pieces, strict=True))
        ]
    )
    reused = sum(part.reused for part in result)
    if any(part.digests is None for part in result):
        return Crossing(None, {}, reused)
    targets: dict[int, set[int]] = {}
    for part in result:
        for number, to in part.targets.items():
            targets.setdefault(number, set()).update(to)
    return Crossing(np.sort(np.concatenate([part.digests for part in result])), targets, reused)


def digests_of(rows: pa.Table, tasks: int, steps: NDArray[np.int64] | None) -> list[Digests]:
    """The distinct groups of a file, scattered to tasks: [n, 2] the digests of their prompts and their own."""
    rows = rows.select(["key", "step", "usable"])
    rows = rows if numbers(rows, "usable").all() else rows.filter(rows["usable"]).combine_chunks()
    prompts, groups, _ = runs(rows, steps)
    groups, first = np.unique(groups, return_index=True)
    pairs = np.stack([prompts[first], groups], axis=1)
    task = pairs[:, 0] % np.uint64(tasks)
    return [pairs[task == number] for number in range(tasks)]


def find_in_task(number: int, partitions: int, by_step: bool, *pieces: Digests) -> Crossing:  # noqa: FBT001  sent to a task
    """The groups of one task with rows in several files, given one piece per file with its groups in ascending order."""
    del number
    groups = [piece[:, 1] for piece in pieces]
    all_groups = np.sort(np.concatenate(groups))
    result = np.unique(all_groups[1:][all_groups[1:] == all_groups[:-1]])
    reused = _count_reused(np.concatenate(pieces), distinct=not len(result)) if by_step else 0
    if _GROUPS_PER_CROSSING * len(result) > len(all_groups):
        return Crossing(None, {}, reused)
    targets = {}
    for file, own in enumerate(groups):
        crossing = result[among(result, own)]
        if len(crossing):
            targets[file] = set((crossing % np.uint64(partitions)).astype(np.int64).tolist())
    return Crossing(result, targets, reused)


def among(digests: Digests, ascending: Digests) -> NDArray[np.bool_]:
    """[n] whether each digest is in `ascending`, a sorted array."""
    if not len(ascending):
        return np.zeros(len(digests), dtype=bool)
    index = np.searchsorted(ascending, digests).clip(max=len(ascending) - 1)
    result: NDArray[np.bool_] = ascending[index] == digests
    return result


def _count_reused(pairs: Digests, *, distinct: bool) -> int:
    """The number of prompts with several groups; `distinct` if each group occurs once."""
    if not distinct:
        pairs = pairs[np.unique(pairs[:, 1], return_index=True)[1]]
    prompts = np.sort(pairs[:, 0])
    return len(np.unique(prompts[1:][prompts[1:] == prompts[:-1]]))


def runs(rows: pa.Table, steps: NDArray[np.int64] | None) -> tuple[Digests, Digests, NDArray[np.int64]]:
    """The prompt and group digests of each run of equal rows of a file, and the run lengths."""
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
