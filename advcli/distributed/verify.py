"""Whether what reproduces a sample of the log reproduces all of it: every place looks at its own rows."""

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

_NAMED = 32
"""Places of rows that do not fit which a place names."""


@dataclass(frozen=True)
class Way:
    """How rows are grouped, such that some whole groups can be.

    Attributes:
        label: in words.
        n: rows per group, or None.
        kind: what makes rows one group.
    """

    label: str
    n: int | None
    kind: Kind

    @classmethod
    def of(cls, partition: Partition, n: int | None) -> "Way":
        """Tell it from a partition of the sample; `n` is what the user named."""
        group_of_row = partition.grouping.group
        largest = int(np.bincount(group_of_row[group_of_row >= 0]).max())
        cut = partition.kind in (Kind.POSITION, Kind.CUT)
        return cls(partition.label, largest if cut else n, partition.kind)

    def grouping(self, table: RewardTable) -> Grouping:
        """The groups of the rows of a place."""
        loose = self.kind is Kind.OVER_STEPS
        choice = replace(table.choice, step_in_key=False) if loose else table.choice
        return group(replace(table, choice=choice), self.n, part=True)


@dataclass(frozen=True)
class Claim:
    """A rule, and the postprocessing of its advantages.

    Attributes:
        candidate: the rule.
        way: the groups.
        logged: how a logged advantage is compared; without the advantages.
        blur: how far a logged reward may be from the one that was used.
        clip: bounds of the advantages, or None.
        filtered: whether rows at 0 were filtered.
        ratios: the rule with the keep ratios that filtered them, or None.
    """

    candidate: Candidate
    way: Way
    logged: Logged
    blur: float
    clip: tuple[float, float] | None
    filtered: bool
    ratios: Candidate | None


@dataclass(frozen=True)
class Agreement(Mergeable):
    """How far a claim holds in a place, or in several.

    Attributes:
        explained: whether every compared row fits.
        compared: rows that were compared.
        misses: those that are not within the tolerance.
        max_abs: the largest difference.
        empty: rows without a logged advantage.
        nulls: those that have none by the rule either.
        filtered: rows that were set to 0.
        off: where some rows stand that do not fit.
    """

    explained: Annotated[bool, Merge(operator.and_)]
    compared: int
    misses: int
    max_abs: Annotated[float, Merge(max)]
    empty: int
    nulls: int
    filtered: int
    off: Annotated[tuple[int, ...], Merge(lambda one, two: (*one, *two)[: 2 * _NAMED])]

    def trial(self, before: Trial) -> Trial:
        """What was found on the sample, with the figures of all rows."""
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
    """How far each claim holds."""

    all: tuple[Agreement, ...]


def claims(explanation: Explanation, trials: list[Trial], n: int | None, peak: float) -> list[Claim] | None:
    """The claim to verify; None if partitions can't check it, because rewards or rows differ from those of the dump.

    Args:
        explanation: from the sample.
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
            Way.of(trial.partition, n),
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


def agreements(here: PartitionRows, asked: tuple[Claim, ...]) -> Agreements:
    """How far each claim holds in a place."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return Agreements(tuple(_agreement(here, claim) for claim in asked))
    finally:
        torch.set_num_threads(threads)


def _agreement(here: PartitionRows, claim: Claim) -> Agreement:
    table = here.data.table
    assert table.logged is not None
    grouping = claim.way.grouping(table)
    columns = grouped(table, grouping).columns()
    logged = replace(claim.logged, values=torch.from_numpy(table.logged))
    part = Slice.of(columns, logged, None, whole=True, blur=claim.blur)
    compared = part.compared()
    empty = ~logged.values.isfinite() & (columns["group"] >= 0)
    if not bool(compared.any()):
        return _nothing(0, int(empty.sum()))
    predicted = predict(claim.candidate, part)
    if predicted is None:
        return _nothing(int(compared.sum()), int(empty.sum()))
    predicted, filtered = _changed(predicted, claim, part)
    trial = judge(claim.candidate, Partition(claim.way.label, grouping, claim.way.kind), part, predicted)
    off = compared & ~((predicted - logged.values).abs() <= logged.room())
    places = here.positions()[torch.nonzero(off).squeeze(1)[:_NAMED].numpy()]
    return Agreement(
        trial.explained,
        int(compared.sum()),
        trial.misses,
        trial.max_abs,
        int(empty.sum()),
        int(predicted[empty].isnan().sum()),
        filtered,
        () if trial.explained else tuple(places.tolist()),
    )


def _nothing(compared: int, empty: int) -> Agreement:
    """Nothing agrees: there is nothing to compare, or the rule cannot be computed."""
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


def _changed(predicted: Tensor, claim: Claim, part: Slice) -> tuple[Tensor, int]:
    """What became of the advantages of the rule, and how many rows were set to 0."""
    clip = claim.clip or (-torch.inf, torch.inf)
    predicted = predicted.clamp(*clip)
    if not claim.filtered:
        return predicted, 0
    logged = part.logged
    off = part.compared() & (logged.values == 0) & ((predicted - logged.values).abs() > logged.tolerance)
    kept = None if claim.ratios is None else predict(claim.ratios, part)
    changed = torch.where(off, 0.0, predicted) if kept is None else kept.clamp(*clip)
    return changed, int(off.sum())
