"""`compare`: several estimators or filters on one data set, side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from advcli.common.errors import UsageError
from advcli.engine.plan import Plan
from advcli.engine.run import run
from advcli.pipeline.describe import report_of
from advcli.pipeline.request import Request
from advcli.records.results.report import Report
from advcli.records.settings import Settings


def compare(request: Request, versus: Mapping[str, Settings] | None = None) -> Report:
    """Describe original, kept, and kept + recomputed side by side, and other estimators after them.

    Args:
        request: the request; both ways are shown, whether `compute_new_adv` is set or not.
        versus: heading → settings of each further column.
    """
    plans = plans_of(request, versus)
    with request.opened() as sources:
        data = request.load(sources)
    columns = data.columns()
    plans = {label: plan.at(columns) for label, plan in plans.items()}
    results = {label: run(plan, columns) for label, plan in plans.items()}
    filters = request.settings.filters
    original = run(without_filters(plans["kept"]), columns) if filters else results["kept"]
    shown = {"original": original.unprocessed(), **results}
    return with_hints(report_of(request, data, plans["kept"], shown), request, versus)


def plans_of(request: Request, versus: Mapping[str, Settings] | None) -> dict[str, Plan]:
    """Heading → checked settings of each column except the original; takes the arguments of `compare`."""
    variants = {label: Plan.of(settings) for label, settings in _variants(request).items()}
    return variants | {label: _versus(label, settings) for label, settings in (versus or {}).items()}


def without_filters(plan: Plan) -> Plan:
    """The plan without filters."""
    return replace(plan, settings=replace(plan.settings, filters=()))


def with_hints(report: Report, request: Request, versus: Mapping[str, Settings] | None) -> Report:
    """Drop redundant warnings, and add a hint if the kept columns would equal the original."""
    base, variants = request.settings, _variants(request)
    # Redundant: the columns show that recomputing has no effect.
    report = replace(report, warnings=tuple(text for text in report.warnings if "no effect" not in text))
    if base.keep_pos < 1 or base.keep_neg < 1 or base.filters:
        return report
    return replace(
        report, unshown=tuple(variants), notes=(*report.notes, _nothing_filtered(tuple(variants), versus))
    )


def _variants(request: Request) -> dict[str, Settings]:
    base = replace(request.settings, compute_new_adv=False)
    recomputed = {"kept + recomputed": replace(base, compute_new_adv=True)}
    return {"kept": base, **(recomputed if request.plan().recomputes else {})}


def _nothing_filtered(variants: Sequence[str], versus: Mapping[str, Settings] | None) -> str:
    """The note for hidden columns of kept rows, with a suggestion."""
    note = "no filter set: showing the original only"
    other = "rloo" if len(variants) > 1 else "grpo"
    return f"{note}; try --keep-pos 0.7 --keep-neg 0.5" + ("" if versus else f", or --vs {other}")


def _versus(label: str, settings: Settings) -> Plan:
    """Check the settings of a further column; an error names the column."""
    try:
        return Plan.of(settings)
    except UsageError as error:
        raise UsageError(f"--vs {label}: {error.message}", hint=error.hint) from error
