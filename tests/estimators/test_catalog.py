"""Each row of the table says what its function takes, and the function says where it comes from."""

import inspect

import numpy as np
import pytest

from advcli import compute_advantages
from advcli.common.registry import load
from advcli.estimators.catalog import ESTIMATORS, SCALES

ROWS = list(ESTIMATORS)
SECTIONS = ("Args", "Returns", "Raises", "Source", "Example")
by_name = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


def parameters(row, *kinds):
    return [p for p in inspect.signature(load(row.target)).parameters.values() if p.kind in kinds]


def test_the_estimators_of_the_contract_and_their_scales():
    scales = {row.name: (row.default_scale, row.recompute) for row in ROWS}
    assert scales.items() >= {"grpo": ("group", True), "rloo": ("none", False)}.items()
    assert [row.name for row in ROWS if row.recompute] == ["grpo"]


@by_name
def test_target_is_an_estimator_of_that_name(row):
    module, _, function = row.target.partition(":")
    assert module.startswith("advcli.estimators.")
    assert load(row.target).__module__ == module
    assert (load(row.target).__name__, function) == (row.name, row.name)


@by_name
def test_data_is_positional_and_is_what_the_row_needs(row):
    positional = parameters(row, inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    assert tuple(p.name for p in positional) == row.needs
    assert all(p.default is p.empty for p in positional)


@by_name
def test_knobs_are_keyword_only_with_the_default_of_the_row(row):
    knobs = parameters(row, inspect.Parameter.KEYWORD_ONLY)
    assert all(p.default is not p.empty for p in knobs)
    assert {p.name: p.default for p in knobs}.get("scale") == row.default_scale
    assert row.default_scale in (None, *SCALES)


@by_name
def test_no_catch_all(row):
    assert not parameters(row, inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@by_name
def test_docstring_has_the_parts_in_order(row):
    lines = [line.strip() for line in inspect.getdoc(load(row.target)).splitlines()]
    places = [lines.index(f"{section}:") for section in SECTIONS]
    assert places == sorted(places)
    assert any(line.startswith(">>> ") for line in lines[places[-1] :])
    assert lines[0].endswith(".")
    described = "\n".join(lines[places[0] : places[1]])
    for parameter in inspect.signature(load(row.target)).parameters:
        assert f"{parameter}: " in described


@by_name
def test_row_is_filled_in(row):
    assert all((row.formula, row.summary, row.source))
    assert "\n" not in row.formula + row.summary + row.source
    assert "arXiv" in row.source or ".py" in row.source


@pytest.mark.parametrize("entry", ESTIMATORS, ids=lambda entry: entry.name)
def test_the_worked_number_is_what_comes_out(entry):
    # The numbers in the catalog were made by hand, or stand in the papers.
    given = dict(entry.worked.inputs)
    rewards = np.array(given.pop("parts", None) or given.pop("rewards"))
    groups = given.pop("group", [0] * len(rewards))
    result = compute_advantages(rewards, groups, estimator=entry.name, **given)
    if result.tokens is None:
        assert result.original.tolist() == pytest.approx(entry.worked.advantages, abs=5.1e-5)
    else:
        assert result.tokens.tolist() == pytest.approx(
            [a for row in entry.worked.advantages for a in row], abs=5.1e-5
        )
