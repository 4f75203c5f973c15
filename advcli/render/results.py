"""From what the pipeline computed to the result of the command, which `--json` prints and Python returns."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, cast

from advcli.records.results.between import Between, Side
from advcli.records.results.commands import (
    BetweenResult,
    BetweenSide,
    ComparedColumn,
    CompareResult,
    ComputeResult,
    Filtered,
    InspectedRows,
    InspectResult,
    MatchResult,
    SplitBy,
    SweepPoint,
    SweepResult,
    UsedColumns,
    UsedSettings,
)
from advcli.records.results.inspection import Checked, Facts, Inspection
from advcli.records.results.match import Match
from advcli.records.results.prompts import PromptRun, Prompts, PromptsResult, StepMean
from advcli.records.results.report import Column, Report
from advcli.records.results.select import Selection, SelectResult
from advcli.records.results.sweep import Point, Sweep
from advcli.records.results.verify import Rate, Verdicts, Verify, VerifyResult
from advcli.records.settings import LeftOut


def compute(report: Report) -> ComputeResult:
    """The result of `compute`: counts, settings, and the figures of both columns."""
    original, processed, *weighted = report.columns
    return ComputeResult(
        **_counts(report, processed),
        original=original.figures,
        processed=processed.figures,
        weighted=weighted[0].figures if weighted else None,
        written=report.written,
    )


def compare(report: Report) -> CompareResult:
    """The result of `compare`: counts, settings, and of each column its figures and its distance."""
    columns = {column.label: _compared(column) for column in report.columns}
    return CompareResult(**_counts(report, report.columns[1]), columns=columns)


def match(found: Match) -> MatchResult:
    """The result of `match`: which rules fit the log, or where it breaks."""
    return MatchResult(**_values(found))


def sweep(found: Sweep) -> SweepResult:
    """The result of `sweep`: counts, and the settings and figures of each point."""
    health = found.health
    return SweepResult(
        rows=health.rows,
        groups=health.groups,
        dead_groups=health.dead_groups,
        warnings=found.warnings,
        points=tuple(map(_point, found.points)),
    )


def between(found: Between) -> BetweenResult:
    """The result of `compare --between`; its prompts are those that changed most."""
    given = _values(found)
    same = {
        name: given[name] for name in ("coverage", "paired", "runs", "changed", "steps", "rows", "warnings")
    }
    return BetweenResult(a=_side(found.a), b=_side(found.b), **same)


def inspect(found: Inspection, checked: Sequence[Checked] = ()) -> InspectResult:
    """The result of `inspect`.

    Args:
        found: what was found.
        checked: the conditions of `--fail-if`.
    """
    files = found.files
    split = {value: InspectedRows(**_facts(part)) for value, part in found.split.items()}
    counted = _facts(found.facts)
    return InspectResult(
        **{**counted, **({"rows": found.turns.rows} if found.turns else {})},
        format=files.format,
        files=files.names,
        columns=cast("UsedColumns", files.columns),
        group_rule=files.group_rule,
        lint=files.lint,
        duplicates=files.duplicates,
        settings=cast("UsedSettings", found.settings),
        rollouts=found.turns,
        dead_causes=found.causes,
        off_policy=found.off_policy,
        by=None if found.by is None else SplitBy(found.by, split),
        details=found.details,
        fail_if=tuple(checked),
    )


def prompts(found: Prompts) -> PromptsResult:
    """The result of `prompts`: the figures over all prompts, and those that are shown one by one."""
    return PromptsResult(
        rows=found.health.rows,
        prompts=len(found.table["prompt"]),
        steps=len(found.steps),
        threshold=found.threshold,
        length_unit=found.length_unit,
        mean_over_rows=found.over_rows,
        mean_over_prompts=found.over_prompts,
        pass_at=found.pass_at,
        fdr=found.fdr,
        states=found.states,
        bands=found.bands,
        shown=tuple(_prompt(found, place) for place in found.order),
        warnings=found.warnings,
    )


def verify(found: Verify) -> VerifyResult:
    """The result of `verify`: how far two verifiers agree, or what one of them shows alone."""
    return VerifyResult(**{field.name: getattr(found, field.name) for field in fields(Verdicts)})


def select(found: Selection, kind: str, written: str) -> SelectResult:
    """The result of `select`.

    Args:
        found: what was selected.
        kind: "sft", "dpo" or "prompts".
        written: the file that was written.
    """
    counts = {name: getattr(found, name) for name in ("prompts", "used", "empty", "warnings")}
    return SelectResult(kind=kind, written=written, records=len(found.records), **counts)


def _prompt(found: Prompts, place: int) -> PromptRun:
    cells = {name: plain_cell(values[place]) for name, values in found.table.items()}
    rates = {k: Rate(*(cells.pop(f"pass@{k}{end}") for end in ("", "_low", "_high"))) for k in found.pass_at}
    curve = tuple(StepMean(found.steps[at], mean) for at, mean in found.curves[place])
    lengths: dict[str, float | None] = dict.fromkeys(("length", "length_right", "length_wrong"))
    return PromptRun(**{**lengths, **cells}, pass_at=rates, per_step=curve)


def plain_cell(value: Any) -> Any:  # noqa: ANN401  a number of numpy or a text
    """A cell of a table as Python's own type."""
    return value.item() if hasattr(value, "item") else value


