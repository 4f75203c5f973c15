"""What can be done to a reward: names, knobs, order, words."""

import inspect

import pytest
import torch

from advcli.common.errors import UsageError
from advcli.common.registry import load
from advcli.records.roles import ROLES
from advcli.shaping.catalog import SHAPINGS
from advcli.shaping.spec import described, flag_spec, specs_of


@pytest.mark.parametrize("row", SHAPINGS, ids=lambda row: row.name)
def test_a_row_says_what_its_function_takes(row):
    parameters = inspect.signature(load(row.target)).parameters.values()
    first, *data = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    knobs = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    assert first == ("advantages" if row.after else "rewards")
    assert data == [*row.needs, *(one.name for one in row.inputs)]
    assert {name for name, default in knobs.items() if default is inspect.Parameter.empty} == set(
        row.required
    )
    assert {name: knobs[name] for name in row.optional} == dict(row.optional)
    assert {one.role for one in row.inputs} <= {"", *ROLES.names()}
    assert {one.weight for one in row.inputs} <= {"", *row.optional}
    assert set(row.needs) <= set(ROLES.names())
    assert row.source


# A row of each kind: short and long, right and wrong, near the bounds of the rules and far from them.
REWARDS = torch.tensor([1.0, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1.5, 0], dtype=torch.float64)
GROUP = torch.tensor([0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2])
LENGTH = torch.tensor([100.0, 7000, 9000, 4901.5, 10, 5, 70000, 30, 33, 50, 990, 20], dtype=torch.float64)


@pytest.mark.parametrize("row", SHAPINGS, ids=lambda row: row.name)
def test_a_knob_that_is_not_given_has_its_default(row):
    few = LENGTH.div(1000).floor()
    known = {
        "group": GROUP,
        "rewards": REWARDS,
        "correct": None,
        "input_tokens": LENGTH.flip(0),
        "num_turns": few,
    }
    known |= {"low": torch.ones(12), "entropies": LENGTH / 1e4, "completed": None, "response": few}
    values = REWARDS - 0.4 if row.after else REWARDS
    inputs = [known.get(name, LENGTH) for name in (*row.needs, *(one.name for one in row.inputs))]
    required = dict.fromkeys(row.required, 0.5) | ({"max": 50.0} if "max" in row.required else {})
    function = load(row.target)
    found = function(values, *inputs, **required)
    assert torch.equal(found, function(values, *inputs, **required, **row.optional))
    for name, default in row.optional.items():
        other = {**row.optional, name: 2 * default or 1.0}
        assert not torch.equal(found, function(values, *inputs, **required, **other)), (
            f"{name} changes nothing"
        )


def test_the_order_is_that_of_the_catalog():
    given = {"kl": {"coef": 0.1}, "clip": {"min": 0.0, "max": 1.0}, "affine": {"scale": 2.0, "shift": -0.5}}
    assert [step["formula"] for step in described(specs_of(given)).values()] == [
        "2 · (r − 0.5)",
        "clip(r, 0, 1)",
        "r − 0.1 · KL",
    ]


def test_the_cap_is_told():
    free, capped = (
        described([flag_spec(SHAPINGS["overlong"], f"max=100,buffer=20,factor=0.5,cap={cap}")])
        for cap in ("false", "1")
    )
    assert free["overlong"]["formula"] == "r + min(0, (100 − 20 − L) / 20 · 0.5)"
    assert capped["overlong"]["formula"] == "r + min(0, (100 − 20 − L) / 20 · 0.5), at least −0.5"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("overlong", "max=100", "--overlong lacks buffer; try --overlong max=…,buffer=…"),
        ("overlong", "", "--overlong lacks max, buffer"),
        (
            "overlong",
            "max=100,buffer=20,penalty=1",
            "--overlong has no 'penalty'; try max, buffer, factor or cap",
        ),
        ("overlong", "max=100,buffer=twenty", "--overlong: buffer is 'twenty', expected a number"),
        ("overlong", "max=100,buffer=0", "--overlong: buffer is 0, expected more than 0"),
        (
            "overlong",
            "100,20",
            "--overlong 100,20: '100' is not KEY=NUMBER; try --overlong max=…,buffer=…,factor=…,cap=…",
        ),
        ("affine", "scale=inf", "--affine: scale is 'inf', expected a number"),
        ("clip", "min=1,max=-1", "--clip-reward: min is 1 and max is -1, expected min ≤ max"),
    ],
)
def test_what_makes_no_sense(name, text, message):
    with pytest.raises(UsageError) as caught:
        flag_spec(SHAPINGS[name], text)
    assert message in str(caught.value)
