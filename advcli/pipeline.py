"""The order of the steps: read, group, compute, write, describe."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from advcli import __version__, grouping
from advcli.advantages import Plan, run
from advcli.io import metrics as metrics_file
from advcli.io.parquet import to_metadata
from advcli.io.read import read
from advcli.io.sources import opened
from advcli.io.write import COLUMNS, added_columns, targets, write
from advcli.records import (
    AdvantageTable,
    Column,
    ColumnOptions,
    Grouping,
    Report,
    RewardTable,
    Rows,
    Settings,
)
from advcli.segments import Segments
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
    """

    inputs: tuple[str, ...]
    settings: Settings
    columns: ColumnOptions
    skip_bad_rows: bool = False
    warnings: tuple[str, ...] = ()


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


@dataclass(frozen=True)
class _Data:
    """A data set that has been read and grouped."""

    table: RewardTable
    grouping: Grouping
    rows: Rows

    def columns(self) -> dict[str, Tensor]:
        """What an estimator may need, as far as the data set has it."""
        table = self.table
        columns = {"rewards": self.rows.rewards, "group": self.rows.group, "step": self.rows.step}
        given = {"lengths": table.length, "baselines": table.baseline, "parts": table.parts}
        columns |= {name: torch.from_numpy(values) for name, values in given.items() if values is not None}
        if table.parts is not None:
            columns["weights"] = torch.tensor(
                [weight for _, weight in table.choice.rewards], dtype=torch.float64
            )
        return columns


def compute(request: Request, output: Output) -> Report:
    """Annotate files.

    Returns:
        The report, with the columns "original" and "processed".
    """
    plan = Plan.of(request.settings)
    with opened(request.inputs) as sources:
        goals = targets(sources, output.out, force=output.force)
        if output.metrics:
            metrics_file.check(output.metrics, sources, force=output.force)
        data = _load(sources, request, refused=[output.prefix + name for name in COLUMNS])
        result = run(plan, data.columns())
        settings = _settings(plan, request, data)
        write(
            sources,
            goals,
            data.table,
            added_columns(output.prefix, result, data.grouping),
            about=to_metadata(output.prefix, settings),
            force=output.force,
        )
        written = tuple(f"wrote {goal.path}" for goal in goals if goal.path)
    if output.metrics:
        _write_metrics(output, data, result)
        written = (*written, f"wrote {output.metrics}")
    shown = (("original", _unprocessed(result)), ("processed", result))
    columns = tuple(comparison.compare(label, data.rows, result.original, table) for label, table in shown)
    notes, warnings = _about_rule(plan, data)
    return _report(request, data, settings, columns, (*warnings, *result.warnings), notes=(*notes, *written))


def compare(request: Request, versus: Sequence[tuple[str, Settings]] = ()) -> Report:
    """Describe original, kept, and kept + recomputed side by side, and other estimators after them.

    Args:
        request: what to do; its `compute_new_adv` is not used, both ways are shown.
        versus: heading and settings of each further column.
    """
    base = replace(request.settings, compute_new_adv=False)
    plans = [("kept", Plan.of(base))]
    if plans[0][1].entry.recompute:
        plans.append(("kept + recomputed", Plan.of(replace(base, compute_new_adv=True))))
    plans += [(label, Plan.of(settings)) for label, settings in versus]
    with opened(request.inputs) as sources:
        data = _load(sources, request)
    results = [(label, run(plan, data.columns())) for label, plan in plans]
    original = results[0][1].original
    shown = [("original", _unprocessed(results[0][1])), *results]
    columns = tuple(comparison.compare(label, data.rows, original, table) for label, table in shown)
    warnings = [text for _, result in results for text in result.warnings if "no effect" not in text]
    notes: tuple[str, ...] = ()
    if base.keep_pos == base.keep_neg == 1 and not versus:
        notes = (
            "both keep ratios are 1, so the columns agree; try --keep-pos 0.7 --keep-neg 0.5, or --vs rloo",
        )
    about, odd = _about_rule(plans[0][1], data)
    return _report(
        request,
        data,
        _settings(plans[0][1], request, data),
        columns,
        (*odd, *warnings),
        notes=(*about, *notes),
    )


