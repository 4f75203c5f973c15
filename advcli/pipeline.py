"""The order of the steps: read, group, compute, write, describe."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from advcli import __version__, dataset, remarks
from advcli.advantages import Plan, run
from advcli.dataset import DataSet
from advcli.errors import DataError, UsageError
from advcli.grouping import sizes_of
from advcli.io import metrics as metrics_file
from advcli.io.catalog import LOGGED
from advcli.io.parquet import to_metadata
from advcli.io.read import read
from advcli.io.sources import opened
from advcli.io.write import COLUMNS, SOURCE, TOKENS, Additions, added_columns, targets, write
from advcli.matching import match as matching
from advcli.matching.search import Tell
from advcli.records import (
    AdvantageTable,
    ColumnOptions,
    Health,
    Match,
    Point,
    Report,
    RewardTable,
    Settings,
    Source,
    Sweep,
)
from advcli.settings.resolve import parse_spec
from advcli.shaping.catalog import described
from advcli.stats import comparison, concentration, metrics
from advcli.stats.health import health
from advcli.words import either


@dataclass(frozen=True)
class Request:
    """What a command was asked to do.

    Attributes:
        inputs: files, globs, folders, or "-".
        settings: how advantages are computed.
        columns: which columns the user asked for.
        skip_bad_rows: count bad rows instead of stopping at the first.
        warnings: what came up while the request was made.
        origin: setting → where it was read from, "" for the command line.
        ray_address: where Ray runs, for the commands on Ray; None to start it.
    """

    inputs: tuple[str, ...]
    settings: Settings
    columns: ColumnOptions
    skip_bad_rows: bool = False
    warnings: tuple[str, ...] = ()
    origin: Mapping[str, str] = field(default_factory=dict)
    ray_address: str | None = None

    def plan(self) -> Plan:
        """Check the settings; an error says where the wrong one comes from."""
        try:
            return Plan.of(self.settings)
        except UsageError as error:
            place = self.origin.get(error.about or "")
            if not place:
                raise
            raise UsageError(f"{place}: {error.message}", hint=error.hint) from error

    def load(self, sources: Sequence[Source], refused: Sequence[str] = ()) -> DataSet:
        """Read and group the inputs."""
        return dataset.load(
            sources, self.columns, self.settings, refused=refused, skip_bad_rows=self.skip_bad_rows
        )


@dataclass(frozen=True)
class Output:
    """Where `compute` writes.

    Attributes:
        out: a file, a folder, "-", or None for the default name beside the input.
        prefix: put before the names of the added columns.
        metrics: a file for the trainer-style metrics, or None.
        force: overwrite existing files.
        same_layout: keep lists as lists where a record holds several rows.
        resume: on Ray, pass over files that this run has written already.
    """

    out: str | None = None
    prefix: str = "adv_"
    metrics: Path | None = None
    force: bool = False
    same_layout: bool = False
    resume: bool = False


@dataclass(frozen=True)
class Grid:
    """The axes of a sweep; () is what the request says.

    Attributes:
        estimators: `NAME[:KEY=VALUE,...]`.
        likes: `FRAMEWORK[@VERSION]`.
        scales: "group", "batch", "none".
        keep_pos: shares of the positive rows.
        keep_neg: shares of the negative rows.
        again: whether the advantage is computed again on the kept rows.
    """

    estimators: tuple[str, ...] = ()
    likes: tuple[str, ...] = ()
    scales: tuple[str, ...] = ()
    keep_pos: tuple[float, ...] = (1.0,)
    keep_neg: tuple[float, ...] = (1.0,)
    again: tuple[bool, ...] = (False,)


def compute(request: Request, output: Output) -> Report:
    """Annotate files.

    Returns:
        The report, with the columns "original" and "processed".
    """
    plan = request.plan()
    with opened(request.inputs) as sources:
        goals = targets(sources, output.out, force=output.force)
        if output.metrics:
            metrics_file.check(output.metrics, sources, goals, force=output.force)
        data = request.load(sources, refused=[output.prefix + name for name in (*COLUMNS, TOKENS, SOURCE)])
        columns = data.columns()
        plan = plan.at(columns)
        result = run(plan, columns)
        added = added_columns(output.prefix, result, data.grouping)
        about = to_metadata(output.prefix, used_settings(plan, request, data))
        record = None if output.same_layout else output.prefix + SOURCE
        write(sources, goals, data.table, Additions(added, about, record), force=output.force)
    written = [str(goal.path) for goal in goals if goal.path]
    if output.metrics:
        steps = data.table.step_names if data.table.step is not None else None
        metrics_file.write(output.metrics, metrics.per_step(data.rows, result, steps), force=output.force)
        written.append(str(output.metrics))
    shown = {"original": _unprocessed(result), "processed": result}
    report = _report(request, data, plan, shown)
    return replace(report, notes=(*report.notes, *(f"wrote {path}" for path in written)))


def compare(request: Request, versus: Mapping[str, Settings] | None = None) -> Report:
    """Describe original, kept, and kept + recomputed side by side, and other estimators after them.

    Args:
        request: what to do; whether its `compute_new_adv` is set or not, both ways are shown.
        versus: heading → settings of each further column.
    """
    plans, bare = compared_plans(request, versus or {})
    with opened(request.inputs) as sources:
        data = request.load(sources)
    columns = data.columns()
    plans = {label: plan.at(columns) for label, plan in plans.items()}
    results = {label: run(plan, columns) for label, plan in plans.items()}
    original = run(bare.at(columns), columns) if bare.settings != plans["kept"].settings else results["kept"]
    shown = {"original": _unprocessed(original), **results}
    return with_hints(_report(request, data, plans["kept"], shown), request, versus or {})


def compared_plans(request: Request, versus: Mapping[str, Settings]) -> tuple[dict[str, Plan], Plan]:
    """The checked settings of each column of a comparison, and those of the original, which knows no filter."""
    recomputed = request.plan().entry.recompute
    base = replace(request.settings, compute_new_adv=False)
    variants = {"kept": base}
    if recomputed:
        variants["kept + recomputed"] = replace(base, compute_new_adv=True)
    plans = {label: Plan.of(settings) for label, settings in variants.items()}
    plans |= {label: _versus(label, settings) for label, settings in versus.items()}
    return plans, replace(plans["kept"], settings=replace(base, filters=()))


def with_hints(report: Report, request: Request, versus: Mapping[str, Settings]) -> Report:
    """The report of a comparison, without what is no news, and with a hint where all columns agree."""
    base, recomputed = request.settings, request.plan().entry.recompute
    # That recomputing has no effect is no news where every column shows it.
    report = replace(report, warnings=tuple(text for text in report.warnings if "no effect" not in text))
    if versus or base.keep_pos < 1 or base.keep_neg < 1 or base.filters:
        return report
    other = "rloo" if recomputed else "grpo"
    hint = f"both keep ratios are 1, so the columns agree; try --keep-pos 0.7 --keep-neg 0.5, or --vs {other}"
    return replace(report, notes=(*report.notes, hint))


def sweep(
    request: Request,
    grid: Grid,
    *,
    check: Callable[[Sequence[Source]], None] | None = None,
    advance: Callable[[int, int], None] | None = None,
) -> Sweep:
    """Compute every point of a grid on data that are read once.

    Args:
        request: what to do; its settings hold what is the same at every point.
        grid: the values of each axis.
        check: called with the inputs before they are read, to refuse what must not be written.
        advance: called with the number of points that are done, and of all.

    Returns:
        A point for each combination. An estimator without a choice of scale has one scale; the distance is
        that from the first point.
    """
    plans = list(points(request.settings, grid))
    with opened(request.inputs) as sources:
        if check:
            check(sources)
        data = request.load(sources)
    columns = data.columns()
    found: list[Point] = []
    first: Tensor | None = None
    for done, plan in enumerate(plan.at(columns) for plan in plans):
        result = run(plan, columns)
        first = result.processed if first is None else first
        found.append(
            Point(
                settings=coordinates(plan),
                column=comparison.compare("", data.rows, first, result),
                live_groups=concentration.live_groups(data.rows, result),
                effective_rows=concentration.effective_rows(result.processed[result.kept]),
                token_share=concentration.token_share(data.rows, result.kept),
            )
        )
        if advance:
            advance(done + 1, len(plans))
    return Sweep(
        health=_health(data),
        points=tuple(found),
        notes=tuple(remarks.notes(data, first if first is not None else data.rows.rewards)),
        warnings=(*request.warnings, *data.table.warnings, *data.grouping.warnings),
    )


def points(base: Settings, grid: Grid) -> Iterator[Plan]:
    """The checked settings of each point, the first axis slowest."""
    named = list(product(grid.likes or (None,), grid.estimators or (None,)))
    starts = []
    for like, name in named:
        found, knobs = parse_spec(name or "")
        starts.append(replace(base, like=like or base.like, **{**found, "knobs": knobs or base.knobs}))
    able = [Plan.of(replace(start, scale=None)).entry.recompute for start in starts]
    for start, recomputes in zip(starts, able, strict=True):
        # Where no estimator can be computed again, asking for it is an error; where some can, the others stay.
        again = grid.again if recomputes or not any(able) else (False,)
        for scale in _scales(start, grid.scales):
            for new, pos, neg in product(again, grid.keep_pos, grid.keep_neg):
                yield Plan.of(replace(start, scale=scale, compute_new_adv=new, keep_pos=pos, keep_neg=neg))


def _scales(settings: Settings, wanted: Sequence[str]) -> Sequence[str | None]:
    """The scales of an estimator among those that are wanted; its own where it has no choice."""
    plan = Plan.of(replace(settings, scale=None, compute_new_adv=False))
    if not wanted or plan.entry.default_scale is None:
        return [settings.scale if not wanted else None]
    has = plan.rule.scales if plan.rule else wanted
    return [scale for scale in wanted if scale in has] or [None]


def coordinates(plan: Plan) -> dict[str, Any]:
    """Where a point lies in the grid."""
    return {
        "estimator": plan.rule.estimator if plan.rule else plan.entry.name,
        "like": plan.rule and f"{plan.rule.framework} {plan.rule.versions}".strip(),
        "scale": plan.entry.default_scale if plan.rule else plan.knobs.get("scale"),
        "keep_pos": plan.settings.keep_pos,
        "keep_neg": plan.settings.keep_neg,
        "compute_new_adv": plan.settings.compute_new_adv,
    }


def match(request: Request, tell: Tell = lambda text: None) -> Match:
    """Find the rule that made the logged advantages.

    Args:
        request: what to do; its settings narrow the rules that are tried (`like`, `estimator`, `scale`).
        tell: takes a line each time rules have been ruled out.
    """
    columns = request.columns
    # A dump without a prompt id is grouped by position here, so that is no error yet.
    wanted = replace(columns, n=columns.n or 1, parts="without total")
    with opened(request.inputs) as sources:
        table = _logged(read(sources, wanted, skip_bad_rows=request.skip_bad_rows))
        outcome = matching.match(table, n=columns.n, only=request.settings, tell=tell)
        if not outcome.found and len(table.choice.rewards) == 1 and not columns.rewards:
            parts = read(sources, replace(wanted, parts="always"), skip_bad_rows=request.skip_bad_rows)
            if parts.choice.rewards != table.choice.rewards:
                again = matching.match(parts, n=columns.n, only=request.settings, tell=tell)
                outcome = again if again.found else outcome
    return replace(outcome, warnings=(*request.warnings, *outcome.warnings))


def _logged(table: RewardTable) -> RewardTable:
    """The same table; an error if it has no logged advantage."""
    if table.logged is None:
        raise DataError(
            f"no logged advantage: no column {either(LOGGED)}; there are numbers or lists in "
            f"{', '.join(table.choice.others) or 'no other column'}",
            hint="--logged-col COL",
        )
    return table


def _versus(label: str, settings: Settings) -> Plan:
    """Check the settings of a further column; an error says of which."""
    try:
        return Plan.of(settings)
    except UsageError as error:
        raise UsageError(f"--vs {label}: {error.message}", hint=error.hint) from error


def _unprocessed(result: AdvantageTable) -> AdvantageTable:
    """The same advantages before any keep ratio."""
    return replace(result, processed=result.original, kept=~result.original.isnan(), warnings=(), left_out=())


def used_settings(plan: Plan, request: Request, data: DataSet) -> dict[str, Any]:
    """The settings as they were used, defaults filled in."""
    choice = data.table.choice
    return {
        "version": __version__,
        "estimator": plan.entry.name,
        "like": plan.rule and f"{plan.rule.framework} {plan.rule.versions}".strip(),
        "formula": plan.entry.formula,
        "scale": plan.entry.default_scale if plan.rule else plan.knobs.get("scale"),
        "knobs": dict(plan.knobs),
        "keep_pos": plan.settings.keep_pos,
        "keep_neg": plan.settings.keep_neg,
        "compute_new_adv": plan.settings.compute_new_adv,
        "filters": [{"when": spec.when, "filter": str(spec)} for spec in plan.settings.filters],
        "shaping": described(plan.settings.shaping),
        "missing": plan.settings.missing,
        "singleton": plan.settings.singleton,
        "format": choice.format,
        "layout": choice.layout.name,
        "dedup": choice.dedup,
        "group_by": list(data.grouping.columns),
        "n": request.columns.n,
        "reward": dict(choice.rewards),
        "step": choice.step,
        "length": choice.length,
        "baseline": choice.baseline,
        "kl": choice.kl_column,
        "tokens": {role: column for role, column in choice.tokens if role != "token_kl"},
        "device": plan.device.type,
        "dtype": str(plan.dtype).removeprefix("torch."),
    }


def _health(data: DataSet) -> Health:
    sizes = sizes_of(data.grouping.group, data.grouping.count)
    return health(data.rows, torch.from_numpy(data.table.cause), sizes)


def _report(request: Request, data: DataSet, plan: Plan, shown: Mapping[str, AdvantageTable]) -> Report:
    original = shown["original"].original
    computed = dict.fromkeys(text for result in shown.values() for text in result.warnings)
    return Report(
        health=_health(data),
        settings=used_settings(plan, request, data),
        left_out=next((result.left_out for result in shown.values() if result.left_out), ()),
        columns=tuple(
            comparison.compare(label, data.rows, original, result) for label, result in shown.items()
        ),
        notes=tuple(remarks.notes(data, original, plan.rule)),
        warnings=(
            *request.warnings,
            *remarks.warnings(data, original, plan.rule, weights=request.columns.weights),
            *computed,
        ),
    )
