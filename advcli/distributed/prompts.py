"""`prompts`: each prompt over the run, with the rows in many places."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from advcli.common.errors import DataError
from advcli.dataset.grouping import Sizes
from advcli.dataset.load import DataSet, counted_once
from advcli.dataset.remarks import notes_of, unit_of
from advcli.distributed import cluster
from advcli.distributed import run as runs
from advcli.distributed.counts import Account, account, extremes
from advcli.distributed.load import described, load, looked_at, too_large
from advcli.distributed.run import PartitionJob, PartitionRows, Shown
from advcli.frameworks.rule import Unit
from advcli.pipeline.prompts import Run, figured, threshold_of
from advcli.pipeline.request import Request
from advcli.records.mergeable import Mergeable
from advcli.records.results.prompts import Asked, Prompts
from advcli.records.table import Source
from advcli.stats.metrics import step_order
from advcli.stats.prompts import PromptCounts, two_values
from advcli.tensors.masks import finite

_Ints = NDArray[np.int64]
# More different rewards than these two need not be known.
_FEW = 3


@dataclass(frozen=True)
class Values:
    """The rewards of a place, or of several: their sum, and up to three different ones."""

    rows: int
    total: float
    different: tuple[float, ...]

    def __add__(self, other: "Values") -> "Values":
        different = sorted({*self.different, *other.different})
        return Values(self.rows + other.rows, self.total + other.total, tuple(different[:_FEW]))


@dataclass(frozen=True)
class Parts(Mergeable):
    """The prompts of a place, or of several.

    Attributes:
        counts: one per place.
        begins: where the first row of each prompt stands among all rows; one per place.
        keys: [P, 2] the digest of each; one per place.
    """

    counts: tuple[PromptCounts, ...]
    begins: tuple[_Ints, ...]
    keys: tuple[_Ints, ...]

    def __add__(self, other: "Parts") -> "Parts":
        return Parts(self.counts + other.counts, self.begins + other.begins, self.keys + other.keys)


def prompts(
    request: Request, asked: Asked, *, check: Callable[[Sequence[Source]], None] | None = None
) -> Prompts:
    """Follow each prompt over the run; the arguments and the result are those of `pipeline.prompts`."""
    plan = request.plan()
    with looked_at(request) as job:
        if check:
            check(job.sources)
        if not job.choice.prompt:
            raise DataError("no prompt id, so no prompt can be followed", hint="--prompt-col COL")
        with cluster.running(request.ray_address) as tasks:
            loaded = load(tasks, job)
            view, places = loaded.spread("key")
            work = PartitionJob(view, (plan,), (Shown("original", 0, bare=True),), ((),), ())
            if job.choice.rollout:
                # The reward of a rollout may be none of those of its rows.
                ends = runs.over(tasks, places, work, extremes)
                work = replace(work, view=replace(view, low=ends.low, high=ends.high))
            values: Values = runs.over(tasks, places, work, rewards)
            if not values.rows:
                raise DataError("no row has a reward", hint="--reward COL")
            two = two_values(torch.tensor(values.different, dtype=torch.float64))
            steps, order = _steps(
                view.steps, [summary.step_rows for summary in loaded.summaries], view.step_of
            )
            threshold = threshold_of(asked, two)
            parts: Parts = runs.over(tasks, places, work, counted, threshold, order)
            result: Account = runs.over(tasks, places, work, account)
        by_rollout = result.turns is not None and plan.unit.counts == "rollouts"
        health = result.health if by_rollout else replace(result.health, rollouts=None)
        names = {key: name for summary in reversed(loaded.summaries) for key, name in summary.prompts.items()}
        position = np.argsort(np.concatenate(parts.begins), kind="stable")
        keys = map(tuple, np.concatenate(parts.keys)[position].tolist())
        over = values.total / values.rows
        run = Run(health, [names[key] for key in keys], steps, two, over, job.choice.length)
        shown = figured(PromptCounts.joined(parts.counts, position), run, asked)
        seen = Sizes(health.rows, health.groups, health.sizes, result.mixed)
        data = described(request, loaded, view, seen, result.seen, several=result.turns is not None)
        warnings = (*request.warnings, *data.table.warnings, *data.grouping.warnings)
        return replace(
            shown,
            notes=(*notes_of(data, 0, 0, 0.0, None), *shown.notes),
            warnings=(*warnings, *_unit(result, plan.unit), *too_large(view, result.largest, loaded.memory)),
        )


def _unit(result: Account, unit: Unit) -> Iterator[str]:
    """What is counted where rows share a rollout."""
    if result.turns is not None:
        figures, all_ = result.turns.figures(), unit.counts == "rows"
        differ = 0 if unit.reward == "sum" else figures.differ
        yield from unit_of((), figures.turns_max, differ, unit.reward, all_=all_)


def rewards(here: PartitionRows) -> Values:
    """The rewards of a place."""
    rows = _counted(here).rows
    values = rows.rewards[(rows.group >= 0) & finite(rows.rewards)].double()
    return Values(len(values), float(values.sum()), tuple(torch.unique(values)[:_FEW].tolist()))


def _counted(here: PartitionRows) -> DataSet:
    return counted_once(here.data, here.work.plans[0].unit)


def counted(here: PartitionRows, threshold: float | None, order: _Ints) -> Parts:
    """The prompts of a place; `order`: the place of each step in the run."""
    data = _counted(here)
    there = np.flatnonzero(data.table.key >= 0)
    _, first, codes = np.unique(data.table.key[there], return_index=True, return_inverse=True)
    key = np.full(len(data.table.key), -1, dtype=np.int64)
    key[there] = codes
    first = there[first]
    rows = replace(data.rows, step=torch.from_numpy(order)[data.rows.step])
    digests = np.stack(
        [here.columns[name].to_numpy(zero_copy_only=False) for name in ("key", "key2")], axis=1
    )
    counts = PromptCounts.of(rows, torch.from_numpy(key), len(first), threshold=threshold)
    return Parts((counts,), (here.positions()[first],), (digests[first],))


def _steps(
    names: tuple[str, ...], rows: Sequence[Sequence[int]], of: Sequence[_Ints]
) -> tuple[tuple[str, ...], _Ints]:
    """The steps that have rows in the order of the run, and the place of each of all steps among them."""
    if not names:
        return ("",), np.zeros(1, dtype=np.int64)
    count = np.zeros(len(names), dtype=np.int64)
    for codes, counts in zip(of, rows, strict=True):
        np.add.at(count, codes[: len(counts)], counts)
    order = sorted(np.flatnonzero(count).tolist(), key=lambda code: step_order(names[code]))
    position = np.zeros(len(names), dtype=np.int64)
    position[order] = np.arange(len(order))
    return tuple(names[code] for code in order), position
