"""The result of `compare`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from advcli.records.results.compute import Counts, counts_of
from advcli.records.results.report import Column, Figures, Report
from advcli.records.results.result import Result, fields_of


@dataclass(frozen=True, kw_only=True)
class ComparedColumn(Figures):
    """One advantage column, compared with the original.

    Attributes:
        kept_rows: rows that take part in training.
        kept_groups: groups with at least one kept row.
        below_two: groups of which fewer than two rows are kept.
        live_groups: groups with two or more kept rewards that are not all equal.
        dead_groups: groups with two or more kept rewards, all equal.
        sign_changes: share of the kept rows whose sign (−, 0, +) differs from the original's.
        mean_abs_ratio: mean |A| over the kept rows, divided by that of the original on the same rows.
        rank_agreement: Spearman's ρ with the original within groups, mean over groups.
        correlation: Pearson's r with the original over all kept rows.
        phantoms: kept rows of dead groups with a nonzero advantage.
    """

    kept_rows: int
    kept_groups: int
    below_two: int
    live_groups: int
    dead_groups: int
    sign_changes: float
    mean_abs_ratio: float
    rank_agreement: float
    correlation: float
    phantoms: int

    @classmethod
    def of(cls, column: Column) -> Self:
        """The JSON record of a column."""
        distance = {
            name: value for name, value in fields_of(column).items() if name not in ("label", "figures")
        }
        return cls(**fields_of(column.figures), **distance)


@dataclass(frozen=True, kw_only=True, repr=False)
class CompareResult(Result, Counts):
    """What `advcli compare` returns.

    Attributes:
        columns: heading → figures of the column, and how far it is from the original.
    """

    schema: ClassVar[str] = "advcli/compare/1"
    columns: Mapping[str, ComparedColumn]

    @classmethod
    def of(cls, report: Report) -> Self:
        """The JSON record of a report."""
        columns = {column.label: ComparedColumn.of(column) for column in report.columns}
        return cls(**counts_of(report, report.columns[1]), columns=columns)
