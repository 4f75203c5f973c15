"""Reading for all commands: what the driver detects, what the tasks read, and where rows go."""

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
from advcli.distributed.placement import PartitionPlan, Place, by_step
from advcli.distributed.scan import ScanJob, Summary
from advcli.distributed.tasks import ObjectRef, Tasks
from advcli.distributed.traps import Seen
from advcli.engine.plan import Plan
from advcli.io.inputs import opened
from advcli.io.read import look
from advcli.io.sources.find import STDIN
from advcli.pipeline.request import Request
from advcli.records.table import Choice

# Bytes that a row takes while its place is worked on, all its columns and the tensors made of them together.
_BYTES_PER_ROW = 600
_ROWS_PER_PLACE = 2_000_000
# Several, so that workers are done at about the same time.
_PLACES_PER_WORKER = 4


@dataclass(frozen=True)
class Loaded:
    """A data set that lies with the workers.

    Attributes:
        tasks: what runs functions there.
        rows: the rows, file by file.
        summaries: one per file.
        job: what was read.
        memory: bytes that a worker has.
    """

    tasks: Tasks
    rows: Sequence[ObjectRef]
    summaries: Sequence[Summary]
    job: ScanJob
    memory: int

    @property
    def count(self) -> int:
        """How many rows there are."""
        return sum(summary.rows for summary in self.summaries)

    @property
    def roomy(self) -> int:
        """Rows that a place can have."""
        return max(1, min(_ROWS_PER_PLACE, self.memory // _BYTES_PER_ROW // 4))

    def unit(self, plans: Sequence[Plan]) -> str:
        """What has to lie in one place for some plans."""
        return unit_of(
            plans, self.job.choice, largest_step=placement.largest_step(self.summaries), roomy=self.roomy
        )

    def spread(self, unit: str) -> tuple[PartitionPlan, list[Place]]:
        """Move the rows that have to move."""
        workers = cluster.workers()
        per_place = min(self.roomy, max(1, -(-self.count // (_PLACES_PER_WORKER * workers))))
        plan = PartitionPlan.of(self.job, self.summaries, unit, per_place)
        return placement.spread(self.tasks, self.rows, plan, workers)

    def met_again(self, view: PartitionPlan) -> int:
        """Prompts that are drawn at several steps, counted where one partition does not see them all."""
        if view.unit != "step" or view.whole_prompts or not placement.by_step(self.job.choice):
            return view.again
        return view.find_crossing(self.tasks, self.rows, cluster.workers()).again


def unit_of(plans: Sequence[Plan], choice: Choice, *, largest_step: int, roomy: int) -> str:
    """What has to lie in one place for some plans.

    Args:
        plans: what is computed, each for the columns that there are.
        choice: the columns that are read.
        largest_step: rows of the largest step; 0 without steps.
        roomy: rows that a place can have.

    Returns:
        "group", "key" (the rows of a prompt, of any step), "position" (consecutive rows, where there is no
        prompt), "step" or "all".
    """
    needs = {plan.reach() for plan in plans}
    steps = largest_step > 0
    parts = "group" if by_step(choice) else "key" if choice.prompt else "position"
    if "all" in needs:
        return "all"
    if steps and not choice.prompt:
        # Rows are cut by position within their step.
        return "step"
    # A step can be one place only if no group lies in two steps.
    whole = steps and choice.step_in_key
    if "step" in needs:
        return "step" if whole else "all"
    if "merged" in needs and whole and largest_step <= roomy:
        # One pass over whole steps, where merging takes one for each sum.
        return "step"
    return parts


@contextmanager
def looked_at(request: Request, refused: Sequence[str] = (), *, inspected: bool = False) -> Iterator[ScanJob]:
    """The inputs, detected on this machine.

    Args:
        request: what to do.
        refused: names that no file may have.
        inspected: see `narrow.Job`.
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
        said: tuple[str, ...] = ()
        if choice.rollout and not choice.sure:
            # Whether a column is a rollout id that its name alone makes one, all rows together tell.
            name = choice.rollout[0]
            said = (
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
            said=said,
        )


def load(tasks: Tasks, job: ScanJob) -> Loaded:
    """Read all files."""
    rows, summaries = scan.read(tasks, job)
    return Loaded(tasks, rows, summaries, job, cluster.memory_per_worker())


def columns(choice: Choice) -> dict[str, Tensor]:
    """The columns that an estimator has of what is read, without rows."""
    roles = [role for role, _ in choice.tokens]
    there = {
        "lengths": choice.length or roles,
        "tokens": roles,
        **dict(choice.roles),
    }
    names = ("rewards", "group", "step", "parts", "weights", *roles, *(name for name in there if there[name]))
    return dict.fromkeys(names, torch.zeros(0))


def nothing(job: ScanJob, request: Request, warnings: Sequence[str]) -> DataSet:
    """A data set without rows that was read in the same way."""
    table = replace(scan.blank(job.choice), warnings=tuple(warnings))
    return grouped(table, group(table, request.columns.n, part=True))


def described(
    request: Request, loaded: Loaded, view: PartitionPlan, seen: Sizes, steps: Seen, *, several: bool
) -> DataSet:
    """A data set without rows, with everything that is to be said of the rows and the groups of all places.

    Args:
        request: what to do.
        loaded: the data set.
        view: what is known of the whole.
        seen: the groups.
        steps: what traps look at.
        several: whether any rollout has several rows.

    Raises:
        DataError: every group has one row, and that is not what the user wants.
    """
    job = loaded.job
    said = [*job.said, *(text for source in job.sources for text in source.remarks)]
    trapped = traps.said(job, loaded.summaries, steps, view.steps)
    data = nothing(job, request, [*said, *job.choice.doubts, *scan.warnings(loaded.summaries), *trapped])
    n, expected = request.columns.n, request.settings.singleton in ("zero", "raw")
    expected = expected or request.columns.ungrouped
    refuse_singletons(data.table, seen, n, expected=expected)
    rollout = np.zeros(0, dtype=np.int64) if several else None
    groups = replace(data.grouping, warnings=lint(data.table, seen, n), rollout=rollout)
    return replace(data, grouping=groups)


_WHAT = {
    "group": "the rows of a group",
    "key": "the rows of a prompt",
    "position": "the rows",
    "step": "the rows of a step",
    "all": "all rows",
}


def too_large(view: PartitionPlan, largest: int, memory: int) -> tuple[str, ...]:
    """Said when a place needed more than the share of a worker."""
    need = largest * _BYTES_PER_ROW
    if need <= memory:
        return ()
    what = f"a worker held {largest:,} rows, as {_WHAT[view.unit]} cannot be split"
    return (f"{what}: about {need / 1e9:.1f} GB where its share is {memory / 1e9:.1f} GB",)
