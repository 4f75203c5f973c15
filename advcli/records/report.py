"""What `compute` and `compare` show: figures, health, columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from advcli.records.settings import LeftOut


@dataclass(frozen=True)
class Figures:
    """Statistics of one column; NaN where undefined.

    Attributes:
        count: rows with a defined value.
        mean: their mean.
        std: standard deviation, ddof 1.
        min: smallest value.
        p5: 5th percentile.
        p25: 25th percentile.
        median: 50th percentile.
        p75: 75th percentile.
        p95: 95th percentile.
        max: largest value.
        mean_abs: mean |A|.
        share_positive: share of the rows above 0, in [0, 1]; neutral rows count as zero.
        share_zero: share of the rows at 0.
        share_negative: share of the rows below 0.
        token_mean: mean weighted by tokens, None without a length column.
        token_std: the matching standard deviation (population of tokens, ddof 0).
    """

    count: int
    mean: float
    std: float
    min: float
    p5: float
    p25: float
    median: float
    p75: float
    p95: float
    max: float
    mean_abs: float
    share_positive: float
    share_zero: float
    share_negative: float
    token_mean: float | None = None
    token_std: float | None = None


@dataclass(frozen=True)
class Health:
    """What the groups of a data set look like, before any estimator.

    Attributes:
        rows: all rows, bad and missing ones included.
        groups: groups.
        sizes: group size → how many groups have it, in rows.
        dead_groups: groups with two or more valid rows, all of the same reward.
        dead_max: dead groups at the largest reward of the data set.
        dead_min: dead groups at the smallest reward of the data set.
        singletons: groups with one valid row.
        missing: rows without a usable reward.
        missing_by_cause: the same, apart.
    """

    rows: int
    groups: int
    sizes: Mapping[int, int]
    dead_groups: int
    dead_max: int
    dead_min: int
    singletons: int
    missing: int
    missing_by_cause: Mapping[str, int]


@dataclass(frozen=True)
class Column:
    """One column of the comparison.

    Attributes:
        label: its heading.
        figures: statistics over the kept rows.
        kept_rows: rows that take part.
        kept_groups: groups with at least one kept row.
        below_two: groups of which fewer than two rows are kept (missing rows are not counted).
        dead_groups: groups whose kept rewards, two or more, are all equal.
        sign_changes: share of kept rows whose sign (−, 0, +) is not that of the original.
        mean_abs_ratio: mean |A| over the kept rows, relative to that of the original on the same rows.
        rank_agreement: Spearman's ρ with the original within groups, mean over groups.
        phantoms: kept rows of dead groups with an advantage other than 0.
    """

    label: str
    figures: Figures
    kept_rows: int
    kept_groups: int
    below_two: int
    dead_groups: int
    sign_changes: float
    mean_abs_ratio: float
    rank_agreement: float
    phantoms: int


@dataclass(frozen=True)
class Report:
    """Everything that a command shows.

    Attributes:
        health: the groups.
        settings: name → value, as they were used; what the output files carry.
        columns: the advantage columns, the original first.
        unshown: labels of columns that are as the original, as nothing was filtered; tables leave them out.
        left_out: what each filter left out.
        notes: what was chosen, one line each.
        warnings: what looks wrong, one line each.
        written: the files that were written.
    """

    health: Health
    settings: Mapping[str, Any]
    columns: tuple[Column, ...]
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    unshown: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
