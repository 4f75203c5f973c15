"""The result of `sweep`: the points of the grid."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from advcli.records.results.report import Column, Health
from advcli.records.results.result import Result


@dataclass(frozen=True)
class Point:
    """One point of a grid of settings.

    Attributes:
        settings: the settings of the grid at this point, by name.
        column: its processed advantages, compared with the original: the advantages of the first point before any
            keep ratio and filter.
        effective_rows: (Σ|A|)² / ΣA² over the kept rows: how many rows of equal |A| would weigh as much.
        token_share: tokens of the kept rows as a share of all tokens; None without lengths.
    """

    settings: Mapping[str, Any]
    column: Column
    effective_rows: float
    token_share: float | None = None

    def figures(self) -> dict[str, float | int | None]:
        """Name → figure, in display order."""
        column, figures = self.column, self.column.figures
        return {
            "kept_rows": column.kept_rows,
            "kept_groups": column.kept_groups,
            "live_groups": column.live_groups,
            "mean_abs": figures.mean_abs,
            "std": figures.std,
            "max_abs": max(abs(figures.min), abs(figures.max)),
            "share_positive": figures.share_positive,
            "sign_changes": column.sign_changes,
            "rank_agreement": column.rank_agreement,
            "correlation": column.correlation,
            "effective_rows": self.effective_rows,
            "token_share": self.token_share,
        }


@dataclass(frozen=True)
class Sweep:
    """The points of a grid of settings.

    Attributes:
        health: the groups of the data set.
        points: the points, in the order of the grid or as sorted.
        notes: what was chosen, one line each.
        warnings: what looks wrong, one line each.
    """

    health: Health
    points: tuple[Point, ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SweepPoint:
    """One point of a grid of settings.

    Attributes:
        estimator: its name, with the knobs that it was given: grpo:eps=0.1.
        like: framework and versions whose numbers were reproduced, or null.
        scale: "group", "batch", "none", or null if there is no choice.
        keep_pos: kept share of each group's positive rows.
        keep_neg: kept share of each group's negative rows.
        compute_new_adv: whether the advantage was recomputed on the kept rows.
        shape: the shaping of rewards and advantages, as `--shape` takes it; null for none.
        kept_rows: rows that take part in training.
        kept_groups: groups with at least one kept row.
        live_groups: groups with two or more kept rewards that are not all equal.
        mean_abs: mean |A| over the kept rows.
        std: standard deviation of A over the kept rows, ddof 1.
        max_abs: largest |A|.
        share_positive: share of the kept rows with A > 0.
        sign_changes: share of the kept rows whose sign (−, 0, +) differs from the original's: the first point, unfiltered.
        rank_agreement: Spearman's ρ with the original within groups, mean over groups.
        correlation: Pearson's r with the original over all kept rows.
        effective_rows: (Σ|A|)² / ΣA² over the kept rows.
        token_share: tokens of the kept rows as a share of all; null without lengths.
    """

    estimator: str
    like: str | None
    scale: str | None
    keep_pos: float
    keep_neg: float
    compute_new_adv: bool
    shape: str | None
    kept_rows: int
    kept_groups: int
    live_groups: int
    mean_abs: float
    std: float
    max_abs: float
    share_positive: float
    sign_changes: float
    rank_agreement: float
    correlation: float
    effective_rows: float
    token_share: float | None

    @classmethod
    def of(cls, point: Point) -> Self:
        """The JSON record of a point."""
        values: dict[str, Any] = {**point.settings, **point.figures()}
        return cls(**values)


@dataclass(frozen=True, kw_only=True, repr=False)
class SweepResult(Result):
    """What `advcli sweep` returns.

    Attributes:
        rows: rows, missing ones included.
        groups: groups.
        dead_groups: groups with two or more usable rewards, all equal.
        warnings: what looks wrong, one sentence each.
        points: one record per point, in the order of the grid or as sorted.
    """

    schema: ClassVar[str] = "advcli/sweep/1"
    rows: int
    groups: int
    dead_groups: int
    warnings: tuple[str, ...]
    points: tuple[SweepPoint, ...]

    @classmethod
    def of(cls, sweep: Sweep) -> Self:
        """The JSON record of a sweep."""
        health = sweep.health
        return cls(
            rows=health.rows,
            groups=health.groups,
            dead_groups=health.dead_groups,
            warnings=sweep.warnings,
            points=tuple(map(SweepPoint.of, sweep.points)),
        )
