"""Results as strict JSON, from records made by hand: null where undefined, never NaN."""

import json
import math
from dataclasses import fields, replace

import pytest
from records_inspect import FACTS, FILES, PARTS

from advcli.records.results.compare import CompareResult
from advcli.records.results.compute import ComputeResult
from advcli.records.results.inspect import InspectResult
from advcli.records.results.inspection import Checked, Detail, Inspection
from advcli.records.results.report import Column, Figures, Health, Report
from advcli.records.results.result import dumped

NAMES = [field.name for field in fields(Figures)]
VALUES = dict(zip(NAMES, [7, 0.1, math.nan, -math.inf, *[0.25] * 10], strict=False))
HEALTH = Health(9, 3, {4: 2, 1: 1}, 1, 1, 0, 1, 2, {"null": 1, "NaN": 1, "inf": 0})
SETTINGS = {"estimator": "grpo", "formula": "r − m", "eps": math.nan, "reward": {"é": 1.0}, "step": None}


def column(label, kept_rows, **more):
    return Column(label, Figures(**VALUES | more), kept_rows, 3, 0, 1, 2, 0.5, math.nan, 1.0, 0.875, 2)


def report(*columns):
    return Report(HEALTH, SETTINGS, columns, notes=("said",), warnings=("looks wrong",))


def strict(text):
    assert "\n" not in text
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} in strict JSON"))


def test_compute():
    body = strict(dumped(ComputeResult.of(report(column("original", 7), column("processed", 5)))))
    assert body == {
        "schema": "advcli/compute/1",
        "rows": 9,
        "rollouts": None,
        "groups": 3,
        "kept_rows": 5,
        "dead_groups": 1,
        "singletons": 1,
        "missing": 2,
        "missing_by_cause": {"null": 1, "NaN": 1, "inf": 0},
        "group_sizes": {"4": 2, "1": 1},
        "left_out": [],
        "warnings": ["looks wrong"],
        "settings": {
            "estimator": "grpo",
            "formula": "r − m",
            "eps": None,
            "reward": {"é": 1.0},
            "step": None,
        },
        "original": body["processed"],
        "processed": {
            **dict.fromkeys(NAMES[4:14], 0.25),
            "count": 7,
            "mean": 0.1,
            "std": None,
            "min": None,
            "token_mean": None,
            "token_std": None,
        },
        "weighted": None,
        "written": [],
    }


def test_compare():
    body = strict(
        dumped(CompareResult.of(report(column("original", 7), column("kept", 5), column("rloo", 7))))
    )
    assert list(body["columns"]) == ["original", "kept", "rloo"]
    assert body["kept_rows"] == 5
    distance = {
        "kept_rows": 7,
        "kept_groups": 3,
        "below_two": 0,
        "live_groups": 1,
        "dead_groups": 2,
        "sign_changes": 0.5,
        "mean_abs_ratio": None,
        "rank_agreement": 1.0,
        "correlation": 0.875,
        "phantoms": 2,
    }
    rloo = body["columns"]["rloo"]
    assert {name: rloo[name] for name in distance} == distance
    assert rloo.keys() == {*NAMES, *distance}
    assert {name: value for name, value in body.items() if name != "columns"} == {
        name: value
        for name, value in strict(
            dumped(ComputeResult.of(report(column("original", 7), column("kept", 5))))
        ).items()
        if name not in ("original", "processed", "weighted", "written")
    } | {"schema": "advcli/compare/1"}


def test_token_figures_are_null_without_lengths():
    with_tokens = column("original", 7, token_mean=0.5, token_std=math.nan)
    body = strict(dumped(ComputeResult.of(report(with_tokens, column("processed", 5)))))
    assert (body["original"]["token_mean"], body["original"]["token_std"]) == (0.5, None)
    assert body["processed"]["token_mean"] is None


def inspected(found, checked=()):
    return strict(dumped(InspectResult.of(found, checked)))


def test_what_pipelines_read():
    found = inspected(Inspection(FILES, FACTS, {"estimator": "grpo"}))
    assert [found[name] for name in ("rows", "groups", "steps", "singletons", "missing", "duplicates")] == [
        *(100, 20, 0),
        *(2, 3, 0),
    ]
    assert (found["dead_groups"], found["dead_groups_all_max"], found["dead_groups_all_min"]) == (8, 4, 1)
    assert (found["format"], found["lint"], found["by"], found["parts"]) == ("generic", [], None, None)
    assert found["group_sizes"] == {"5": 20}
    fitted, unknown = found["rewards"][0]["p_dead"][1:]
    assert fitted == {
        "g": 8,
        "p": 0.25,
        "low": 0.125,
        "high": 0.375,
        "how": "fitted",
        "groups": 2,
        "live_groups": 13.5,
        "rows_saved": -54,
    }
    assert (unknown["g"], unknown["p"], unknown["live_groups"]) == (16, None, None)


def test_undefined_is_null_however_deep():
    line = {"reward": math.nan, "parts": {"a": math.inf}}
    found = inspected(
        Inspection(FILES, FACTS, {}, by="s", split={"x": FACTS}, details=(Detail("t", "rows", (line,)),)),
        [Checked("dead > 1", math.nan, held=False)],
    )
    assert found["details"][0]["lines"] == [{"reward": None, "parts": {"a": None}}]
    assert found["fail_if"] == [{"condition": "dead > 1", "value": None, "held": False}]
    assert found["by"]["values"]["x"]["rows"] == 100


def test_parts():
    found = inspected(Inspection(FILES, replace(FACTS, parts=PARTS), {}))
    assert found["parts"]["parts"][1]["weight"] == 0.5
    assert found["parts"]["collapsed_rows"] == 7
