"""Verifies on all rows what reproduces a sample of the logged advantages; each partition checks its own rows."""

import operator
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import torch
from torch import Tensor

from advcli.dataset.grouping import group
from advcli.dataset.load import grouped
from advcli.distributed.run import PartitionRows
from advcli.engine.plan import Plan
from advcli.matching.candidates import Candidate
from advcli.matching.explanations import Explanation
from advcli.matching.logged import Logged
from advcli.matching.partitions import Kind, Partition
from advcli.matching.sample import Slice
from advcli.matching.trials import Trial, judge, predict
from advcli.records.mergeable import Merge, Mergeable
from advcli.records.table import Grouping, RewardTable

_MAX_REPORTED = 32
"""The maximum number of mismatched rows that a partition reports."""


@dataclass(frozen=True)
class GroupingRule:
    """How to group the rows of a partition, which consists of whole groups.

    Attributes:
        label: its description.
        n: rows per group, or None.
        kind: what defines a group.
    """

    label: str
    n: int | None
    kind: Kind

    @classmethod
    def of(cls, partition: Partition, n: int | None) -> "GroupingRule":
        """The rule of a partition of the sample; `n` from the user."""
        group_of_row = partition.grouping.group
        largest = int(np.bincount(group_of_row[group_of_row >= 0]).max())
        cut = partition.kind in (Kind.POSITION, Kind.CUT)
        return cls(partition.label, largest if cut else n, partition.kind)

    def grouping(self, table: RewardTable) -> Grouping:
        """The groups of the rows of a partition."""
        over_steps = self.kind is Kind.OVER_STEPS
        choice = replace(table.choice, step_in_key=False) if over_steps else table.choice
        return group(replace(table, choice=choice), self.n, part=True)


@dataclass(frozen=True)
class Claim:
    """A rule with the postprocessing of its advantages, to be verified.

    Attributes:
        candidate: the rule.
        grouping: how rows are grouped.
        logged: how logged advantages are compared; without the advantages.
        blur: how far a logged reward may be from the one used in training.
        clip: bounds of the advantages, or None.
        filtered: whether rows with advantage 0 were filtered.
        ratios: the rule with the keep ratios of that filter, or None.
    """

    candidate: Candidate
    grouping: GroupingRule
    logged: Logged
    blur: float
    clip: tuple[float, float] | None
    filtered: bool
    ratios: Candidate | None


@dataclass(frozen=True)
class Agreement(Mergeable):
    """The agreement of a claim with one or several partitions.

    Attributes:
        explained: whether every compared row fits.
        compared: number of compared rows.
        misses: number of rows outside the tolerance.
        max_abs: the largest difference.
        empty: number of rows without a logged advantage.
        nulls: number of these for which the rule gives none either.
        filtered: number of rows that were set to 0.
        off: positions of some mismatched rows.
    """

    explained: Annotated[bool, Merge(operator.and_)]
    compared: int
    misses: int
    max_abs: Annotated[float, Merge(max)]
    empty: int
    nulls: int
    filtered: int
    off: Annotated[tuple[int, ...], Merge(lambda one, two: (*one, *two)[: 2 * _MAX_REPORTED])]

    def trial(self, before: Trial) -> Trial:
        """The trial on the sample with the figures of all rows."""
        return replace(
            before,
            explained=self.explained and self.compared > 0,
            share=1 - self.misses / self.compared if self.compared else 0.0,
            misses=self.misses,
            max_abs=self.max_abs,
            nulls=self.nulls / self.empty if self.empty else 1.0,
        )


@dataclass(frozen=True)
class Agreements(Mergeable):
    """The agreement of each claim."""

    all: tuple[Agreement, ...]


