"""A data set that has been read and grouped: what everything after the first pass works on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from advcli.dataset import grouping
from advcli.engine.dispatch import token_rows
from advcli.errors import DataError
from advcli.io.lookup import duplicates
from advcli.io.read import read
from advcli.records.settings import Settings
from advcli.records.table import ColumnOptions, Grouping, RewardTable, Rows, Source
from advcli.tensors.masks import rewarded
from advcli.tensors.segments import Segments
from advcli.wording import Remark, counted, verb

# Inputs of so many bytes are read once more to find exact repeats.
_SMALL = 16 << 20
_REPEATS = "identical to an earlier one, text included; if written twice, try --dedup"


@dataclass(frozen=True)
class DataSet:
    """The narrow columns of the inputs, and which rows belong together.

    Attributes:
        table: what was read.
        grouping: the groups.
        rows: the same as tensors.
    """

    table: RewardTable
    grouping: Grouping
    rows: Rows

    def columns(self) -> dict[str, Tensor]:
        """What an estimator may need, as far as the data set has it."""
        table = self.table
        columns = {"rewards": self.rows.rewards, "group": self.rows.group, "step": self.rows.step}
        parts = table.rewards[:, None] if table.parts is None else table.parts
        weights = [1.0] if table.parts is None else [weight for _, weight in table.choice.rewards]
        columns |= {"parts": torch.from_numpy(parts), "weights": torch.tensor(weights, dtype=torch.float64)}
        given = {
            "lengths": table.length,
            "baselines": table.baseline,
            "kl": table.kl,
            "tokens": table.token_counts,
        }
        given |= {**table.tokens, **{f"extra {name}": values for name, values in table.extra.items()}}
        columns |= {name: torch.from_numpy(values) for name, values in given.items() if values is not None}
        if "tokens" in columns and "lengths" not in columns:
            columns["lengths"] = _counted(columns)
        return columns


def _counted(columns: Mapping[str, Tensor]) -> Tensor:
    """[N] float64 tokens of each row that the policy wrote."""
    row, counted = token_rows(columns)
    return Segments.of(row, len(columns["tokens"])).sum(counted.double())


def load(
    sources: Sequence[Source],
    options: ColumnOptions,
    settings: Settings,
    *,
    refused: Sequence[str] = (),
    skip_bad_rows: bool = False,
    table: RewardTable | None = None,
) -> DataSet:
    """Read and group.

    Args:
        sources: the inputs.
        options: which columns the user asked for.
        settings: how advantages are computed; its rules "error" are applied here, where a row has a place.
        refused: column names that the inputs may not have, because they would be written.
        skip_bad_rows: count bad rows instead of stopping at the first.
        table: what `read` gives for all of these, if that is known already.

    Raises:
        DataError: the inputs cannot be used.
        UsageError: a column that the user named is not there.
    """
    table = table or read(
        sources,
        options,
        refused=refused,
        skip_bad_rows=skip_bad_rows,
        refuse_missing=settings.missing == "error",
    )
    expected = options.ungrouped or settings.singleton in ("zero", "raw")
    groups = grouping.group(table, options.n, singletons_expected=expected)
    data = grouped(table, groups)
    if settings.singleton == "error":
        refuse_singletons(data)
    return data


def with_repeats(data: DataSet, sources: Sequence[Source]) -> DataSet:
    """The same with a warning about exact repeats, if the inputs are small enough to be read once more for that."""
    if data.table.choice.dedup or sum(source.stamp[0] for source in sources) > _SMALL:
        return data
    again = duplicates(sources, data.table)
    if not again:
        return data
    said = Remark(again, "row", f"{{}} is {_REPEATS}", f"{{}} are {_REPEATS}")
    return replace(data, table=replace(data.table, warnings=(*data.table.warnings, said)))


def grouped(table: RewardTable, groups: Grouping) -> DataSet:
    """A table and its groups as a data set."""
    rewards = torch.from_numpy(table.rewards)
    rows = Rows(
        rewards=rewards,
        group=torch.from_numpy(groups.group),
        count=groups.count,
        step=torch.zeros(len(rewards), dtype=torch.int64)
        if table.step is None
        else torch.from_numpy(table.step),
        lengths=None if table.length is None else torch.from_numpy(table.length),
    )
    return DataSet(table, groups, rows)


def refuse_singletons(data: DataSet) -> None:
    """Name the first group with one valid row, by its place in a file."""
    valid = rewarded(data.rows.rewards, data.rows.group)
    sizes = Segments.of(data.rows.group[valid], data.rows.count).size()
    alone = torch.nonzero(valid & (sizes[data.rows.group.clamp(min=0)] == 1)).squeeze(1)
    if len(alone):
        groups = f"{counted(len(alone), 'group')} {verb(len(alone), 'has', 'have')}"
        raise DataError(
            f"{data.table.place(int(alone[0]))}: {groups} one valid row, expected two or more",
            hint="--singleton null, zero or raw",
        )
