"""The order of the steps: read, group, compute, write, describe."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

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
from advcli.io.write import COLUMNS, added_columns, targets, write
from advcli.matching import match as matching
from advcli.matching.search import Tell
from advcli.records import AdvantageTable, ColumnOptions, Match, Report, RewardTable, Settings, Source
from advcli.stats import comparison, metrics
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
        data = request.load(sources, refused=[output.prefix + name for name in COLUMNS])
        result = run(plan, data.columns())
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
    results = {label: run(plan, data.columns()) for label, plan in plans.items()}
    shown = {"original": _unprocessed(results["kept"]), **results}
    report = _report(request, data, plans["kept"], shown)
    if versus or base.keep_pos < 1 or base.keep_neg < 1:
        return report
    # That recomputing has no effect is no news where every column shows it.
    other = "rloo" if recomputed else "grpo"
    hint = f"both keep ratios are 1, so the columns agree; try --keep-pos 0.7 --keep-neg 0.5, or --vs {other}"
    return replace(
        report,
        notes=(*report.notes, hint),
        warnings=tuple(text for text in report.warnings if "no effect" not in text),
    )


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
    return replace(result, processed=result.original, kept=~result.original.isnan(), warnings=())


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
        "missing": plan.settings.missing,
        "singleton": plan.settings.singleton,
        "format": choice.format,
        "group_by": list(data.grouping.columns),
        "n": request.columns.n,
        "reward": dict(choice.rewards),
        "step": choice.step,
        "length": choice.length,
        "baseline": choice.baseline,
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