def claims(explanation: Explanation, trials: list[Trial], n: int | None, peak: float) -> list[Claim] | None:
    """The claims to verify; None if partitions can't check them, because rewards or rows differ from those of the dump.

    Args:
        explanation: the explanation of the sample.
        trials: its rules.
        n: rows per group, if the user named it.
        peak: the largest |A| of all rows.
    """
    after = explanation.after or {}
    if explanation.weights is not None or "filtered_before" in after:
        return None
    problem = explanation.problem
    clip = after.get("clip")
    logged = replace(problem.logged.of_peak(peak), values=torch.zeros(0, dtype=torch.float64))
    return [
        Claim(
            trial.candidate,
            GroupingRule.of(trial.partition, n),
            logged,
            problem.blur,
            (clip[0], clip[1]) if isinstance(clip, list) else None,
            "filtered_rows" in after and not after.get("compute_new_adv"),
            _with_ratios(trial.candidate, after),
        )
        for trial in trials
    ]


def _with_ratios(candidate: Candidate, after: Mapping[str, object]) -> Candidate | None:
    """The rule with the inferred keep ratios; None without, or if the rule has them already."""
    if "keep_pos" not in after or after.get("compute_new_adv"):
        return None
    ratios = {name: after[name] for name in ("keep_pos", "keep_neg")}
    return replace(candidate, plan=Plan.of(replace(candidate.plan.settings, **ratios)))  # type: ignore[arg-type]


def agreements(partition: PartitionRows, asked: tuple[Claim, ...]) -> Agreements:
    """The agreement of each claim with a partition."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return Agreements(tuple(_agreement(partition, claim) for claim in asked))
    finally:
        torch.set_num_threads(threads)


def _agreement(partition: PartitionRows, claim: Claim) -> Agreement:
    table = partition.data.table
    assert table.logged is not None
    grouping = claim.grouping.grouping(table)
    columns = grouped(table, grouping).columns()
    logged = replace(claim.logged, values=torch.from_numpy(table.logged))
    part = Slice.of(columns, logged, None, whole=True, blur=claim.blur)
    compared = part.compared()
    empty = ~logged.values.isfinite() & (columns["group"] >= 0)
    if not bool(compared.any()):
        return _no_agreement(0, int(empty.sum()))
    predicted = predict(claim.candidate, part)
    if predicted is None:
        return _no_agreement(int(compared.sum()), int(empty.sum()))
    predicted, filtered = _postprocessed(predicted, claim, part)
    trial = judge(
        claim.candidate, Partition(claim.grouping.label, grouping, claim.grouping.kind), part, predicted
    )
    off = compared & ~((predicted - logged.values).abs() <= logged.room())
    positions = partition.positions()[torch.nonzero(off).squeeze(1)[:_MAX_REPORTED].numpy()]
    return Agreement(
        trial.explained,
        int(compared.sum()),
        trial.misses,
        trial.max_abs,
        int(empty.sum()),
        int(predicted[empty].isnan().sum()),
        filtered,
        () if trial.explained else tuple(positions.tolist()),
    )


def _no_agreement(compared: int, empty: int) -> Agreement:
    """The agreement if there is nothing to compare, or the rule can't be computed."""
    return Agreement(
        explained=not compared,
        compared=compared,
        misses=compared,
        max_abs=torch.inf if compared else 0.0,
        empty=empty,
        nulls=0,
        filtered=0,
        off=(),
    )


def _postprocessed(predicted: Tensor, claim: Claim, part: Slice) -> tuple[Tensor, int]:
    """The advantages of the rule after clipping and filtering, and how many rows were set to 0."""
    clip = claim.clip or (-torch.inf, torch.inf)
    predicted = predicted.clamp(*clip)
    if not claim.filtered:
        return predicted, 0
    logged = part.logged
    filtered = part.compared() & (logged.values == 0) & ((predicted - logged.values).abs() > logged.tolerance)
    kept = None if claim.ratios is None else predict(claim.ratios, part)
    changed = torch.where(filtered, 0.0, predicted) if kept is None else kept.clamp(*clip)
    return changed, int(filtered.sum())
