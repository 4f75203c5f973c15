"""Reports as strict JSON: null where undefined, never NaN."""

import json
import math
from dataclasses import fields

import pytest

from advcli.records.report import Column, Figures, Health, Report
from advcli.render import jsonout

NAMES = [field.name for field in fields(Figures)]
VALUES = dict(zip(NAMES, [7, 0.1, math.nan, -math.inf, *[0.25] * 10], strict=False))
HEALTH = Health(9, 3, {4: 2, 1: 1}, 1, 1, 0, 1, 2, {"null": 1, "NaN": 1, "inf": 0})
SETTINGS = {"estimator": "grpo", "formula": "r − m", "eps": math.nan, "reward": {"é": 1.0}, "step": None}


def column(label, kept_rows, **more):
    return Column(label, Figures(**VALUES | more), kept_rows, 3, 0, 2, 1, 0.5, math.nan, 1.0, 0.75, 2)


def report(*columns):
    return Report(HEALTH, SETTINGS, columns, notes=("said",), warnings=("looks wrong",))


def strict(text):
    assert "\n" not in text
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} in strict JSON"))


def test_compute():
    body = strict(jsonout.compute(report(column("original", 7), column("processed", 5))))
    assert body == {
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
        },
    }


def test_compare():
    body = strict(jsonout.compare(report(column("original", 7), column("kept", 5), column("rloo", 7))))
    assert list(body["columns"]) == ["original", "kept", "rloo"]
    assert body["kept_rows"] == 5
    distance = {
        "kept_rows": 7,
        "kept_groups": 3,
        "below_two": 0,
        "dead_groups": 1,
        "live_groups": 2,
        "sign_changes": 0.5,
        "mean_abs_ratio": None,
        "rank_agreement": 1.0,
        "correlation": 0.75,
        "phantoms": 2,
    }
    rloo = body["columns"]["rloo"]
    assert {name: rloo[name] for name in distance} == distance
    assert rloo.keys() == {*NAMES[:14], *distance}
    assert {name: value for name, value in body.items() if name != "columns"} == {
        name: value
        for name, value in strict(jsonout.compute(report(column("original", 7), column("kept", 5)))).items()
        if name not in ("original", "processed")
    }


def test_token_figures_are_there_with_lengths_only():
    with_tokens = column("original", 7, token_mean=0.5, token_std=math.nan)
    body = strict(jsonout.compute(report(with_tokens, column("processed", 5))))
    assert (body["original"]["token_mean"], body["original"]["token_std"]) == (0.5, None)
    assert "token_mean" not in body["processed"]
