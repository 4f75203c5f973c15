"""From what the user types to steps, and back."""

import pytest

from advcli.common.errors import UsageError
from advcli.shaping.catalog import SHAPINGS
from advcli.shaping.spec import (
    described,
    formula,
    measures,
    needs,
    said,
    shape_spec,
    spec_of,
    specs_of,
    typed,
)


def test_commas_in_quotes_and_brackets_belong_to_the_value():
    step = shape_spec("stop_properly:coef=0.5,truncated=reason in ('length', \"max,tokens\")")
    assert step.columns == {"truncated": "reason in ('length', \"max,tokens\")"}
    assert step.knobs == {"coef": 0.5}


@pytest.mark.parametrize("row", SHAPINGS, ids=lambda row: row.name)
def test_what_is_typed_is_read_again(row):
    given = dict.fromkeys(row.required, 0.5) | {one.name: "col" for one in row.inputs}
    if "max" in given and "buffer" in given:
        given |= {"max": 2.0}
    step = spec_of(row, given)
    assert shape_spec(typed(step)) == step
    assert described([step])[row.name]["formula"]


def test_a_column_is_needed_unless_its_weight_is_0():
    with pytest.raises(
        UsageError, match="needs the input tokens of each row: input_tokens; try --shape linear:inp"
    ):
        shape_spec("linear")
    step = shape_spec("linear:input=0,turns=0")
    assert needs(step) == ("group", "lengths")
    assert needs(shape_spec("linear:input=0,turns=0,output=0")) == ("group",)


def test_a_length_of_its_own_takes_the_place_of_the_length_column():
    step = shape_spec("gr3:length=len(answer)")
    assert needs(step) == ("group",)
    assert measures([step]) == ("len(answer)",)


def test_steps_of_a_mapping_are_in_the_order_of_the_catalog():
    found = specs_of({"clip": {"min": 0, "max": 1}, "gr3": {}, "overlong": {"max": 10, "buffer": 5}})
    assert [step.name for step in found] == ["overlong", "gr3", "clip"]
    assert [step.name for step in specs_of(["clip:min=0,max=1", "gr3"])] == ["clip", "gr3"]


def test_two_steps_of_one_kind_are_both_described():
    found = described(specs_of(["r + 1", "difficulty", "r * 2"]))
    assert {name: one["shapes"] for name, one in found.items()} == {
        "expr": "reward",
        "expr 2": "reward",
        "difficulty": "advantage",
    }
    assert [found["expr"]["formula"], found["expr 2"]["formula"]] == ["r + 1", "r * 2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gr4", "unknown shaper 'gr4'; try gr3"),
        ("r:alpha=1", "--shape"),
        ("stop_properly:coef=1", "; try --shape stop_properly:truncated=COLUMN"),
        ("linear", "; try --shape linear:input_tokens=COLUMN, or input=0"),
        ("gr3:alpha", "--shape gr3:alpha: 'alpha' is not KEY=VALUE; try --shape gr3:alpha=…,length=…"),
        ("gr3:beta=1", "--shape gr3 has no 'beta'; try alpha or length"),
        ("gr3:alpha=x", "--shape gr3: alpha is 'x', expected a number"),
        ("cosine", "--shape cosine lacks max; try --shape cosine:max=…"),
        ("cosine:max=0", "--shape cosine: max is 0, expected more than 0"),
        ("slack:quantile=2", "quantile is 2, expected 0 to 1"),
        ("gr3:length=1 +", "--shape gr3: length"),
    ],
)
def test_what_makes_no_sense(text, message):
    with pytest.raises(UsageError) as caught:
        shape_spec(text)
    assert message in str(caught.value)
    # What is to be typed is at the end.
    assert str(caught.value).endswith(message) or not message.startswith("; try")


def test_one_step_as_text():
    assert specs_of("clip:min=0,max=1") == specs_of(["clip:min=0,max=1"])


def test_an_expression_is_typed_as_it_is():
    assert typed(shape_spec("r - 0.1 * len")) == "r - 0.1 * len"


def test_what_messages_call_a_step_and_what_it_needs():
    steps = specs_of(["r - len", "r + 1", "gr3", "clip:min=0,max=1"])
    assert [said(step) for step in steps] == ["--shape", "--shape", "--shape gr3", "--clip-reward"]
    assert [needs(step) for step in steps] == [("group", "lengths"), ("group",), ("group", "lengths"), ()]


def test_signs_are_minus_signs():
    assert formula(specs_of("affine:scale=2,shift=-0.5")[0]) == "2 · (r − 0.5)"
    assert formula(specs_of("affine:scale=2,shift=0.5")[0]) == "2 · (r + 0.5)"