def _values(record: Any) -> dict[str, Any]:  # noqa: ANN401  any record
    """Field → value, one level deep."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _counts(report: Report, processed: Column) -> dict[str, Any]:
    health = report.health
    return {
        "rows": health.rows,
        "rollouts": health.rollouts,
        "groups": health.groups,
        "kept_rows": processed.kept_rows,
        "dead_groups": health.dead_groups,
        "singletons": health.singletons,
        "missing": health.missing,
        "missing_by_cause": health.missing_by_cause,
        "group_sizes": health.sizes,
        "left_out": tuple(map(_filtered, report.left_out)),
        "warnings": report.warnings,
        "settings": report.settings,
    }


def _filtered(part: LeftOut) -> Filtered:
    return Filtered(
        when=part.spec.when, filter=str(part.spec), rows=part.rows, groups=part.groups, tokens=part.tokens
    )


def _compared(column: Column) -> ComparedColumn:
    distance = {name: value for name, value in _values(column).items() if name not in ("label", "figures")}
    return ComparedColumn(**_values(column.figures), **distance)


def _point(point: Point) -> SweepPoint:
    values: dict[str, Any] = {**point.settings, **point.figures()}
    return SweepPoint(**values)


def _side(side: Side) -> BetweenSide:
    original, processed = side.report.columns[0], side.report.columns[-1]
    return BetweenSide(
        **_counts(side.report, processed),
        input=side.name,
        steps=side.steps,
        runs=side.runs if len(side.runs) > 1 else (),
        live_groups=processed.live_groups,
        reward=side.rewards,
        original=original.figures,
        processed=processed.figures,
    )


def _facts(facts: Facts) -> dict[str, Any]:
    signal = facts.signal
    return {
        "rows": facts.rows,
        "groups": facts.groups,
        "steps": facts.steps,
        "group_sizes": facts.sizes,
        "singletons": signal.singletons,
        "dead_groups": signal.dead_groups,
        "dead_groups_all_max": signal.dead_groups_all_max,
        "dead_groups_all_min": signal.dead_groups_all_min,
        "near_dead_groups": signal.near_dead_groups,
        "live_groups": signal.live_groups,
        "live_rows": signal.live_rows,
        "missing": signal.missing,
        "missing_by_cause": signal.missing_by_cause,
        "mean_abs_adv": facts.mean_abs_adv,
        "max_abs_adv": facts.max_abs_adv,
        "effective_rows": facts.effective_rows,
        "rewards": facts.rewards,
        "phantoms": facts.phantoms,
        "constant_outcome": facts.constant_outcome,
        "parts": facts.parts,
        "length": facts.length,
        "per_step": facts.per_step,
    }
