"""A report as one strict JSON object: null where undefined, never NaN."""

import json
import math
from dataclasses import asdict
from typing import Any

from advcli.records.match import Match
from advcli.records.report import Column, Figures, Report
from advcli.wording import shown_json

_FIT = (
    "framework",
    "version",
    "estimator",
    "scale",
    "ddof",
    "eps",
    "grouping",
    "max_abs_diff",
    "share_matched",
)


def compute(report: Report) -> str:
    """The JSON of `advcli compute`: counts, settings, and the figures of both columns."""
    original, processed = report.columns
    body = {**head(report, processed), "original": figures(original), "processed": figures(processed)}
    return dumped(body)


def compare(report: Report) -> str:
    """The JSON of `advcli compare`: counts, settings, and per column its figures and its distance."""
    columns = {column.label: {**figures(column), **_distance(column)} for column in report.columns}
    return dumped({**head(report, report.columns[1]), "columns": columns})


def match(outcome: Match) -> str:
    """The JSON of `advcli match`: what made the log, or where it breaks."""
    body = asdict(outcome)
    body["best"] = body["best"] and {name: body["best"][name] for name in _FIT}
    for name in ("indistinguishable", "others"):
        body[name] = [
            {key: fit[key] for key in (*_FIT, *(["reason"] if fit["reason"] else []))} for fit in body[name]
        ]
    return dumped(body)


def head(report: Report, processed: Column) -> dict[str, Any]:
    """Counts and settings of a data set."""
    health = report.health
    return {
        "rows": health.rows,
        "groups": health.groups,
        "kept_rows": processed.kept_rows,
        "dead_groups": health.dead_groups,
        "singletons": health.singletons,
        "missing": health.missing,
        "missing_by_cause": dict(health.missing_by_cause),
        "group_sizes": {str(size): many for size, many in health.sizes.items()},
        "left_out": [
            {"when": part.spec.when, "filter": str(part.spec), "rows": part.rows, "groups": part.groups}
            | ({} if part.tokens is None else {"tokens": part.tokens})
            for part in report.left_out
        ],
        "warnings": list(report.warnings),
        "settings": dict(report.settings),
    }


def figures(column: Column) -> dict[str, Any]:
    """The statistics of a column; those over tokens only with lengths."""
    return known(column.figures)


def known(figures: Figures) -> dict[str, Any]:
    """Statistics by name, without those that were not asked for."""
    return {name: value for name, value in asdict(figures).items() if value is not None}


def _distance(column: Column) -> dict[str, Any]:
    return {name: value for name, value in asdict(column).items() if name not in ("label", "figures")}


def dumped(body: dict[str, Any]) -> str:
    """Any values as one strict JSON object: null for NaN and ±inf."""
    return shown_json(json.dumps(strict(body), ensure_ascii=False, allow_nan=False))


def strict(value: Any) -> Any:  # noqa: ANN401  any JSON value
    """A value without NaN and ±inf, which JSON does not have: null instead."""
    if isinstance(value, dict):
        return {key: strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [strict(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
