"""Every figure of a data set, or of some of its rows."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from advcli.dataset import DataSet
from advcli.inspection import phantoms
from advcli.inspection.phantoms import Arithmetic
from advcli.records.inspection import Facts, Parts
from advcli.records.table import Rows
from advcli.segments import Segments, rewarded
from advcli.stats.health import dead_groups
from advcli.stats.length import lengths
from advcli.stats.parts import parts
from advcli.stats.per_step import per_step
from advcli.stats.signal import signal

SUM = "sum"
"""The name of a reward that several parts add up to."""


@dataclass(frozen=True)
class Frame:
    """The columns that the figures are made from.

    Attributes:
        rows: rewards, groups, steps, lengths.
        cause: [N] int8, why the reward is missing.
        names: name and weight of each part of the reward.
        parts: [N, K] float64, the parts, or None with one.
        outcomes: further reward → [N] float64, NaN where missing.
        causes: part or further reward → [N] int8, why it is missing.
        advantages: [N] float, NaN where undefined.
        arithmetics: what rules give to the rows of dead groups.
        steps: the step of each code; empty without a step column.
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

    @classmethod
    def of(cls, data: DataSet, columns: Mapping[str, Tensor], advantages: Tensor, rule: str) -> "Frame":
        """Take the columns of a data set.

        Args:
            data: the data set.
            columns: the same as tensors, as `data.columns` gives them.
            advantages: [N] float, NaN where undefined.
            rule: the name of the rule that gave them.
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
            arithmetics=(chosen, *phantoms.arithmetics(columns, dead)),
            steps=() if table.step is None else table.step_names,
        )

    def of_rows(self, mask: Tensor) -> "Frame":
        """The same of some rows; their groups are numbered anew."""
        group = self.rows.group[mask]
        there = group >= 0
        numbered = torch.full_like(group, -1)
        found, numbered[there] = torch.unique(group[there], return_inverse=True)
        length = self.rows.lengths
        return replace(
            self,
            rows=Rows(
                rewards=self.rows.rewards[mask],
                group=numbered,
                count=found.numel(),
                step=self.rows.step[mask],
                lengths=None if length is None else length[mask],
            ),
            cause=self.cause[mask],
            parts=None if self.parts is None else self.parts[mask],
            outcomes={name: values[mask] for name, values in self.outcomes.items()},
            causes={name: values[mask] for name, values in self.causes.items()},
            advantages=self.advantages[mask],
            arithmetics=tuple(
                replace(rule, advantages=None if rule.advantages is None else rule.advantages[mask])
                for rule in self.arithmetics
            ),
        )


def facts(frame: Frame, *, near_dead: float) -> Facts:
    """Every figure of the rows of a frame.

    Args:
        frame: the columns.
        near_dead: see `stats.signal.signal`.
    """
    rows = frame.rows
    size = frame.advantages.double().abs()
    size = size[~size.isnan()]
    dead = phantoms.dead_rows(rows.rewards, rows.group, rows.count)
    scored = torch.isfinite(rows.rewards)
    sizes = torch.bincount(rows.group[rows.group >= 0], minlength=rows.count)
    columns = _reward_columns(frame)
    return Facts(
        rows=rows.rewards.numel(),
        groups=rows.count,
        steps=torch.unique(rows.step).numel() if frame.steps else 0,
        sizes=dict(Counter(sizes.tolist()).most_common()),
        rewards=tuple(
            signal(name, values, cause, rows.group, rows.count, near_dead=near_dead)
            for name, values, cause in columns
        ),
        mean_abs_adv=float(size.mean()) if size.numel() else torch.nan,
        max_abs_adv=float(size.max()) if size.numel() else torch.nan,
        phantoms=tuple(phantoms.counted(rule, dead & scored, rows.group) for rule in frame.arithmetics),
        constant_outcome=_constant_outcome(frame),
        parts=_parts(frame),
        length=lengths(rows, frame.advantages),
        per_step=per_step(rows, frame.advantages, frame.steps) if frame.steps else (),
    )


def split(frame: Frame, data: DataSet, *, near_dead: float) -> dict[str, Facts]:
    """The figures of each value of the `--by` column, most rows first; {} without one."""
    if data.table.by is None:
        return {}
    by = torch.from_numpy(data.table.by)
    many = torch.bincount(by, minlength=len(data.table.by_names))
    order = torch.argsort(many, descending=True, stable=True).tolist()
    return {
        data.table.by_names[code]: facts(frame.of_rows(by == code), near_dead=near_dead) for code in order
    }


def _reward_columns(frame: Frame) -> Sequence[tuple[str, Tensor, Tensor]]:
    """Name, values and causes of the reward, its parts, and further rewards."""
    several = frame.parts is not None
    columns = [(SUM if several else frame.names[0][0], frame.rows.rewards, frame.cause)]
    for place, (name, _) in enumerate(frame.names if several else ()):
        assert frame.parts is not None
        columns.append((name, frame.parts[:, place], frame.causes[name]))
    return [*columns, *((name, values, frame.causes[name]) for name, values in frame.outcomes.items())]


def _constant_outcome(frame: Frame) -> Mapping[str, int]:
    """Further reward → live groups in which it is there for every row with a reward, and constant."""
    rows = frame.rows
    valid = rewarded(rows.rewards, rows.group)
    segments = Segments.of(rows.group[valid], rows.count)
    live = (segments.size() > 1) & ~dead_groups(rows.rewards[valid], segments)[0]
    found = {}
    for name, values in frame.outcomes.items():
        known = segments.sum(torch.isfinite(values[valid]).double()) == segments.size()
        constant = dead_groups(values[valid].nan_to_num(nan=0.0), segments)[0]
        found[name] = int((live & known & constant).sum())
    return found


def _parts(frame: Frame) -> Parts | None:
    if frame.parts is None:
        return None
    rows = frame.rows
    return parts(frame.names, frame.parts, rows.rewards, frame.advantages, rows.group, rows.count)
