"""The result of `compute`, and parts that several results share.

The attributes are the keys of the JSON. An undefined figure is NaN here and null in JSON. Within a version of a
schema, keys are never removed and never change their meaning; new keys may be added.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypedDict

from advcli.records.results.report import Column, Figures, Report
from advcli.records.results.result import Result
from advcli.records.settings import LeftOut


class UsedSettings(TypedDict):
    """The settings in effect, including defaults.

    Attributes:
        version: version of advcli.
        estimator: its name.
        like: framework and versions whose numbers were reproduced, or null.
        formula: formula of the advantage.
        scale: "group", "batch", "none", or null if there is no choice.
        knobs: further knobs of the estimator.
        keep_pos: kept share of each group's positive rows.
        keep_neg: kept share of each group's negative rows.
        compute_new_adv: whether the advantage was recomputed on the kept rows.
        filters: each filter: `when` ("before" or "after" the statistics) and `filter`.
        shaping: how rewards were shaped before the estimator, in this order.
        missing: what rows without a usable reward got.
        singleton: what the only row of a group got.
        format: name of the dump's format.
        layout: how rows are stored in a record.
        dedup: whether exact duplicates were dropped.
        group_by: columns that identify a group.
        n: rows per group, or null.
        reward: column → weight.
        step: column or null.
        length: column or null.
        baseline: column or null.
        kl: column or null.
        tokens: role → column with a number per token.
        device: device of the computation.
        dtype: floating-point type of the computation.
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
    """The column of each role.

    Attributes:
        group: columns that identify a group.
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
    """What a filter dropped.

    Attributes:
        when: "before" or "after" the statistics.
        filter: the filter as typed.
        rows: dropped rows.
        groups: groups that lost all their rows.
        tokens: tokens of the dropped rows; null without lengths.
    """

    when: str
    filter: str
    rows: int
    groups: int
    tokens: int | None

    @classmethod
    def of(cls, part: LeftOut) -> Self:
        """The JSON record of what a filter dropped."""
        return cls(
            when=part.spec.when, filter=str(part.spec), rows=part.rows, groups=part.groups, tokens=part.tokens
        )


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Counts and settings of a dump.

    Attributes:
        rows: rows, missing ones included.
        rollouts: number of rollouts if rollouts are counted (then all counts except `rows` are of rollouts); else null.
        groups: groups.
        kept_rows: rows that take part in training.
        dead_groups: groups with two or more usable rewards, all equal.
        singletons: groups with one usable reward.
        missing: rows without a usable reward.
        missing_by_cause: the same by cause: null, NaN, inf.
        group_sizes: rows per group → number of groups.
        left_out: what each filter dropped.
        warnings: what looks wrong, one sentence each.
        settings: the settings in effect.
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
        report: the report of the command.
        processed: the column whose kept rows are counted.
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
        weighted: statistics of the processed advantage times its mean importance weight; null if no filter weights.
        written: the files that were written.
    """

    schema: ClassVar[str] = "advcli/compute/1"
    original: Figures
    processed: Figures
    weighted: Figures | None = None
    written: tuple[str, ...] = ()

    @classmethod
    def of(cls, report: Report) -> Self:
        """The JSON record of a report."""
        original, processed, *weighted = report.columns
        return cls(
            **counts_of(report, processed),
            original=original.figures,
            processed=processed.figures,
            weighted=weighted[0].figures if weighted else None,
            written=report.written,
        )
