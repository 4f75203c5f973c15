"""What is counted of a place, such that the counts of two places make those of both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from advcli.dataset import remarks
from advcli.dataset.grouping import Mixed, by_frequency, met_together, mixed, sizes_met
from advcli.dataset.load import DataSet
from advcli.distributed import sketches
from advcli.distributed.traps import Seen, seen
from advcli.distributed.traps import together as together_seen
from advcli.records.report import Health
from advcli.records.settings import AdvantageTable, LeftOut
from advcli.stats import concentration, metrics
from advcli.stats.comparison import Measured
from advcli.stats.health import health
from advcli.tensors.segments import Segments
from advcli.wording import together

if TYPE_CHECKING:
    from advcli.distributed.run import Here


@dataclass(frozen=True)
class Shown:
    """A column that a command shows.

    Attributes:
        label: its heading.
        run: which of the runs it is.
        bare: whether it is the original advantage of that run, before any keep ratio.
    """

    label: str
    run: int
    bare: bool = False

    def of(self, results: Sequence[AdvantageTable]) -> AdvantageTable:
        """The advantages of the column."""
        result = results[self.run]
        return result.unprocessed() if self.bare else result


@dataclass(frozen=True)
class ColumnCount:
    """What is counted of a column.

    Attributes:
        measured: the figures and the distance from the first column.
        sketches: of the kept rows, one per place.
        live_groups: groups with a kept row whose advantage is not 0.
        kept_tokens: tokens of the kept rows.
        tokens: tokens of all rows; None without lengths.
        warnings: sentences about it.
        left_out: what its filters left out.
    """

    measured: Measured
    sketches: tuple[bytes, ...]
    live_groups: int
    kept_tokens: float
    tokens: float | None
    warnings: tuple[str, ...]
    left_out: tuple[LeftOut, ...]

    def __add__(self, other: "ColumnCount") -> "ColumnCount":
        return ColumnCount(
            measured=self.measured + other.measured,
            sketches=self.sketches + other.sketches,
            live_groups=self.live_groups + other.live_groups,
            kept_tokens=self.kept_tokens + other.kept_tokens,
            tokens=None if self.tokens is None or other.tokens is None else self.tokens + other.tokens,
            warnings=together((*self.warnings, *other.warnings)),
            left_out=tuple(one + two for one, two in zip(self.left_out, other.left_out, strict=True)),
        )


@dataclass(frozen=True)
class Account:
    """What is counted of a place, or of several.

    Attributes:
        health: the groups.
        mixed: groups that mix rows that may not belong together.
        reused: prompts that are met at several steps.
        scattered: groups whose rows do not follow one another.
        defined: rows with an original advantage.
        logged: the rows with a logged and an original advantage.
        distance: the largest distance of the two.
        columns: one per column.
        steps: the metrics of each step; empty where nobody asked.
        largest: the rows of the largest place.
        sizes: of the groups, from `grouping.sizes_met`.
        seen: what traps look at.
    """

    health: Health
    mixed: Mixed
    reused: int
    scattered: int
    defined: int
    logged: int
    distance: float
    columns: tuple[ColumnCount, ...]
    steps: Mapping[int, metrics.StepCount] = field(default_factory=dict)
    largest: int = 0
    sizes: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    seen: Seen = field(default_factory=dict)

    def __add__(self, other: "Account") -> "Account":
        steps = dict(self.steps)
        for step, count in other.steps.items():
            steps[step] = steps[step] + count if step in steps else count
        sizes = met_together(self.sizes, other.sizes)
        return Account(
            health=_healths(self.health, other.health, by_frequency(sizes)),
            mixed=self.mixed + other.mixed,
            reused=self.reused + other.reused,
            scattered=self.scattered + other.scattered,
            defined=self.defined + other.defined,
            logged=self.logged + other.logged,
            distance=max(self.distance, other.distance),
            columns=tuple(one + two for one, two in zip(self.columns, other.columns, strict=True)),
            steps=steps,
            largest=max(self.largest, other.largest),
            sizes=sizes,
            seen=together_seen(self.seen, other.seen),
        )


def account(here: "Here") -> Account:
    """What is counted of a place."""
    data, view = here.data, here.work.view
    results = here.work.results(data)
    tables = [column.of(results) for column in here.work.shown]
    first = tables[0].processed
    met = sizes_met(data.grouping.group, data.grouping.count, here.begins())
    logged, distance = remarks.logged(data, tables[0].original)
    extremes = (view.low, view.high)
    return Account(
        health=health(data.rows, torch.from_numpy(data.table.cause), by_frequency(met), extremes),
        mixed=mixed(data.table, data.grouping.group),
        reused=remarks.reused_keys(data) if view.unit in ("key", "all") else 0,
        scattered=scattered(data, here.positions()),
        defined=int((~tables[0].original.isnan()).sum()),
        logged=logged,
        distance=distance,
        columns=tuple(_counted(data, first, table) for table in tables),
        steps=metrics.counts(data.rows, results[0]) if here.work.per_step else {},
        largest=len(data.table.key),
        sizes=met,
        seen=seen(data, here.columns, here.positions()),
    )


def _counted(data: DataSet, first: Tensor, result: AdvantageTable) -> ColumnCount:
    kept, lengths = result.kept, data.rows.lengths
    tokens = None if lengths is None else lengths.nan_to_num(nan=0.0).clamp(min=0)
    return ColumnCount(
        measured=Measured.of(data.rows, first, result),
        sketches=(sketches.sketch(result.processed[kept].double().numpy()),),
        live_groups=concentration.live_groups(data.rows, result),
        kept_tokens=0.0 if tokens is None else float(torch.where(kept, tokens, 0.0).sum()),
        tokens=None if tokens is None else float(tokens.sum()),
        warnings=result.warnings,
        left_out=result.left_out,
    )


def scattered(data: DataSet, positions: NDArray[np.int64]) -> int:
    """Groups whose rows do not follow one another in the files."""
    group = torch.from_numpy(data.grouping.group)
    usable = group >= 0
    if not usable.any():
        return 0
    rows = torch.from_numpy(positions)[usable].double()
    segments = Segments.of(group[usable], data.grouping.count)
    extent = segments.max(rows) - segments.min(rows) + 1
    return int((extent != segments.size()).sum())


def _healths(one: Health, two: Health, sizes: Mapping[int, int]) -> Health:
    counts = {
        name: getattr(one, name) + getattr(two, name)
        for name in (f.name for f in fields(Health))
        if name not in ("sizes", "missing_by_cause")
    }
    causes = {name: many + two.missing_by_cause[name] for name, many in one.missing_by_cause.items()}
    return Health(**counts, sizes=sizes, missing_by_cause=causes)
