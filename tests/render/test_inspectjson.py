"""An inspection as JSON, from records made by hand."""

import json
import math
from dataclasses import replace

import pytest
from records_inspect import FACTS, FILES, PARTS

from advcli.records.inspection import Checked, Detail, Inspection
from advcli.render.inspectjson import inspect


def parsed(found, checked=()):
    return json.loads(
        inspect(found, checked), parse_constant=lambda word: pytest.fail(f"{word} in strict JSON")
    )


def test_what_pipelines_read():
    found = parsed(Inspection(FILES, FACTS, {"estimator": "grpo"}))
    assert [found[name] for name in ("rows", "groups", "steps", "singletons", "missing", "duplicates")] == [
        *(100, 20, 0),
        *(2, 3, 0),
    ]
    assert (found["dead_groups"], found["dead_groups_all_max"], found["dead_groups_all_min"]) == (8, 4, 1)
    assert (found["format"], found["lint"], found["by"], found["parts"]) == ("generic", [], None, None)
    assert found["group_sizes"] == {"5": 20}
    assert found["rewards"][0]["p_dead"][1:] == [
        {
            **{"g": 8, "p": 0.25, "low": 0.125, "high": 0.375, "how": "fitted"},
            **{"groups": 2, "live_groups": 13.5, "rows_saved": -54},
        },
        {
            **{"g": 16, "p": None, "low": None, "high": None, "how": ""},
            **{"groups": 0, "live_groups": None, "rows_saved": -198},
        },
    ]
    assert (found["effective_rows"], found["live_rows"], found["dead_causes"]) == (44, 60, None)


def test_undefined_is_null_however_deep():
    line = {"reward": math.nan, "parts": {"a": math.inf}}
    found = parsed(
        Inspection(FILES, FACTS, {}, by="s", split={"x": FACTS}, details=(Detail("t", "rows", (line,)),)),
        [Checked("dead > 1", math.nan, held=False)],
    )
    assert found["details"][0]["lines"] == [{"reward": None, "parts": {"a": None}}]
    assert found["fail_if"] == [{"condition": "dead > 1", "value": None, "held": False}]
    assert found["by"]["values"]["x"]["rows"] == 100


def test_parts():
    found = parsed(Inspection(FILES, replace(FACTS, parts=PARTS), {}))
    assert found["parts"]["parts"][1]["weight"] == 0.5
    assert found["parts"]["collapsed_rows"] == 7
