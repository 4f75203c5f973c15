"""Settings that go together, and those that are refused."""

import pytest
import torch

from advcli import UsageError
from advcli.engine.plan import Plan
from advcli.filters.catalog import filter_spec
from advcli.records.settings import Settings
from advcli.shaping.spec import specs_of

ONE = torch.zeros(1, dtype=torch.int64)


def after(*texts):
    return tuple(filter_spec("after", text) for text in texts)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"estimator": "remax", "scale": "group"},
            "remax has no scale to choose; try no --scale, or one of grpo",
        ),
        ({"estimator": "gae", "scale": "group"}, "gae has no scale 'group'; try --scale none or batch"),
        ({"knobs": {"similarity": 0.9}}, "grpo has no knob 'similarity'"),
        (
            {"filters": (filter_spec("before", "cppo:keep=0.5"),)},
            "cppo uses the advantage, so it can only come after the statistics; try --after cppo:keep=0.5",
        ),
        (
            {"filters": (filter_spec("before", "tis"),)},
            "tis weighs the advantage, so it can only come after the statistics; try --after tis",
        ),
        ({"filters": after("cppo:column=acc")}, "cppo looks at no reward, so it has no knob 'column'"),
        ({"filters": after("pods:m=0")}, "pods: m is 0, expected 1 or more"),
        ({"filters": after("pods:m=1.5")}, "pods: m is 1.5, expected a whole number"),
        ({"filters": after("pods:m=many")}, "pods: m is 'many', expected a number"),
        ({"filters": after("cppo:keep=2")}, "cppo: keep is 2, expected a number from 0 to 1"),
        ({"filters": after("cppo:over=row")}, "cppo: over is 'row'; try batch or group"),
        ({"knobs": {"eps": -1.0}}, "grpo: eps is -1, expected 0 or more"),
        ({"knobs": {"eps": True}}, "expected a number"),
        ({"filters": after("truncated")}, "truncated needs max"),
        ({"filters": after("tis:low=1", "mis:hihg=2")}, "mis has no knob 'hihg'"),
        ({"filters": after("correction")}, "--after correction needs --like; try --like verl"),
        (
            {"estimator": "gdpo", "shaping": specs_of("clip:min=0,max=1")},
            "gdpo uses each reward separately, so their sum cannot be shaped",
        ),
        (
            {"estimator": "gae", "shaping": specs_of("difficulty")},
            "shapes one advantage per row, and gae gives one per token here",
        ),
        (
            {"shaping": specs_of("entropy"), "keep_pos": 0.5},
            "gives one advantage per token, and filters and keep ratios need one per row",
        ),
    ],
)
def test_what_is_refused(settings, said):
    with pytest.raises(UsageError) as caught:
        Plan.of(Settings(**settings))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "reach"),
    [
        ({}, "key"),
        ({"scale": "batch"}, "merged"),
        ({"estimator": "krpo"}, "step"),
        ({"estimator": "spo"}, "all"),
        ({"estimator": "gigpo"}, "key"),
        ({"filters": after("cppo")}, "step"),
        ({"like": "trl", "scale": "batch"}, "step"),
        ({"like": "verl"}, "key"),
    ],
)
def test_how_far_an_advantage_reaches(settings, reach):
    assert Plan.of(Settings(**settings)).reach() == reach


def test_an_advantage_of_tokens_is_not_computed_again():
    assert Plan.of(Settings()).recomputes
    assert not Plan.of(Settings(shaping=specs_of("entropy"))).recomputes
    assert not Plan.of(Settings("rloo")).recomputes


def test_what_is_counted():
    assert Plan.of(Settings()).unit.counts == "rollouts"
    assert Plan.of(Settings(count="rows")).unit.counts == "rows"
    assert Plan.of(Settings("gae")).unit.counts == "rows"
    assert Plan.of(Settings("gigpo")).unit.counts == "turns"
    assert Plan.of(Settings("gigpo", count="rollouts")).knobs["count"] == "rollouts"


@pytest.mark.parametrize("given", [{"gamma": 0.9}, {"gamma": 1}])
def test_a_discount_asks_for_an_advantage_per_token(given):
    found = Plan.of(Settings("reinforce_plus_plus", knobs=given))
    assert (found.entry.level, found.knobs) == (
        ("token", {"gamma": 0.9}) if given["gamma"] < 1 else ("row", {})
    )


def test_the_kl_of_each_token_asks_for_it_too():
    columns = {"token_kl": torch.zeros(1), "rewards": torch.zeros(1), "group": ONE}
    assert Plan.of(Settings("reinforce_plus_plus")).at(columns).entry.level == "token"
    # The row of a framework says how far the form per token reaches.
    found = Plan.of(Settings(like="openrlhf", estimator="group_norm")).at(columns)
    assert (found.entry.level, found.scope()) == ("token", "group")
    found = Plan.of(Settings(like="verl", estimator="reinforce_plus_plus")).at(columns)
    assert (found.entry.level, found.scope()) == ("token", "step")
