"""The table of filters: what its functions take, and what is refused."""

import inspect

import pytest
import torch

from advcli.errors import UsageError
from advcli.estimators.catalog import COLUMNS
from advcli.filters.catalog import FILTERS, WHEN, filter_spec
from advcli.registry import load

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
    assert set(row.needs) <= {*COLUMNS.names(), "advantages"}
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
