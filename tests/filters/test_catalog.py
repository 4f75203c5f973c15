"""The table of filters: what its functions take, and what is refused."""

import inspect

import pytest
import torch

from advcli.common.errors import UsageError
from advcli.common.registry import load
from advcli.filters.catalog import FILTERS, WHEN, expression, filter_spec, log_probs
from advcli.records.roles import ROLES

by_name = pytest.mark.parametrize("row", FILTERS, ids=lambda row: row.name)


@by_name
def test_a_row_says_what_its_function_takes(row):
    parameters = inspect.signature(load(row.target)).parameters.values()
    # A filter that tests an expression takes where it holds, in place of the reward.
    taken = ("holds",) if row.tests else row.needs
    if row.weighs:
        taken = ("tokens", *(name for name in row.needs if name == "advantages"))
    if row.by_framework:
        taken = ("correct", "tokens", "step", "advantages")
    assert tuple(p.name for p in parameters if p.kind is not p.KEYWORD_ONLY) == taken
    assert set(row.needs) <= {*ROLES.names(), "advantages"}
    assert row.when == (("after",) if "advantages" in row.needs or row.weighs else WHEN)
    assert "Source" in (inspect.getdoc(load(row.target)) or "")


@pytest.mark.parametrize("row", [row for row in FILTERS if not row.weighs], ids=lambda row: row.name)
def test_nothing_is_written_to_and_no_row_is_no_error(row):
    knobs = {"max": 100.0} if row.name == "truncated" else {}
    filled = {"group": torch.tensor([0, 0, 1]), "step": torch.tensor([0, 0, 0])}
    filled |= {name: torch.tensor([1.0, 0.0, 2.0]) for name in row.needs if name not in filled}
    columns = [filled[name] for name in row.needs]
    before = [column.clone() for column in columns]
    kept = load(row.target)(*columns, **knobs)
    assert (kept.dtype, kept.shape) == (torch.bool, (3,))
    assert all(torch.equal(a, b) for a, b in zip(columns, before, strict=True))
    assert load(row.target)(*(column[:0] for column in columns), **knobs).tolist() == []


def test_a_specification():
    spec = filter_spec("after", "cppo:keep=0.5,over=group")
    assert (spec.name, spec.when, spec.knobs, spec.column) == (
        "cppo",
        "after",
        {"keep": 0.5, "over": "group"},
        None,
    )
    assert str(spec) == "cppo:keep=0.5,over=group"
    assert (
        str(filter_spec("before", "dynamic_sampling:by=mean,column=accuracy"))
        == "dynamic_sampling:column=accuracy,by=mean"
    )
    assert str(filter_spec("before", "pods")) == "pods"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("podz", "unknown filter 'podz'; try pods"),
        ("pods:4", "--before pods:4: '4' is not KEY=VALUE; try --before pods:key=value"),
    ],
)
def test_no_specification(text, message):
    with pytest.raises(UsageError) as caught:
        filter_spec("before", text)
    assert str(caught.value) == message


def test_an_expression_keeps_its_commas_and_is_written_as_it_was_typed():
    spec = filter_spec("before", "where:lag in (1, 2)")
    assert (spec.when, spec.column, spec.knobs, str(spec)) == (
        "before",
        "lag in (1, 2)",
        {},
        "where:lag in (1, 2)",
    )
    assert expression(spec) == "lag in (1, 2)"
    assert expression(filter_spec("before", "dynamic_sampling:column=accuracy")) is None
    with pytest.raises(UsageError, match=r"^--after where:"):
        filter_spec("after", "where:lag <=")


def test_a_value_may_have_an_equals_sign():
    assert filter_spec("after", "cppo:over=a=b").knobs == {"over": "a=b"}


def test_rows_that_a_column_marks_as_truncated():
    spec = filter_spec("before", "truncated:column=tokens,max=512")
    assert (spec.name, spec.column) == ("where", "`tokens` < 512.0")
    spec = filter_spec("before", "truncated:column=finish reason")
    assert (spec.name, str(spec)) == ("where", "truncated:column=finish reason")
    assert spec.column.startswith("`finish reason` not in (")


def test_log_probabilities_are_read_for_what_weighs():
    assert log_probs([filter_spec("after", "cppo"), filter_spec("after", "tis")]) == "filters"
    assert log_probs([filter_spec("after", "cppo")]) == log_probs([]) == ""


@pytest.mark.parametrize(
    ("name", "rewards", "kept"),
    [
        # Half of four; four of six; the four of six that vary most; the groups with 0.9 of 1 / √2 + 0.1 / √2.
        ("cppo", [0.1, -2.0, 1.0, 0.0], [0, 1, 1, 0]),
        ("gfpo", [1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1, 1, 1, 1, 0, 0]),
        ("pods", [0.0, 0.1, 0.5, 0.5, 0.9, 1.0], [1, 1, 0, 0, 1, 1]),
        ("ragen", [0.0, 1.0, 0.4, 0.5], [1, 1, 0, 0]),
    ],
)
def test_what_is_kept_without_a_knob(name, rewards, kept):
    zero = torch.zeros(len(rewards), dtype=torch.int64)
    values = torch.tensor(rewards, dtype=torch.float64)
    columns = {"rewards": values, "advantages": values, "lengths": torch.arange(len(rewards)) + 1.0}
    columns |= {"group": torch.arange(4) // 2 if name == "ragen" else zero, "step": zero}
    row = FILTERS[name]
    assert load(row.target)(*(columns[need] for need in row.needs)).tolist() == [bool(k) for k in kept]
