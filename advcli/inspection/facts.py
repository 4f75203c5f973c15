"""The figures of a data set, or of some of its rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, TypeAlias

import torch
from torch import Tensor

from advcli.dataset.grouping import by_frequency, met_together, sizes_met
from advcli.dataset.load import DataSet
from advcli.inspection import phantoms
from advcli.inspection.phantoms import Arithmetic, Part
from advcli.records.mergeable import Merge, Mergeable
from advcli.records.results.inspection import Facts, Phantoms
from advcli.records.table import Rows
from advcli.stats import concentration
from advcli.stats.health import dead_groups
from advcli.stats.length import LengthCount
from advcli.stats.parts import PartsCount
from advcli.stats.per_step import StepCounts
from advcli.stats.signal import SignalCount
from advcli.tensors.masks import rewarded
from advcli.tensors.segments import Segments

SUM = "sum"
"""The name of the sum of several reward parts."""


@dataclass(frozen=True)
class Frame:
    """The columns that the figures are computed from.

    Attributes:
        rows: rewards, groups, steps, lengths.
        cause: [N] int8, why the reward is missing.
        names: name and weight of each part of the reward.
        parts: [N, K] float64, the parts, or None with one.
        outcomes: further reward → [N] float64, NaN where missing.
        causes: part or further reward → [N] int8, why it is missing.
        advantages: [N] float, NaN where undefined.
        arithmetics: the advantages of dead groups under each rule.
        steps: the step of each code; empty without a step column.
        begins: [G] where each group begins, if the rows are only a part of the data set.
    """

    rows: Rows
    cause: Tensor
    names: tuple[tuple[str, float], ...]
    parts: Tensor | None
    outcomes: Mapping[str, Tensor]
    causes: Mapping[str, Tensor]
    advantages: Tensor
    arithmetics: tuple[Arithmetic, ...]
    steps: tuple[str, ...]
    begins: Tensor | None = None

    @classmethod
    def of(
        cls,
        data: DataSet,
        columns: Mapping[str, Tensor],
        advantages: Tensor,
        rule: str,
        part: Part | None = None,
    ) -> "Frame":
        """Take the columns of a data set.

        Args:
            data: the data set.
            columns: its columns as tensors, from `data.columns`.
            advantages: [N] float, NaN where undefined.
            rule: the name of their rule.
            part: facts about the other groups, if the rows are only a part of the data set.
        """
        table, rows = data.table, data.rows
        dead = phantoms.dead_rows(rows.rewards, rows.group, rows.count)
        chosen = Arithmetic(rule, torch.where(dead, advantages.double(), torch.nan))
        return cls(
            rows=rows,
            cause=torch.from_numpy(table.cause),
            names=table.choice.rewards,
            parts=None if table.parts is None else torch.from_numpy(table.parts),
            outcomes={name: torch.from_numpy(values) for name, values in table.outcomes.items()},
            causes={name: torch.from_numpy(values) for name, values in table.causes.items()},
            advantages=advantages,
            arithmetics=(chosen, *phantoms.arithmetics(columns, dead, part)),
            steps=() if table.step is None else table.step_names,
        )

    def of_rows(self, mask: Tensor) -> "Frame":
        """The frame of some rows, with groups renumbered."""
        group = self.rows.group[mask]
        grouped = group >= 0
        numbered = torch.full_like(group, -1)
        result, numbered[grouped] = torch.unique(group[grouped], return_inverse=True)
        length = self.rows.lengths
        return replace(
            self,
            rows=Rows(
                rewards=self.rows.rewards[mask],
                group=numbered,
                count=result.numel(),
                step=self.rows.step[mask],
                lengths=None if length is None else length[mask],
            ),
            cause=self.cause[mask],
            parts=None if self.parts is None else self.parts[mask],
            outcomes={name: values[mask] for name, values in self.outcomes.items()},
            causes={name: values[mask] for name, values in self.causes.items()},
            advantages=self.advantages[mask],
            begins=None if self.begins is None else self.begins[result],
            arithmetics=tuple(
                replace(rule, advantages=None if rule.advantages is None else rule.advantages[mask])
                for rule in self.arithmetics
            ),
        )


def facts(frame: Frame, *, near_dead: float, extents: Sequence[tuple[float, float]] | None = None) -> Facts:
    """The figures of the rows of a frame.

    Args:
        frame: the columns.
        near_dead: see `stats.signal.signal`.
        extents: the smallest and the largest value of each reward column, if the rows are only a part.
    """
    distinct = [
        torch.unique(values[rewarded(values, frame.rows.group)]).numel()
        for _, values, _ in reward_columns(frame)
    ]
    names = [name for name, _, _ in reward_columns(frame)]
    return FactsCount.of(frame, near_dead=near_dead, extents=extents).facts(
        names, frame.names, frame.steps, distinct
    )


_Advantages: TypeAlias = tuple[float, float, int, float]
"""Σ|A|, ΣA², rows, and the largest |A|."""


def _advantages(one: _Advantages, two: _Advantages) -> _Advantages:
    return one[0] + two[0], one[1] + two[1], one[2] + two[2], max(one[3], two[3])


def _phantoms(one: tuple[Phantoms, ...], two: tuple[Phantoms, ...]) -> tuple[Phantoms, ...]:
    return tuple(map(phantoms.together, one, two))


@dataclass(frozen=True)
class FactsCount(Mergeable):
    """Mergeable counts of rows, for parts with whole groups.

    Attributes:
        rows: rows.
        groups: groups.
        sizes: group sizes, from `grouping.sizes_met`.
        rewards: counts of each reward column.
        advantages: Σ|A|, ΣA², the number of advantages, and the largest |A|, 0 without any.
        phantoms: phantom advantages of each rule.
        constant_outcome: further reward → live groups in which it is constant.
        parts: counts of reward parts; None with one reward column.
        length: counts of lengths; None without a length column.
        steps: counts per step; None without a step column.
    """

    rows: int
    groups: int
    sizes: Annotated[Mapping[int, tuple[int, int]], Merge(met_together)]
    rewards: tuple[SignalCount, ...]
    advantages: Annotated[_Advantages, Merge(_advantages)]
    phantoms: Annotated[tuple[Phantoms, ...], Merge(_phantoms)]
    constant_outcome: Mapping[str, int]
    parts: PartsCount | None
    length: LengthCount | None
    steps: StepCounts | None

    @classmethod
    def of(
        cls,
        frame: Frame,
        *,
        near_dead: float,
        extents: Sequence[tuple[float, float]] | None = None,
    ) -> "FactsCount":
        """Count.

        Args:
            frame: the columns.
            near_dead: see `stats.signal.signal`.
            extents: the smallest and the largest value of each reward column, if the rows are only a part.
        """
        # Skipped rows are not counted here; they are reported elsewhere.
        grouped = frame.rows.group >= 0
        frame = frame if bool(grouped.all()) else frame.of_rows(grouped)
        rows = frame.rows
        size = frame.advantages.double().abs()
        size = size[~size.isnan()]
        dead = phantoms.dead_rows(rows.rewards, rows.group, rows.count)
        scored = torch.isfinite(rows.rewards)
        columns = reward_columns(frame)
        return cls(
            rows=rows.rewards.numel(),
            groups=rows.count,
            sizes=sizes_met(
                rows.group.numpy(), rows.count, None if frame.begins is None else frame.begins.numpy()
            ),
            rewards=tuple(
                SignalCount.of(values, cause, rows.group, rows.count, near_dead=near_dead, extent=extent)
                for (_, values, cause), extent in zip(columns, extents or (None,) * len(columns), strict=True)
            ),
            advantages=(
                float(size.sum()),
                float((size**2).sum()),
                size.numel(),
                float(size.max()) if size.numel() else 0.0,
            ),
            phantoms=tuple(phantoms.counted(rule, dead & scored, rows.group) for rule in frame.arithmetics),
            constant_outcome=_constant_outcome(frame),
            parts=_parts(frame),
            length=None if rows.lengths is None else LengthCount.of(rows, frame.advantages),
            steps=StepCounts.of(rows, frame.advantages, len(frame.steps)) if frame.steps else None,
        )

    def facts(
        self,
        names: Sequence[str],
        weights: Sequence[tuple[str, float]],
        steps: Sequence[str],
        distinct: Sequence[int],
    ) -> Facts:
        """The figures, once all rows are counted.

        Args:
            names: names of the reward columns.
            weights: name and weight of each part of the reward.
            steps: the step of each code.
            distinct: number of different values of each reward column.
        """
        total, squares, number, top = self.advantages
        return Facts(
            rows=self.rows,
            groups=self.groups,
            steps=int((self.steps.rows > 0).sum()) if self.steps else 0,
            sizes=by_frequency(self.sizes),
            rewards=tuple(
                count.figures(name, distinct=different)
                for name, count, different in zip(names, self.rewards, distinct, strict=True)
            ),
            mean_abs_adv=total / number if number else torch.nan,
            max_abs_adv=top if number else torch.nan,
            effective_rows=concentration.effective(total, squares),
            phantoms=self.phantoms,
            constant_outcome=self.constant_outcome,
            parts=self.parts.figures(weights) if self.parts else None,
            length=self.length.figures() if self.length else None,
            per_step=self.steps.figures(steps) if self.steps else (),
        )


def split(frame: Frame, data: DataSet, *, near_dead: float) -> dict[str, Facts]:
    """The figures of each value of the `--by` column, most rows first; {} without one."""
    if data.table.by is None:
        return {}
    by = torch.from_numpy(data.table.by)
    count = torch.bincount(by[data.rows.group >= 0], minlength=len(data.table.by_names))
    order = torch.argsort(count, descending=True, stable=True)[: int((count > 0).sum())].tolist()
    # Extremes are over the whole data set: the largest reward of one value may be small overall.
    usable = [values[rewarded(values, frame.rows.group)] for _, values, _ in reward_columns(frame)]
    extents = [
        (float(values.min()), float(values.max())) if len(values) else (torch.nan, torch.nan)
        for values in usable
    ]
    return {
        data.table.by_names[code]: facts(frame.of_rows(by == code), near_dead=near_dead, extents=extents)
        for code in order
    }


def reward_columns(frame: Frame) -> Sequence[tuple[str, Tensor, Tensor]]:
    """Name, values and causes of the reward, its parts, and further rewards."""
    several = frame.parts is not None
    columns = [(SUM if several else frame.names[0][0], frame.rows.rewards, frame.cause)]
    for position, (name, _) in enumerate(frame.names if several else ()):
        assert frame.parts is not None
        columns.append((name, frame.parts[:, position], frame.causes[name]))
    return [*columns, *((name, values, frame.causes[name]) for name, values in frame.outcomes.items())]


def _constant_outcome(frame: Frame) -> Mapping[str, int]:
    """Further reward → live groups in which every row with a reward has it, and it is constant."""
    rows = frame.rows
    valid = rewarded(rows.rewards, rows.group)
    segments = Segments.of(rows.group[valid], rows.count)
    live = (segments.size() > 1) & ~dead_groups(rows.rewards[valid], segments)[0]
    result = {}
    for name, values in frame.outcomes.items():
        known = segments.sum(torch.isfinite(values[valid]).double()) == segments.size()
        constant = dead_groups(values[valid].nan_to_num(nan=0.0), segments)[0]
        result[name] = int((live & known & constant).sum())
    return result


def _parts(frame: Frame) -> PartsCount | None:
    if frame.parts is None:
        return None
    rows = frame.rows
    return PartsCount.of(frame.names, frame.parts, rows.rewards, frame.advantages, rows.group, rows.count)
