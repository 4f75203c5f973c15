"""Loads a data set for all commands: the driver detects the inputs, tasks read them, and rows are partitioned."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from advcli.common.errors import UsageError
from advcli.dataset.grouping import Sizes, group, lint, refuse_singletons
from advcli.dataset.load import DataSet, grouped
from advcli.distributed import cluster, placement, scan, traps
from advcli.distributed.placement import Partition, PartitionPlan, by_step
from advcli.distributed.scan import ScanJob, Summary
from advcli.distributed.tasks import ObjectRef, Tasks
from advcli.distributed.traps import Seen
from advcli.engine.plan import Plan
from advcli.io.inputs import opened
from advcli.io.read import look
from advcli.io.sources.find import STDIN
from advcli.pipeline.request import Request
from advcli.records.table import Choice

# Peak bytes per row while a partition is processed, including all columns and tensors.
_BYTES_PER_ROW = 600
_ROWS_PER_PARTITION = 2_000_000
# Several, so that workers finish at about the same time.
_PARTITIONS_PER_WORKER = 4


@dataclass(frozen=True)
class Loaded:
    """A data set on the workers.

    Attributes:
        tasks: the cluster.
        rows: the rows of each file.
        summaries: the summary of each file.
        job: the scan job.
        memory: memory of a worker in bytes.
    """

    tasks: Tasks
    rows: Sequence[ObjectRef]
    summaries: Sequence[Summary]
    job: ScanJob
    memory: int

    @property
    def count(self) -> int:
        """The total number of rows."""
        return sum(summary.rows for summary in self.summaries)

    @property
    def max_rows(self) -> int:
        """The maximum number of rows of a partition."""
        return max(1, min(_ROWS_PER_PARTITION, self.memory // _BYTES_PER_ROW // 4))

    def unit(self, plans: Sequence[Plan]) -> str:
        """What must be in one partition for some plans."""
        return unit_of(
            plans,
            self.job.choice,
            largest_step=placement.largest_step(self.summaries),
            max_rows=self.max_rows,
        )

    def spread(self, unit: str) -> tuple[PartitionPlan, list[Partition]]:
        """Plan the partitions and move rows to them."""
        workers = cluster.workers()
        per_place = min(self.max_rows, max(1, -(-self.count // (_PARTITIONS_PER_WORKER * workers))))
        plan = PartitionPlan.of(self.job, self.summaries, unit, per_place)
        return placement.spread(self.tasks, self.rows, plan, workers)

    def count_reused(self, view: PartitionPlan) -> int:
        """The number of prompts drawn at several steps, if no partition sees all steps of a prompt."""
        if view.unit != "step" or view.has_whole_prompts or not placement.by_step(self.job.choice):
            return view.reused
        return view.find_crossing(self.tasks, self.rows, cluster.workers()).reused


def unit_of(plans: Sequence[Plan], choice: Choice, *, largest_step: int, max_rows: int) -> str:
    """What must be in one partition for some plans.

    Args:
        plans: the plans, resolved for the existing columns.
        choice: the columns that are read.
        largest_step: number of rows of the largest step; 0 without steps.
        max_rows: the maximum number of rows of a partition.

    Returns:
        "group", "key" (the rows of a prompt at any step), "position" (consecutive rows, without a
        prompt), "step" or "all".
    """
    needs = {plan.reach() for plan in plans}
    steps = largest_step > 0
    parts = "group" if by_step(choice) else "key" if choice.prompt else "position"
    if "all" in needs:
        return "all"
    if steps and not choice.prompt:
        # Rows are grouped by position within their step.
        return "step"
    # A step can be a partition only if no group spans steps.
    whole = steps and choice.step_in_key
    if "step" in needs:
        return "step" if whole else "all"
    if "merged" in needs and whole and largest_step <= max_rows:
        # One pass over whole steps; merging partial sums takes one pass per sum.
        return "step"
    return parts


@contextmanager
def scan_job(request: Request, refused: Sequence[str] = (), *, inspected: bool = False) -> Iterator[ScanJob]:
    """The scan job, with formats and columns detected on this machine.

    Args:
        request: the request.
        refused: column names that no file may have.
        inspected: see `ScanJob`.
    """
    cluster.require()
    if STDIN in request.inputs:
        raise UsageError("--engine ray reads files, not standard input", hint="the name of a file")
    if request.columns.dedup:
        raise UsageError(
            "--dedup compares the rows of all files, which --engine ray does not", hint="--engine local"
        )
    if request.settings.knobs.get("similarity"):
        raise UsageError(
            "states that are alike are looked for in all files, which --engine ray does not",
            hint="--engine local",
        )
    with opened(request.inputs, copied=False, max_line=request.columns.max_line) as sources:
        seen, choice = look(sources, request.columns, skip_bad_rows=request.skip_bad_rows)
        messages: tuple[str, ...] = ()
        if choice.rollout and not choice.sure:
            # A rollout id chosen by its name alone can only be verified on all rows together.
            name = choice.rollout[0]
            messages = (
                f"--engine ray counts rows, as it takes no rollout id unasked; --rollout-col {name} if it is one",
            )
            choice = replace(choice, rollout=(), turn=None)
        yield ScanJob(
            sources=tuple(sources),
            choice=choice,
            kinds=seen.kinds,
            options=request.columns,
            refused=tuple(refused),
            skip_bad_rows=request.skip_bad_rows,
            refuse_missing=request.settings.missing == "error",
            refuse_singletons=request.settings.singleton == "error",
            inspected=inspected,
            messages=messages,
        )


def load(tasks: Tasks, job: ScanJob) -> Loaded:
    """Read all files on the workers."""
    rows, summaries = scan.read(tasks, job)
    return Loaded(tasks, rows, summaries, job, cluster.memory_per_worker())


def columns(choice: Choice) -> dict[str, Tensor]:
    """The columns that an estimator gets, without rows."""
    roles = [role for role, _ in choice.tokens]
    present = {
        "lengths": choice.length or roles,
        "tokens": roles,
        **dict(choice.roles),
    }
    names = (
        "rewards",
        "group",
        "step",
        "parts",
        "weights",
        *roles,
        *(name for name in present if present[name]),
    )
    return dict.fromkeys(names, torch.zeros(0))


def nothing(job: ScanJob, request: Request, warnings: Sequence[str]) -> DataSet:
    """A data set without rows, with the same choices and files."""
    rows = (0,) * len(job.names)
    table = replace(scan.blank(job.choice), names=job.names, rows=rows, warnings=tuple(warnings))
    return grouped(table, group(table, request.columns.n, part=True))


def described(
    request: Request, loaded: Loaded, view: PartitionPlan, seen: Sizes, steps: Seen, *, several: bool
) -> DataSet:
    """A data set without rows, with the warnings about all rows and groups.

    Args:
        request: the request.
        loaded: the data set.
        view: the plan of all partitions.
        seen: the group sizes.
        steps: the step digests for the checks of traps.
        several: whether any rollout has several rows.

    Raises:
        DataError: every group has one row, which the user did not ask for.
    """
    job = loaded.job
    messages = [*job.messages, *(text for source in job.sources for text in source.remarks)]
    trapped = traps.said(job, loaded.summaries, steps, view.steps)
    data = nothing(job, request, [*messages, *job.choice.doubts, *scan.warnings(loaded.summaries), *trapped])
    n, expected = request.columns.n, request.settings.singleton in ("zero", "raw")
    expected = expected or request.columns.ungrouped
    refuse_singletons(data.table, seen, n, expected=expected)
    rollout = np.zeros(0, dtype=np.int64) if several else None
    groups = replace(data.grouping, warnings=lint(data.table, seen, n), rollout=rollout)
    return replace(data, grouping=groups)


_UNIT_NAMES = {
    "group": "the rows of a group",
    "key": "the rows of a prompt",
    "position": "the rows",
    "step": "the rows of a step",
    "all": "all rows",
}


def too_large(view: PartitionPlan, largest: int, memory: int) -> tuple[str, ...]:
    """The warning that a partition needed more memory than a worker's share; empty if none did."""
    need = largest * _BYTES_PER_ROW
    if need <= memory:
        return ()
    what = f"a worker held {largest:,} rows, as {_UNIT_NAMES[view.unit]} cannot be split"
    return (f"{what}: about {need / 1e9:.1f} GB where its share is {memory / 1e9:.1f} GB",)
