"""The rows of one partition as a table, and as a data set with groups."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from advcli.dataset import grouping
from advcli.dataset import load as data_set
from advcli.dataset.load import DataSet
from advcli.distributed.placement import PartitionPlan, with_codes_of_all
from advcli.distributed.scan import ScanJob
from advcli.io.collect.cells import one_array
from advcli.records.table import RewardTable
from advcli.tensors import codes as group_codes


def unpack(table: pa.Table, plan: PartitionPlan) -> dict[str, pa.Array]:
    """The columns of one partition, with steps and values that split the figures numbered as in all files."""
    table = with_codes_of_all(table, plan)
    return {name: one_array(table[name]) for name in table.column_names}


def table(columns: Mapping[str, pa.Array], view: PartitionPlan) -> RewardTable:
    """The rows of a partition as a table, with fresh prompt codes."""
    values = {
        name: column.to_numpy(zero_copy_only=False)
        for name, column in columns.items()
        if not name.startswith("tokens ")
    }
    job, file = view.job, values["file"]
    parts = [values[name] for name in values if name.startswith("part ")]
    tokens = {
        name.removeprefix("tokens "): column for name, column in columns.items() if name.startswith("tokens ")
    }
    counts = next((column.value_lengths().to_numpy() for column in tokens.values()), None)
    return RewardTable(
        rewards=values["reward"].copy(),
        cause=values["cause"].copy(),
        key=_key(values, job),
        step=values["step"].copy() if view.has_steps else None,
        step_names=view.steps,
        parts=np.stack(parts, axis=1) if parts else None,
        length=_copied(values, "length"),
        logged=_copied(values, "logged"),
        turn=_copied(values, "turn"),
        rollout=values["rollout"].copy() if "rollout" in values else None,
        turn_counts=values["turn_counts"].copy() if "turn_counts" in values else None,
        uneven=values["uneven"].copy() if "uneven" in values and values["uneven"].any() else None,
        roles=_named(values, "role"),
        extra=_named(values, "extra"),
        outcomes=_named(values, "outcome"),
        causes=_named(values, "cause"),
        by=values["by"].copy() if "by" in values else None,
        by_names=view.by,
        tokens={
            role: column.flatten().to_numpy(zero_copy_only=False).copy() for role, column in tokens.items()
        },
        token_counts=None if counts is None else counts.astype(np.int64),
        rows=tuple(np.bincount(file, minlength=len(job.sources)).tolist()),
        choice=job.choice,
        dropped=(),
        lines=values["line"].astype(np.int64),
        names=job.names,
    )


def data_of(columns: Mapping[str, pa.Array], view: PartitionPlan) -> DataSet:
    """The rows of a place as a data set, grouped as on one machine."""
    rows = table(columns, view)
    groups = grouping.group(rows, view.job.options.n, part=True)
    data = data_set.grouped(rows, groups)
    if view.job.refuse_singletons:
        data_set.refuse_singletons(data)
    return data


def _key(values: Mapping[str, NDArray[Any]], job: ScanJob) -> NDArray[np.int64]:
    if not job.choice.prompt:
        return np.where(values["usable"], 0, -1)
    codes, rest = group_codes.numbered(values["key"]), values["key2"]
    if (rest[group_codes.first_rows(codes)][codes] != rest).any():
        # Of many billion prompts two may share half of a digest.
        codes = group_codes.paired(codes, group_codes.numbered(rest))
    return np.where(values["usable"], codes, -1)


def _named(values: Mapping[str, NDArray[Any]], part: str) -> dict[str, NDArray[Any]]:
    """The columns that play a part, by their own names."""
    return {
        name.removeprefix(f"{part} "): found.copy()
        for name, found in values.items()
        if name.startswith(f"{part} ")
    }


def _copied(values: Mapping[str, NDArray[Any]], name: str) -> NDArray[np.float64] | None:
    return values[name].copy() if name in values else None
