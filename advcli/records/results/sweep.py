"""What `sweep` shows: one point of the grid after the other."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from advcli.records.results.report import Column, Health
from advcli.records.results.result import Result


@dataclass(frozen=True)
class Point:
    """One point of a grid of settings.

    Attributes:
        settings: the settings that the grid is made of, by name.
        column: its processed advantages; the distance is that from the original, the advantages of the first point
            before any keep ratio and filter.
        effective_rows: (Σ|A|)² / ΣA² over the kept rows: how many rows of equal |A| would weigh as much.
        token_share: tokens of the kept rows, as a share of all tokens; None without lengths.
    """

    settings: Mapping[str, Any]
    column: Column
    effective_rows: float
    token_share: float | None = None

    def figures(self) -> dict[str, float | int | None]:
        """Name → figure, in the order in which they are shown."""
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
    """A grid of settings and what each point does.

    Attributes:
        health: the groups of the data set.
        points: the points, in the order of the grid or as they were sorted.
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
        scale: "group", "batch", "none", or null where there is no choice.
        keep_pos: share of the positive rows of each group that was kept.
        keep_neg: share of the negative rows of each group that was kept.
        compute_new_adv: whether the advantage was computed again on the kept rows.
        shape: what shaped the rewards and the advantages, as `--shape` takes it; null for nothing.
        kept_rows: rows that take part.
        kept_groups: groups with at least one kept row.
        live_groups: groups with two or more kept rewards that are not all equal.
        mean_abs: mean |A| over the kept rows.
        std: standard deviation of A over the kept rows, ddof 1.
        max_abs: largest |A|.
        share_positive: share of the kept rows with A > 0.
        sign_changes: share of the kept rows whose sign (−, 0, +) is not that of the original: the first point, unfiltered.
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
        """The settings and figures of a point."""
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
    def of(cls, found: Sweep) -> Self:
        """Counts, and the settings and figures of each point."""
        health = found.health
        return cls(
            rows=health.rows,
            groups=health.groups,
            dead_groups=health.dead_groups,
            warnings=found.warnings,
            points=tuple(map(SweepPoint.of, found.points)),
        )
