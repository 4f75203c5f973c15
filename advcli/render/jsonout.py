"""A report as one strict JSON object: null where undefined, never NaN."""

import json
import math
from dataclasses import asdict
from typing import Any

from advcli.records import Column, Report


def compute(report: Report) -> str:
    """The JSON of `advcli compute`: counts, settings, and the figures of both columns."""
    original, processed = report.columns
    body = {**_head(report, processed), "original": _figures(original), "processed": _figures(processed)}
    return dumped(body)


def compare(report: Report) -> str:
    """The JSON of `advcli compare`: counts, settings, and per column its figures and its distance."""
    columns = {column.label: {**_figures(column), **_distance(column)} for column in report.columns}
    return dumped({**_head(report, report.columns[1]), "columns": columns})


def _head(report: Report, processed: Column) -> dict[str, Any]:
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


def _figures(column: Column) -> dict[str, Any]:
    return {name: value for name, value in asdict(column.figures).items() if value is not None}


def _distance(column: Column) -> dict[str, Any]:
    return {name: value for name, value in asdict(column).items() if name not in ("label", "figures")}


def dumped(body: dict[str, Any]) -> str:
    """One strict JSON object."""
    return json.dumps(_strict(body), ensure_ascii=False, allow_nan=False)


def _strict(value: Any) -> Any:  # noqa: ANN401  any JSON value
    if isinstance(value, dict):
        return {key: _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
