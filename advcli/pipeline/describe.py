"""Builds the report of a data set and its advantages."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch

from advcli.dataset import remarks
from advcli.dataset.grouping import sizes_of
from advcli.dataset.load import DataSet, by_unit
from advcli.engine.plan import Plan
from advcli.pipeline.request import Request
from advcli.records.results.report import Column, Health, Report
from advcli.records.settings import AdvantageTable
from advcli.records.version import __version__
from advcli.shaping.spec import described
from advcli.stats import comparison
from advcli.stats.health import health


def report_of(request: Request, data: DataSet, plan: Plan, shown: Mapping[str, AdvantageTable]) -> Report:
    """The report of a data set.

    Args:
        request: the request.
        data: the data set.
        plan: the settings of the processed advantage.
        shown: heading → advantages of each column; "original" is one of them.
    """
    original = shown["original"].original
    computed = dict.fromkeys(text for result in shown.values() for text in result.warnings)
    unit, inner = by_unit(data, shown, plan.unit.reward)
    return Report(
        health=health_of(data, unit),
        settings=settings_of(plan, request, data),
        left_out=next((result.left_out for result in shown.values() if result.left_out), ()),
        columns=_compared(unit, inner),
        notes=(*remarks.notes(data, original, plan.rule), *device(request, data, plan)),
        warnings=(
            *request.warnings,
            *remarks.warnings(data, original, plan.rule, weights=request.columns.weights),
            *remarks.unit(data, plan.unit, shown),
            *computed,
        ),
    )


def device(request: Request, data: DataSet, plan: Plan) -> Iterator[str]:
    """Why the CPU was taken, where the user asked for the quicker device of two."""
    why = plan.on_cpu(data.columns()) if "device" in request.origin else None
    if why is not None:
        yield f"--device auto takes the CPU: {why}"


def _compared(data: DataSet, shown: Mapping[str, AdvantageTable]) -> tuple[Column, ...]:
    """Each column compared with the first; columns equal to it are computed only once."""
    (label, first), *others = shown.items()
    columns = [comparison.compare(label, data.rows, first.original, first)]
    for label, result in others:
        columns.append(
            replace(columns[0], label=label)
            if comparison.equal(result, first)
            else comparison.compare(label, data.rows, first.original, result)
        )
    return tuple(columns)


def settings_of(plan: Plan, request: Request, data: DataSet) -> dict[str, Any]:
    """The settings in effect, including defaults."""
    choice, several = data.table.choice, data.rollouts is not None
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
        "rollout": list(choice.rollout),
        "turn": choice.turn,
        "count": plan.unit.counts if several else None,
        "rollout_reward": plan.unit.reward if several else None,
        "dedup": choice.dedup,
        "group_by": list(data.grouping.columns),
        "n": request.columns.n,
        "reward": dict(choice.rewards),
        "step": choice.step,
        "length": choice.length,
        "baseline": choice.role("baselines"),
        "kl": choice.kl_column,
        "tokens": {role: column for role, column in choice.tokens if role != "token_kl"},
        "device": plan.device.type,
        "dtype": str(plan.dtype).removeprefix("torch."),
    }


def health_of(data: DataSet, unit: DataSet | None = None) -> Health:
    """Counts of the groups before any estimator.

    Args:
        data: the data set.
        unit: the data set with one row per counted unit, from `dataset.by_unit`; None to count rows.
    """
    counted = data if unit is None else unit
    sizes = sizes_of(counted.grouping.group, counted.grouping.count)
    result = health(counted.rows, torch.from_numpy(counted.table.cause), sizes)
    return result if counted is data else replace(result, rows=data.rows.used, rollouts=result.rows)