def _unprocessed(result: AdvantageTable) -> AdvantageTable:
    """The same advantages before any keep ratio."""
    return replace(result, processed=result.original, kept=~result.original.isnan())


def _load(sources: Sequence[Any], request: Request, refused: Sequence[str] = ()) -> _Data:
    table = read(
        sources,
        request.columns,
        refused=refused,
        skip_bad_rows=request.skip_bad_rows,
        refuse_missing=request.settings.missing == "error",
    )
    expected = request.settings.singleton not in ("null", "error")
    groups = grouping.group(table, request.columns.n, singletons_expected=expected)
    rewards = torch.from_numpy(table.rewards)
    rows = Rows(
        rewards=rewards,
        group=torch.from_numpy(groups.group),
        count=groups.count,
        step=torch.zeros(len(rewards), dtype=torch.int64)
        if table.step is None
        else torch.from_numpy(table.step),
        lengths=None if table.length is None else torch.from_numpy(table.length),
    )
    return _Data(table, groups, rows)


def _settings(plan: Plan, request: Request, data: _Data) -> dict[str, Any]:
    """The settings as they were used, defaults filled in."""
    choice = data.table.choice
    return {
        "version": __version__,
        "estimator": plan.entry.name,
        "formula": plan.entry.formula,
        "scale": plan.entry.default_scale if plan.rule else plan.knobs.get("scale"),
        "knobs": dict(plan.knobs),
        "like": plan.rule and f"{plan.rule.framework} {plan.rule.versions}".strip(),
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


def _report(
    request: Request,
    data: _Data,
    settings: dict[str, Any],
    columns: tuple[Column, ...],
    warnings: tuple[str, ...],
    *,
    notes: tuple[str, ...],
) -> Report:
    sizes = grouping.sizes_of(data.grouping.group, data.grouping.count)
    cause = torch.from_numpy(data.table.cause)
    found = health(data.rows, cause, sizes)
    reused = grouping.reused_keys(data.table)
    lint = (
        (f"{reused:,} prompts are met at several steps: each step is a group of its own",) if reused else ()
    )
    return Report(
        health=found,
        settings=settings,
        columns=columns,
        notes=(_chosen(data), *lint, *notes),
        warnings=(*request.warnings, *data.table.warnings, *data.grouping.warnings, *warnings),
    )


def _chosen(data: _Data) -> str:
    """What was read as what, in one line."""
    choice = data.table.choice
    rewards = " + ".join(
        f"'{name}'" if weight == 1 else f"{weight:g} × '{name}'" for name, weight in choice.rewards
    )
    parts = [f"format {choice.format}", f"groups: {data.grouping.rule}", f"reward: {rewards}"]
    parts += [f"step: '{choice.step}'"] if choice.step else []
    parts += [f"length: '{choice.length}'"] if choice.length else []
    parts += [f"baseline: '{choice.baseline}'"] if choice.baseline else []
    return ", ".join(parts)


def _about_rule(plan: Plan, data: _Data) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a framework did that a dump cannot tell: notes and warnings."""
    rule = plan.rule
    if rule is None:
        return (), ()
    notes = (
        (f"like {rule.framework}: not in a dump, so not replayed: {', '.join(rule.lost)}",)
        if rule.lost
        else ()
    )
    if not rule.positional or Segments.of(data.rows.group.clamp(min=0), data.grouping.count).width:
        return notes, ()
    text = (
        f"{rule.framework} groups rows by position, and the groups of this dump are not contiguous blocks of one size: "
        "what was trained on may differ"
    )
    return notes, (text,)


def _write_metrics(output: Output, data: _Data, result: AdvantageTable) -> None:
    names = data.table.step_names if data.table.step is not None else None
    lines = metrics.per_step(data.rows, result, names)
    if output.metrics:
        metrics_file.write(output.metrics, lines, force=output.force)
