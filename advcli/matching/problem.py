"""The search problem: the log, the candidate groupings and the candidate rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from advcli.matching.candidates import Candidate
from advcli.matching.logged import Logged
from advcli.matching.partitions import Partition
from advcli.matching.sample import SIZE, Slice, by_steps, sample
from advcli.matching.trials import Trial
from advcli.records.settings import ShapeSpec

MANY = 65_536
"""Size of the larger sample on which the remaining rules are compared before one is run on all rows."""
# Largest step that is cheap to compute.
_QUICK = 16_384


@dataclass(frozen=True)
class Problem:
    """The search problem.

    Attributes:
        columns: the estimators' columns for all rows, without the group.
        logged: the logged advantages.
        partitions: the groupings to try.
        candidates: the rules to try.
        framework: the framework that writes this dump format, whose rules are preferred; or None.
        excluded: [N] bool, rows excluded from the statistics; None for none.
        blur: how far a logged reward may be from the one that was used, because it was rounded.
        shapes: shaping rules that the user asked for, optionally with their columns; () for all.
        slices: cached slices, by partition and size.
        picked: cached row selections of the slices, and whether they are whole steps.
    """

    columns: Mapping[str, Tensor]
    logged: Logged
    partitions: Sequence[Partition]
    candidates: Sequence[Candidate]
    framework: str | None = None
    excluded: Tensor | None = None
    blur: float = 0.0
    shapes: Sequence[ShapeSpec] = ()
    slices: dict[tuple[str, int | None], Slice] = field(default_factory=dict, repr=False, compare=False)
    picked: dict[tuple[str, int], tuple[Tensor | None, bool]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def but(self, **changes: Any) -> "Problem":  # noqa: ANN401  the fields
        """The problem with some fields changed; cached results that don't depend on them are kept."""
        if changes.keys() & {"excluded", "columns"}:
            return replace(self, **changes, slices={})
        if changes.keys() & {"logged", "blur"}:
            other = replace(self, **changes)
            against = {key: part.against(other.logged, other.blur) for key, part in self.slices.items()}
            return replace(other, slices=against)
        return replace(self, **changes)

    def whole(self, partition: Partition) -> Slice:
        """All rows with the groups of a partition; cached."""
        key = (partition.label, None)
        if key not in self.slices:
            columns = self.grouped(partition)
            self.slices[key] = Slice.of(columns, self.logged, None, whole=True, blur=self.blur)
        return self.slices[key]

    def part(self, partition: Partition, size: int = SIZE) -> Slice:
        """A sample large enough to rule out most candidates, with the groups of a partition; cached."""
        key = (partition.label, size)
        if key not in self.slices:
            # All searches in a log share the sample; no rule is accepted on the strength of a sample alone.
            if key not in self.picked:
                everything = self.whole(partition)
                self.picked[key] = (sample(everything, size), by_steps(everything, size))
            rows, whole = self.picked[key]
            self.slices[key] = (
                self.whole(partition)
                if rows is None
                else Slice.of(self.grouped(partition), self.logged, rows, whole=whole, blur=self.blur)
            )
        return self.slices[key]

    def step(self, partition: Partition) -> Slice | None:
        """All rows of one step: the largest step that is cheap to compute, else the smallest.

        None if that step has too many rows, or if groups span steps.
        """
        everything = self.whole(partition)
        if not everything.one_step_each:
            return None
        step = everything.columns["step"]
        sizes = torch.bincount(step)
        quick = torch.where(sizes <= _QUICK, sizes, 0)
        picked = int(
            quick.argmax() if bool(quick.any()) else torch.where(sizes > 0, sizes, len(step)).argmin()
        )
        if int(sizes[picked]) > MANY:
            return None
        rows = torch.nonzero(step == picked).squeeze(1)
        return Slice.of(everything.columns, self.logged, rows, whole=True, blur=self.blur)

    def grouped(self, partition: Partition) -> dict[str, Tensor]:
        """The columns with the groups of a partition; excluded rows are in none."""
        group = torch.from_numpy(partition.grouping.group)
        if self.excluded is not None:
            group = torch.where(self.excluded, -1, group)
        return {**self.columns, "group": group}

    def preference(self, trial: Trial) -> tuple[int, int, bool, int, int]:
        """Sort key of preference, lowest first.

        Fewest assumptions, the dump's own framework, agreement to the last digit, any framework, the newest.
        """
        framework = trial.candidate.framework
        # Trainers compute in float32; more digits suggest a notebook.
        first, second = (0, 1) if self.logged.single or self.logged.coarse else (1, 0)
        foreign = framework is None or framework != self.framework
        rough = self.logged.by_digits(trial.max_abs)
        return (
            self._place(trial.partition),
            foreign,
            rough,
            first if framework else second,
            trial.candidate.order,
        )

    def _place(self, partition: Partition) -> int:
        return next(position for position, known in enumerate(self.partitions) if known is partition)
