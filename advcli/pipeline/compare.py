"""`compare`: one data set, several ways side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from advcli.advantages import Plan, run
from advcli.errors import UsageError
from advcli.io.sources import opened
from advcli.pipeline.describe import report_of, unprocessed
from advcli.pipeline.request import Request
from advcli.records import Report, Settings


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
    shown = {"original": unprocessed(original), **results}
    report = report_of(request, data, plans["kept"], shown)
    # That recomputing has no effect is no news where every column shows it.
    report = replace(report, warnings=tuple(text for text in report.warnings if "no effect" not in text))
    if base.keep_pos < 1 or base.keep_neg < 1 or base.filters:
        return report
    return replace(
        report, unshown=tuple(variants), notes=(*report.notes, _nothing_filtered(tuple(variants), versus))
    )


def _nothing_filtered(variants: Sequence[str], versus: Mapping[str, Settings] | None) -> str:
    """Why the columns of the kept rows are not shown, and what would make them worth a look."""
    told = f"nothing is filtered, so {' and '.join(variants)} would be as original: not shown"
    other = "rloo" if len(variants) > 1 else "grpo"
    return f"{told}; try --keep-pos 0.7 --keep-neg 0.5" + ("" if versus else f", or --vs {other}")


def _versus(label: str, settings: Settings) -> Plan:
    """Check the settings of a further column; an error says of which."""
    try:
        return Plan.of(settings)
    except UsageError as error:
        raise UsageError(f"--vs {label}: {error.message}", hint=error.hint) from error
