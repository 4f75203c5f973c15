"""What `compute` returns, and what the results of several commands have.

The attributes are the keys of the JSON. A figure that the data do not define is NaN here and null in JSON. A key is
never removed and never changes its meaning within a version of its schema; new keys may be added.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypedDict

from advcli.records.results.report import Column, Figures, Report
from advcli.records.results.result import Result
from advcli.records.settings import LeftOut


class UsedSettings(TypedDict):
    """The settings as they were used, defaults filled in.

    Attributes:
        version: of advcli.
        estimator: its name.
        like: framework and versions whose numbers were reproduced, or null.
        formula: of the advantage.
        scale: "group", "batch", "none", or null where there is no choice.
        knobs: further knobs of the estimator.
        keep_pos: share of the positive rows of each group that was kept.
        keep_neg: share of the negative rows of each group that was kept.
        compute_new_adv: whether the advantage was computed again on the kept rows.
        filters: each filter: `when` ("before" or "after" the statistics) and `filter`.
        shaping: what was done to the rewards first, in this order.
        missing: what rows without a usable reward got.
        singleton: what the only row of a group got.
        format: name of the dump's format.
        layout: how rows lie in a record.
        dedup: whether exact repeats were left out.
        group_by: columns whose equal values make a group.
        n: rows per group, or null.
        reward: column → weight.
        step: column or null.
        length: column or null.
        baseline: column or null.
        kl: column or null.
        tokens: what it is → column with a number per token.
        device: where it was computed.
        dtype: in which type.
    """

    version: str
    estimator: str
    like: str | None
    formula: str
    scale: str | None
    knobs: Mapping[str, Any]
    keep_pos: float
    keep_neg: float
    compute_new_adv: bool
    filters: Sequence[Mapping[str, str]]
    shaping: Mapping[str, Any]
    missing: str
    singleton: str
    format: str
    layout: str
    dedup: bool
    group_by: Sequence[str]
    n: int | None
    reward: Mapping[str, float]
    step: str | None
    length: str | None
    baseline: str | None
    kl: str | None
    tokens: Mapping[str, str]
    device: str
    dtype: str


class UsedColumns(TypedDict):
    """Which column plays which part.

    Attributes:
        group: columns whose equal values make a group.
        reward: column → weight.
        outcomes: further reward columns, described but not summed.
        step: column or null.
        length: column or null.
        baseline: column or null.
        kl: column or null.
        logged: the advantage that the trainer logged; column or null.
    """

    group: Sequence[str]
    reward: Mapping[str, float]
    outcomes: Sequence[str]
    step: str | None
    length: str | None
    baseline: str | None
    kl: str | None
    logged: str | None


@dataclass(frozen=True, kw_only=True)
class Filtered:
    """What a filter left out.

    Attributes:
        when: "before" or "after" the statistics.
        filter: the filter as it was given.
        rows: rows.
        groups: groups that lost all their rows.
        tokens: tokens of the rows; null without lengths.
    """

    when: str
    filter: str
    rows: int
    groups: int
    tokens: int | None

    @classmethod
    def of(cls, part: LeftOut) -> Self:
        """What a filter left out of a report."""
        return cls(
            when=part.spec.when, filter=str(part.spec), rows=part.rows, groups=part.groups, tokens=part.tokens
        )


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Counts and settings of a dump.

    Attributes:
        rows: rows, missing ones included.
        rollouts: how many rollouts there are where they are counted: then all counts but `rows` are of rollouts; else null.
        groups: groups.
        kept_rows: rows that take part in training.
        dead_groups: groups with two or more usable rewards, all equal.
        singletons: groups with one usable reward.
        missing: rows without a usable reward.
        missing_by_cause: the same by cause: null, NaN, inf.
        group_sizes: rows per group → how many groups.
        left_out: what each filter left out.
        warnings: what looks wrong, one sentence each.
        settings: the settings as they were used.
    """

    rows: int
    rollouts: int | None
    groups: int
    kept_rows: int
    dead_groups: int
    singletons: int
    missing: int
    missing_by_cause: Mapping[str, int]
    group_sizes: Mapping[int, int]
    left_out: tuple[Filtered, ...]
    warnings: tuple[str, ...]
    settings: UsedSettings


def counts_of(report: Report, processed: Column) -> dict[str, Any]:
    """The fields of `Counts`.

    Args:
        report: what was computed.
        processed: the column whose rows take part.
    """
    health = report.health
    return {
        "rows": health.rows,
        "rollouts": health.rollouts,
        "groups": health.groups,
        "kept_rows": processed.kept_rows,
        "dead_groups": health.dead_groups,
        "singletons": health.singletons,
        "missing": health.missing,
        "missing_by_cause": health.missing_by_cause,
        "group_sizes": health.sizes,
        "left_out": tuple(map(Filtered.of, report.left_out)),
        "warnings": report.warnings,
        "settings": report.settings,
    }


@dataclass(frozen=True, kw_only=True, repr=False)
class ComputeResult(Result, Counts):
    """What `advcli compute` returns.

    Attributes:
        original: statistics of the estimator's advantage.
        processed: statistics of what would be trained on, over the kept rows.
        weighted: the same of the processed advantage times its mean importance weight; null where no filter weighs.
        written: the files that were written.
    """

    schema: ClassVar[str] = "advcli/compute/1"
    original: Figures
    processed: Figures
    weighted: Figures | None = None
    written: tuple[str, ...] = ()

    @classmethod
    def of(cls, report: Report) -> Self:
        """Counts, settings, and the figures of both columns."""
        original, processed, *weighted = report.columns
        return cls(
            **counts_of(report, processed),
            original=original.figures,
            processed=processed.figures,
            weighted=weighted[0].figures if weighted else None,
            written=report.written,
        )
