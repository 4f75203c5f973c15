"""Prompts that are drawn at several steps, where whole steps lie together and the rows of a prompt do not."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from advcli.distributed.partitions import PartitionPlan, assign, numbers
from advcli.distributed.scan import ScanJob
from advcli.distributed.tasks import ObjectRef, Tasks

_NAMES = ("key", "key2", "step")


def met_again(tasks: Tasks, rows: Sequence[ObjectRef], view: PartitionPlan) -> int:
    """How many prompts are met at more than one step; a row per prompt and step of a file moves for it.

    Args:
        tasks: where it is done.
        rows: of each file, from `narrow.read`.
        view: what is known of the whole.
    """
    return sum(tasks.get(tasks.shuffle(rows, view.places, pairs, several, tasks.share(view))))


def can_be(job: ScanJob) -> bool:
    """Whether a prompt at another step is another group."""
    return bool(job.choice.step and job.choice.step_in_key and job.choice.prompt)


def pairs(rows: pa.Table, view: PartitionPlan) -> tuple[pa.Table, NDArray[np.int64]]:
    """The prompts of a file with their steps, once each, and where each goes."""
    rows = assign(rows, view)[0]
    found = rows.filter(rows["usable"]).select(_NAMES).group_by(list(_NAMES)).aggregate([]).combine_chunks()
    return found, numbers(found, "key") % view.places


def several(number: int, pairs: pa.Table) -> int:
    """Prompts that occur at more than one step."""
    del number
    once = pairs.group_by(list(_NAMES)).aggregate([])
    steps = once.group_by(["key", "key2"]).aggregate([("step", "count")])
    return int((numbers(steps, "step_count") > 1).sum())
