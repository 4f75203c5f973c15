"""The report of `compute` and `compare`: statistics, group counts, and columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from advcli.records.settings import LeftOut


@dataclass(frozen=True)
class Shown:
    """How tables show a figure; annotates the field of the figure.

    Attributes:
        heading: its label; {unit} is replaced by the counted unit, row or rollout.
        form: how its number is formatted.
        section: its section of the table; "distance" is shown for all columns except the original.
    """

    heading: str
    form: Literal["count", "number", "share"]
    section: Literal["statistics", "tokens", "kept", "distance"]


@dataclass(frozen=True)
class Figures:
    """Statistics of one column; NaN where undefined.

    Attributes:
        count: rows with a defined value.
        mean: mean.
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
        token_mean: mean weighted by tokens; None without a length column.
        token_std: standard deviation weighted by tokens (ddof 0); None likewise.
    """

    count: Annotated[int, Shown("count", "count", "statistics")]
    mean: Annotated[float, Shown("mean", "number", "statistics")]
    std: Annotated[float, Shown("std", "number", "statistics")]
    min: Annotated[float, Shown("min", "number", "statistics")]
    p5: Annotated[float, Shown("p5", "number", "statistics")]
    p25: Annotated[float, Shown("p25", "number", "statistics")]
    median: Annotated[float, Shown("median", "number", "statistics")]
    p75: Annotated[float, Shown("p75", "number", "statistics")]
    p95: Annotated[float, Shown("p95", "number", "statistics")]
    max: Annotated[float, Shown("max", "number", "statistics")]
    mean_abs: Annotated[float, Shown("mean |A|", "number", "statistics")]
    share_positive: Annotated[float, Shown("positive", "share", "statistics")]
    share_zero: Annotated[float, Shown("zero", "share", "statistics")]
    share_negative: Annotated[float, Shown("negative", "share", "statistics")]
    token_mean: Annotated[float | None, Shown("mean over tokens", "number", "tokens")] = None
    token_std: Annotated[float | None, Shown("std over tokens", "number", "tokens")] = None


@dataclass(frozen=True)
class Health:
    """Counts of the groups of a data set, before any estimator.

    Attributes:
        rows: rows of the groups, including those without a usable reward, but not skipped ones.
        groups: groups.
        sizes: group size in rows → number of groups.
        dead_groups: groups with two or more valid rows, all with the same reward.
        dead_max: dead groups at the largest reward of the data set.
        dead_min: dead groups at the smallest reward of the data set.
        singletons: groups with one valid row.
        missing: rows without a usable reward.
        missing_by_cause: the same by cause: null, NaN, inf.
        one_reward: whether all rewards are equal, so that none is the largest or the smallest.
        rollouts: number of rollouts if rollouts are counted (then everything except `rows` counts them); None if rows are.
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
    one_reward: bool = False
    rollouts: int | None = None


@dataclass(frozen=True)
class Column:
    """One column of the comparison.

    Attributes:
        label: its heading.
        figures: statistics over the kept rows.
        kept_rows: rows that take part in training.
        kept_groups: groups with at least one kept row.
        below_two: groups of which fewer than two rows are kept (missing rows are not counted).
        dead_groups: groups with two or more kept rewards, all equal.
        live_groups: groups with two or more kept rewards that are not all equal.
        sign_changes: share of kept rows whose sign (−, 0, +) differs from the original's.
        mean_abs_ratio: mean |A| over the kept rows, divided by that of the original on the same rows.
        rank_agreement: Spearman's ρ with the original within groups, mean over groups.
        correlation: Pearson's r with the original over the kept rows of all groups.
        phantoms: kept rows of dead groups with a nonzero advantage.
    """

    label: str
    figures: Figures
    kept_rows: Annotated[int, Shown("kept {unit}s", "count", "kept")]
    kept_groups: Annotated[int, Shown("kept groups", "count", "kept")]
    below_two: Annotated[int, Shown("groups with < 2 kept", "count", "kept")]
    live_groups: Annotated[int, Shown("live groups", "count", "kept")]
    dead_groups: Annotated[int, Shown("dead groups", "count", "kept")]
    sign_changes: Annotated[float, Shown("sign changes", "share", "distance")]
    mean_abs_ratio: Annotated[float, Shown("ratio of mean |A|", "number", "distance")]
    rank_agreement: Annotated[float, Shown("rank agreement", "number", "distance")]
    correlation: Annotated[float, Shown("correlation", "number", "distance")]
    phantoms: Annotated[int, Shown("phantom advantages", "count", "kept")]


@dataclass(frozen=True)
class Report:
    """Everything that a command shows.

    Attributes:
        health: counts of the groups.
        settings: name → value of the settings in effect, also stored in the output files.
        columns: the advantage columns, the original first.
        unshown: labels of columns that equal the original because nothing was filtered; tables leave them out.
        left_out: what each filter dropped.
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
