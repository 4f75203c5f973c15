"""The order of the steps: read, group, compute, write, describe."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from advcli import __version__, dataset, remarks
from advcli.advantages import Plan, run
from advcli.dataset import DataSet
from advcli.errors import UsageError
from advcli.grouping import sizes_of
from advcli.inspection.details import Wanted, details
from advcli.inspection.facts import Frame, facts
from advcli.io import lookup
from advcli.io import metrics as metrics_file
from advcli.io.parquet import to_metadata
from advcli.io.sources import opened
from advcli.io.write import COLUMNS, TOKENS, added_columns, targets, write
from advcli.records import AdvantageTable, ColumnOptions, Facts, Files, Inspection, Report, Settings, Source
from advcli.shaping.catalog import described
from advcli.stats import comparison, metrics
from advcli.stats.health import health


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
    """

    inputs: tuple[str, ...]
    settings: Settings
    columns: ColumnOptions
    skip_bad_rows: bool = False
    warnings: tuple[str, ...] = ()
    origin: Mapping[str, str] = field(default_factory=dict)

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
    """

    out: str | None = None
    prefix: str = "adv_"
    metrics: Path | None = None
    force: bool = False


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
        data = request.load(sources, refused=[output.prefix + name for name in (*COLUMNS, TOKENS)])
        columns = data.columns()
        plan = plan.at(columns)
        result = run(plan, columns)
        added = added_columns(output.prefix, result, data.grouping)
        about = to_metadata(output.prefix, _settings(plan, request, data))
        write(sources, goals, data.table, added, about=about, force=output.force)
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
    recomputed = request.plan().entry.recompute
    base = replace(request.settings, compute_new_adv=False)
    variants = {"kept": base}
    if recomputed:
        variants["kept + recomputed"] = replace(base, compute_new_adv=True)
    plans = {label: Plan.of(settings) for label, settings in variants.items()}
    plans |= {label: _versus(label, settings) for label, settings in (versus or {}).items()}
    with opened(request.inputs) as sources:
        data = request.load(sources)
    columns = data.columns()
    plans = {label: plan.at(columns) for label, plan in plans.items()}
    results = {label: run(plan, columns) for label, plan in plans.items()}
    bare = replace(plans["kept"], settings=replace(plans["kept"].settings, filters=()))
    original = run(bare, columns) if base.filters else results["kept"]
    shown = {"original": _unprocessed(original), **results}
    report = _report(request, data, plans["kept"], shown)
    # That recomputing has no effect is no news where every column shows it.
    report = replace(report, warnings=tuple(text for text in report.warnings if "no effect" not in text))
    if versus or base.keep_pos < 1 or base.keep_neg < 1 or base.filters:
        return report
    other = "rloo" if recomputed else "grpo"
    hint = f"both keep ratios are 1, so the columns agree; try --keep-pos 0.7 --keep-neg 0.5, or --vs {other}"
    return replace(report, notes=(*report.notes, hint))


def inspect(request: Request, wanted: Wanted, *, near_dead: float = 0.01) -> Inspection:
    """Say what is in a dump.

    Args:
        request: what to do; keep ratios and filters are left out, the advantage is the original one.
        wanted: single groups and rows to show.
        near_dead: a live group whose spread is at most this share of the range of the rewards is near dead.
    """
    bare = replace(request.settings, keep_pos=1.0, keep_neg=1.0, compute_new_adv=False, filters=())
    request = replace(request, settings=bare)
    plan = request.plan()
    with opened(request.inputs) as sources:
        data = request.load(sources)
        columns = data.columns()
        plan = plan.at(columns)
        original = run(plan, columns).original
        shown = details(wanted, data, original, sources)
        duplicates = lookup.duplicates(sources, data.table)
    frame = Frame.of(data, columns, original, plan.entry.name)
    split = _split(frame, data, near_dead)
    settings = _settings(plan, request, data)
    lint = (*request.warnings, *remarks.warnings(data, original, plan.rule, weights=request.columns.weights))
    return Inspection(
        files=Files(
            names=data.table.names,
            format=data.table.choice.format,
            columns=remarks.columns(data),
            group_rule=data.grouping.rule,
            duplicates=duplicates,
            lint=(*lint, *remarks.inspected(data)),
        ),
        facts=facts(frame, near_dead=near_dead),
        settings=settings,
        by=data.table.choice.by,
        split=split,
        details=shown,
    )


def _split(frame: Frame, data: DataSet, near_dead: float) -> dict[str, Facts]:
    """The figures of each value of the `--by` column, most rows first."""
    if data.table.by is None:
        return {}
    by = torch.from_numpy(data.table.by)
    many = torch.bincount(by, minlength=len(data.table.by_names))
    order = torch.argsort(many, descending=True, stable=True).tolist()
    return {
        data.table.by_names[code]: facts(frame.of_rows(by == code), near_dead=near_dead) for code in order
    }


def _versus(label: str, settings: Settings) -> Plan:
    """Check the settings of a further column; an error says of which."""
    try:
        return Plan.of(settings)
    except UsageError as error:
        raise UsageError(f"--vs {label}: {error.message}", hint=error.hint) from error


def _unprocessed(result: AdvantageTable) -> AdvantageTable:
    """The same advantages before any keep ratio."""
    return replace(result, processed=result.original, kept=~result.original.isnan(), warnings=(), left_out=())


def _settings(plan: Plan, request: Request, data: DataSet) -> dict[str, Any]:
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
        "group_by": list(data.grouping.columns),
        "n": request.columns.n,
        "reward": dict(choice.rewards),
        "step": choice.step,
        "length": choice.length,
        "baseline": choice.baseline,
        "kl": choice.kl or dict(choice.tokens).get("token_kl"),
        "tokens": {role: column for role, column in choice.tokens if role != "token_kl"},
        "device": plan.device.type,
        "dtype": str(plan.dtype).removeprefix("torch."),
    }


def _report(request: Request, data: DataSet, plan: Plan, shown: Mapping[str, AdvantageTable]) -> Report:
    original = shown["original"].original
    computed = dict.fromkeys(text for result in shown.values() for text in result.warnings)
    return Report(
        health=health(
            data.rows,
            torch.from_numpy(data.table.cause),
            sizes_of(data.grouping.group, data.grouping.count),
        ),
        settings=_settings(plan, request, data),
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
