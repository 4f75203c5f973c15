"""Reads and groups the inputs into a DataSet, on which everything after the first pass works."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from advcli.common.errors import DataError
from advcli.common.wording import Remark, counted, one_line, verb
from advcli.dataset import grouping
from advcli.engine.dispatch import token_rows
from advcli.engine.rollouts import Rollouts
from advcli.engine.turns import alike
from advcli.frameworks.rule import Unit
from advcli.io.collect.numbering import line_numbers
from advcli.io.lookup import duplicates, read_back
from advcli.io.read import read
from advcli.records.settings import AdvantageTable, Settings
from advcli.records.table import ColumnOptions, Grouping, RewardTable, Rows, Source
from advcli.tensors.codes import first_rows
from advcli.tensors.masks import rewarded
from advcli.tensors.segments import Segments
from advcli.tensors.turns import paired

# Inputs up to this size in bytes are read again to find exact repeats.
_SMALL = 16 << 20
_REPEATS = "identical to an earlier one, text included, and counted like any other"


@dataclass(frozen=True)
class DataSet:
    """The columns of the first pass and the groups.

    Attributes:
        table: the columns read from the inputs.
        grouping: the groups.
        rows: rewards, groups, steps and lengths as tensors.
    """

    table: RewardTable
    grouping: Grouping
    rows: Rows

    def columns(self) -> dict[str, Tensor]:
        """The columns that an estimator may need, as far as the data set has them."""
        table = self.table
        columns = {"rewards": self.rows.rewards, "group": self.rows.group, "step": self.rows.step}
        parts = table.rewards[:, None] if table.parts is None else table.parts
        weights = [1.0] if table.parts is None else [weight for _, weight in table.choice.rewards]
        columns |= {"parts": torch.from_numpy(parts), "weights": torch.tensor(weights, dtype=torch.float64)}
        given: dict[str, NDArray[Any] | None] = {"lengths": table.length}
        lists = {role: values for role, values in table.tokens.items() if role not in table.choice.aside}
        given |= {"tokens": table.token_counts} if lists else {}
        given |= {**lists, **{f"extra {name}": values for name, values in table.extra.items()}}
        columns |= {name: torch.from_numpy(values) for name, values in given.items() if values is not None}
        if "tokens" in columns and "lengths" not in columns and set(lists) - set(table.choice.found):
            columns["lengths"] = _counted(columns)
        columns |= {role: torch.from_numpy(values) for role, values in table.roles.items()}
        if self.rollouts is not None:
            columns["rollout"] = self.rollouts.index
            columns |= {} if table.turn is None else {"turn": torch.from_numpy(table.turn)}
        elif table.turn_rewards is not None and table.turn_counts is not None:
            columns["turn_rewards"] = torch.from_numpy(table.turn_rewards)
            columns["turn_counts"] = torch.from_numpy(table.turn_counts)
        elif table.rollout is not None and table.choice.sure:
            # Each rollout has one row.
            columns["rollout"] = torch.arange(len(table.rewards))
        return columns

    def token_columns(self) -> dict[str, Tensor]:
        """All per-token columns [T], including those that no advantage is computed from, and "tokens" [N]."""
        if self.table.token_counts is None:
            return {}
        columns = {**self.table.tokens, "tokens": self.table.token_counts}
        return {name: torch.from_numpy(values) for name, values in columns.items()}

    @cached_property
    def rollouts(self) -> Rollouts | None:
        """The rollouts; None if none has several rows."""
        if self.grouping.rollout is None:
            return None
        turn = self.table.turn
        return Rollouts.of(
            torch.from_numpy(self.grouping.rollout), None if turn is None else torch.from_numpy(turn)
        )

    def per_rollout(self, reward: str) -> "DataSet":
        """The data set with one row per rollout, in order of first appearance; itself if each row is a rollout.

        Each row has the position of the first row of its rollout, the sum of the lengths, and the values of the last
        turn for everything else.

        Args:
            reward: how the reward of a rollout is computed, one of `rollouts.REWARDS`.
        """
        rollouts = self.rollouts
        if rollouts is None:
            return self
        columns = rollouts.collapsed(self.columns(), reward)
        first = first_rows(rollouts.index.numpy())
        source = np.searchsorted(np.cumsum(self.table.rows), first, side="right")
        rewards = columns["rewards"].numpy()
        last = _taken(self.table, rollouts.last.numpy())
        known = np.isfinite(rewards)
        changes: dict[str, Any] = {
            **last,
            "rewards": rewards,
            "cause": np.where(known, 0, last["cause"]).astype(np.int8),
            "parts": None if self.table.parts is None else columns["parts"].numpy(),
            "length": columns["lengths"].numpy() if "lengths" in columns else None,
            "roles": {role: columns[role].numpy() for role in self.table.roles},
            "lines": line_numbers(self.table)[first],
            "rows": tuple(np.bincount(source, minlength=len(self.table.rows)).tolist()),
        }
        changes |= dict.fromkeys(("token_counts", "rollout", "turn", "turn_counts", "turn_rewards"))
        changes |= {"tokens": {}}
        groups = replace(self.grouping, group=self.grouping.group[rollouts.last.numpy()], rollout=None)
        return grouped(replace(self.table, **changes), groups)

    def by_last_turn(self, reward: str) -> "DataSet":
        """The data set with the last turn of each rollout for all of it, in its place; itself if each row is one.

        That row has the reward of the rollout, also of other reward columns, and the sum of its lengths; its other turns are
        left out.

        Args:
            reward: which reward is that of a rollout, one of `rollouts.REWARDS`.
        """
        rollouts, table = self.rollouts, self.table
        if rollouts is None:
            return self
        columns = rollouts.collapsed(self.columns(), reward)
        last = rollouts.last.numpy()
        others = np.ones(len(table.rewards), dtype=bool)
        others[last] = False

        def at_last(values: Tensor) -> NDArray[np.float64]:
            result = np.full(len(others), np.nan)
            result[last] = values.numpy()
            return result

        of_rollouts = {
            name: rollouts.reward(torch.from_numpy(values).double(), reward)
            for name, values in table.outcomes.items()
        }
        table = replace(
            table,
            rewards=at_last(columns["rewards"]),
            length=at_last(columns["lengths"]) if "lengths" in columns else None,
            key=np.where(others, -1, table.key),
            outcomes={name: at_last(values) for name, values in of_rollouts.items()},
        )
        group = np.where(others, -1, self.grouping.group)
        return grouped(table, replace(self.grouping, group=group))


def counted_once(data: DataSet, unit: Unit) -> DataSet:
    """What figures without an advantage are made of: the last turns for their rollouts, unless every row counts."""
    return data if unit.counts == "rows" else data.by_last_turn(unit.reward)


def _taken(table: RewardTable, rows: NDArray[np.int64]) -> dict[str, Any]:
    """The plain columns of a table at some rows."""
    single = ("cause", "key", "step", "logged", "row", "uneven", "by")
    named = ("extra", "causes", "outcomes")
    result = {name: values[rows] for name in single if (values := getattr(table, name)) is not None}
    mappings = {name: {key: values[rows] for key, values in getattr(table, name).items()} for name in named}
    return {**result, **mappings}


def by_unit(
    data: DataSet, shown: Mapping[str, AdvantageTable], reward: str
) -> tuple[DataSet, Mapping[str, AdvantageTable]]:
    """The data set and advantages that figures are computed from: per rollout if all advantages are, else per row.

    Args:
        data: the data set.
        shown: heading → advantages of each column.
        reward: how the reward of a rollout is computed, one of `rollouts.REWARDS`.
    """
    inner = {label: result.per_rollout for label, result in shown.items()}
    if any(result is None for result in inner.values()):
        return data, shown
    return data.per_rollout(reward), {label: result for label, result in inner.items() if result is not None}


def _counted(columns: Mapping[str, Tensor]) -> Tensor:
    """[N] float64 number of tokens of each row that the policy wrote."""
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
    """Read and group the inputs.

    Args:
        sources: the inputs.
        options: which columns the user asked for.
        settings: how advantages are computed; its rules "error" are applied here, where the position of a row is known.
        refused: column names that the inputs may not have, because they would be written.
        skip_bad_rows: count bad rows instead of stopping at the first.
        table: the result of `read` for these arguments, if already known.

    Raises:
        DataError: the inputs cannot be used.
        UsageError: a column that the user named doesn't exist.
    """
    table = table or read(
        sources,
        options,
        refused=refused,
        skip_bad_rows=skip_bad_rows,
        refuse_missing=settings.missing == "error",
    )
    expected = options.ungrouped or settings.singleton in ("zero", "raw")
    alone = options.ungrouped and not table.choice.prompt and options.n is None
    groups = grouping.group(table, 1 if alone else options.n, singletons_expected=expected)
    if alone:
        groups = replace(groups, columns=(), rule="none, as there is no prompt id")
    data = grouped(table, groups)
    if settings.singleton == "error":
        refuse_singletons(data)
    return data


def repeats(table: RewardTable, sources: Sequence[Source]) -> tuple[Remark, ...]:
    """The warning about exact repeats; empty if there are none, or the inputs are too large to be read again."""
    if table.choice.dedup or sum(source.stamp[0] for source in sources) > _SMALL:
        return ()
    count = duplicates(sources, table)
    return (Remark(count, "row", f"{{}} is {_REPEATS}", f"{{}} are {_REPEATS}"),) if count else ()


def with_repeats(table: RewardTable, sources: Sequence[Source]) -> RewardTable:
    """The table with the warning about exact repeats added."""
    return replace(table, warnings=(*table.warnings, *repeats(table, sources)))


def with_alike(data: DataSet, sources: Sequence[Source], threshold: float) -> DataSet:
    """The data set with similar states of a group merged, in the order of the rows.

    Args:
        data: the data set.
        sources: its inputs, from which the text of each distinct state is read back.
        threshold: the similarity ratio from which two states are merged.

    Raises:
        DataError: there are no states, or they are not texts.
    """
    name, states = dict(data.table.choice.roles).get("anchor"), data.table.roles.get("anchor")
    if name is None or states is None or len(states) != len(data.table.rewards):
        raise DataError(
            "states can be alike only where each row has one", hint="--anchor-col COL with a text per row"
        )
    pairs = paired(data.rows.group, torch.from_numpy(states)).numpy()
    first = np.sort(first_rows(pairs))
    cells = read_back(sources, data.table, first.tolist())
    texts = [cells[row].get(name) for row in first.tolist()]
    for row, text in zip(first.tolist(), texts, strict=True):
        if not (text is None or isinstance(text, str)):
            raise DataError(
                f"{data.table.place(row)}: '{name}' is {one_line(text)}, expected a text", hint="similarity=0"
            )
    result = alike(texts, data.rows.group[first].tolist(), threshold)
    of_pair = torch.full((int(pairs.max(initial=-1)) + 1,), -1)
    of_pair[pairs[first]] = result
    roles = {**data.table.roles, "anchor": of_pair[pairs].numpy()}
    return replace(data, table=replace(data.table, roles=roles))


def grouped(table: RewardTable, groups: Grouping) -> DataSet:
    """A data set from a table and its groups."""
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
    """Raise an error if a group has only one valid row; names the first one."""
    valid = rewarded(data.rows.rewards, data.rows.group)
    sizes = Segments.of(data.rows.group[valid], data.rows.count).size()
    singletons = torch.nonzero(valid & (sizes[data.rows.group.clamp(min=0)] == 1)).squeeze(1)
    if len(singletons):
        groups = f"{counted(len(singletons), 'group')} {verb(len(singletons), 'has', 'have')}"
        raise DataError(
            f"{data.table.place(int(singletons[0]))}: {groups} one valid row, expected two or more",
            hint="--singleton null, zero or raw",
        )
