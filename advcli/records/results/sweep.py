"""What `sweep` shows: one point of the grid after the other."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from advcli.records.results.report import Column, Health


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
