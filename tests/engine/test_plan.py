"""Settings that go together, and those that are refused."""

from dataclasses import replace

import pytest
import torch

from advcli import UsageError
from advcli.engine import dispatch
from advcli.engine.plan import Plan, _as_estimator
from advcli.estimators.catalog import ESTIMATORS
from advcli.filters.catalog import filter_spec
from advcli.frameworks.catalog import RULES
from advcli.records.settings import Settings
from advcli.shaping.spec import specs_of

ONE = torch.zeros(1, dtype=torch.int64)


def after(*texts):
    return tuple(filter_spec("after", text) for text in texts)


ENTROPY = (
    "--shape entropy gives one advantage per token, but filters and keep ratios need one per row; "
    "try without --shape entropy"
)
KEEP_RATIOS = (
    "keep ratios need one advantage per row, but gae gives one per token here; "
    "try without --keep-pos and --keep-neg"
)
FIXED = "--like verl fixes the rules, so {} cannot be set; try without --like"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"estimator": "remax", "scale": "group"},
            "remax takes no scale; try no --scale, or one of "
            + ", ".join(row.name for row in ESTIMATORS if row.default_scale),
        ),
        ({"estimator": "gae", "scale": "group"}, "gae has no scale 'group'; try --scale none or batch"),
        ({"knobs": {"similarity": 0.9}}, "grpo has no knob 'similarity'"),
        (
            {"estimator": "gigpo", "knobs": {"similarity": 2}},
            "gigpo: similarity is 2, expected a number from 0 to 1",
        ),
        (
            {"filters": (filter_spec("before", "cppo:keep=0.5"),)},
            "cppo uses the advantage, so it can only come after the statistics; try --after cppo:keep=0.5",
        ),
        (
            {"filters": (filter_spec("before", "tis"),)},
            "tis weighs the advantage, so it can only come after the statistics; try --after tis",
        ),
        ({"filters": after("cppo:column=acc")}, "cppo does not use the reward, so it has no knob 'column'"),
        ({"filters": after("pods:m=0")}, "pods: m is 0, expected 1 or more"),
        ({"filters": after("pods:m=1.5")}, "pods: m is 1.5, expected a whole number"),
        ({"filters": after("pods:m=many")}, "pods: m is 'many', expected a number"),
        ({"filters": after("cppo:keep=2")}, "cppo: keep is 2, expected a number from 0 to 1"),
        ({"filters": after("cppo:over=row")}, "cppo: over is 'row'; try batch or group"),
        ({"knobs": {"eps": -1.0}}, "grpo: eps is -1, expected 0 or more"),
        ({"knobs": {"eps": True}}, "grpo: eps is True, expected a number"),
        ({"filters": after("truncated")}, "truncated needs max; try truncated:max=…"),
        ({"filters": after("tis:low=1", "mis:hihg=2")}, "mis has no knob 'hihg'; try level, low or high"),
        (
            {"filters": after("correction")},
            "--after correction needs --like; try --like verl, ms-swift, slime, nemo-rl, prime-rl or skyrl",
        ),
        (
            {"estimator": "gdpo", "shaping": specs_of(["affine:scale=2", "clip:min=0,max=1"])},
            (
                "gdpo uses each reward separately, so their sum cannot be shaped (--affine, --clip-reward); "
                "try without --affine, --clip-reward"
            ),
        ),
        (
            {"estimator": "gae", "shaping": specs_of("difficulty")},
            (
                "--shape difficulty shapes one advantage per row, but gae gives one per token here; "
                "try without --shape difficulty"
            ),
        ),
        (
            {"shaping": specs_of("entropy"), "keep_pos": 0.5},
            ENTROPY,
        ),
        ({"shaping": specs_of("entropy"), "keep_neg": 0.5}, ENTROPY),
        ({"shaping": specs_of("entropy"), "compute_new_adv": True}, ENTROPY),
        ({"shaping": specs_of("entropy"), "filters": after("truncated:max=4")}, ENTROPY),
        (
            {"estimator": "rloo", "compute_new_adv": True},
            "compute_new_adv is defined for grpo only, not for rloo; try --estimator grpo or --no-compute-new-adv",
        ),
        (
            {"estimator": "turn_return", "count": "rows"},
            "turn_return works on turns, so --count does not apply; try no --count",
        ),
        ({"estimator": "gae", "keep_pos": 0.5}, KEEP_RATIOS),
        ({"estimator": "gae", "keep_neg": 0.5}, KEEP_RATIOS),
        (
            {"estimator": "gae", "filters": after("truncated:max=4")},
            "filters need one advantage per row, but gae gives one per token here; try without --before and --after",
        ),
        ({"keep_pos": 1.5}, "keep_pos is 1.5, expected a share between 0 and 1"),
        ({"keep_neg": -0.1}, "keep_neg is -0.1, expected a share between 0 and 1"),
        ({"missing": "x"}, "unknown missing rule 'x'; try null, zero or error"),
        ({"missing": None}, "unknown missing rule 'None'; try null, zero or error"),
        ({"singleton": "x"}, "unknown singleton rule 'x'; try null, zero, raw or error"),
        ({"count": "x"}, "unknown count rule 'x'; try rollouts or rows"),
        ({"rollout_reward": "x"}, "unknown rollout reward rule 'x'; try last, first or sum"),
        ({"like": "verl", "missing": "zero"}, FIXED.format("missing")),
        ({"like": "verl", "singleton": "raw"}, FIXED.format("singleton")),
        ({"like": "verl", "compute_new_adv": True}, FIXED.format("compute_new_adv")),
        ({"like": "verl", "knobs": {"eps": 1.0}, "missing": "zero"}, FIXED.format("missing, eps")),
        ({"like": "trl", "scale": "x"}, "trl's grpo has no scale 'x'; it has group, batch, none"),
        (
            {"like": "verl", "estimator": "gae", "scale": "group"},
            "verl's gae has no scale 'group'; it has none to choose",
        ),
    ],
)
def test_what_is_refused(settings, said):
    with pytest.raises(UsageError) as caught:
        Plan.of(Settings(**settings))
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("settings", "about"),
    [
        ({"keep_pos": 2}, "keep_pos"),
        ({"keep_neg": 2}, "keep_neg"),
        ({"missing": "x"}, "missing"),
        ({"singleton": "x"}, "singleton"),
        ({"count": "x"}, "count"),
        ({"rollout_reward": "x"}, "rollout_reward"),
        ({"scale": "x"}, "scale"),
        ({"estimator": "rloo", "compute_new_adv": True}, "compute_new_adv"),
        ({"knobs": {"eps": -1}}, None),
    ],
)
def test_the_setting_that_is_wrong_is_named(settings, about):
    with pytest.raises(UsageError) as caught:
        Plan.of(Settings(**settings))
    assert caught.value.about == about


@pytest.mark.parametrize(
    "settings",
    [
        {"keep_pos": 0, "keep_neg": 1},
        {"keep_pos": 1, "keep_neg": 0},
        {"count": None, "rollout_reward": None},
        # Both are framework's own; "null" and "error" change no number.
        {"like": "verl", "missing": "error", "singleton": "error"},
        {"like": "verl", "shaping": specs_of("overlong:max=4,buffer=2,factor=1")},
        {"shaping": specs_of("entropy")},
        {"estimator": "gigpo", "count": "rows"},
        {"estimator": "gae", "keep_pos": 1, "keep_neg": 1},
        {"filters": (filter_spec("before", "pods:m=2,column=acc"),)},
    ],
)
def test_what_is_not_refused(settings):
    assert Plan.of(Settings(**settings)).settings == Settings(**settings)


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
        ({"like": "prime-rl", "estimator": "rae"}, "all"),
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


@pytest.mark.parametrize(("count", "counted"), [(None, "rows"), ("rollouts", "rollouts"), ("rows", "rows")])
def test_what_a_rule_for_turns_counts_may_be_chosen(count, counted):
    assert Plan.of(Settings(like="verl-agent", estimator="gigpo", count=count)).knobs["count"] == counted


def test_states_are_equal_or_alike():
    assert Plan.of(Settings(like="verl-agent", estimator="gigpo")).similarity == 0
    assert Plan.of(Settings(like="verl")).similarity == Plan.of(Settings()).similarity == 0
    assert Plan.of(Settings("gigpo", knobs={"similarity": 0.5})).similarity == 0.5


def test_a_knob_of_the_form_per_token_asks_for_it():
    assert Plan.of(Settings(like="trinity-rft")).entry.level == "row"
    assert Plan.of(Settings(like="trinity-rft", knobs={"rank_penalty": 0.5})).entry.level == "token"
    assert Plan.of(Settings(like="trinity-rft", knobs={"rank_penalty": 0.0})).entry.level == "row"


def test_what_the_advantage_of_a_rollout_is_divided_by():
    assert Plan.of(Settings(like="agent-lightning")).divided == ""
    assert Plan.of(Settings(like="agent-lightning", knobs={"token_norm": 1})).divided == "tokens"
    plan = Plan.of(Settings(like="trinity-rft", estimator="step_wise_grpo", knobs={"step_norm": 1}))
    assert plan.divided == "rows"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_becomes_an_estimator_of_its_own(rule):
    entry = _as_estimator(rule, Settings(like=rule.framework))[0]
    kept = ("target", "needs", "formula", "source", "level", "token_columns", "shaped", "masked", "biased")
    assert {name: getattr(entry, name) for name in kept} == {name: getattr(rule, name) for name in kept}
    assert entry.name == f"{rule.framework}:{rule.estimator}"
    assert entry.summary == f"{rule.estimator} of {rule.framework} {rule.versions}".strip()
    assert entry.alone
    assert entry.default_scale == next(iter(rule.scales), None)
    assert (entry.per_token is None) == (rule.per_token is None)


def test_the_form_per_token_has_the_scale_that_was_chosen_and_knobs_of_its_own():
    plan = Plan.of(Settings(like="trinity-rft", scale="batch"))
    assert plan.entry.per_token.default_scale == "batch"
    plan = Plan.of(Settings(like="openrlhf", estimator="group_norm"))
    columns = {"token_kl": torch.zeros(1), "rewards": torch.zeros(1), "group": ONE}
    assert plan.at(columns).knobs == {**plan.rule.per_token.knobs, **plan.rule.per_token.options}
    assert plan.at(columns).knobs != plan.knobs


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


@pytest.mark.parametrize(
    ("settings", "per_row", "said"),
    [
        ({"like": "openrlhf", "estimator": "reinforce"}, True, True),
        ({"like": "openrlhf", "estimator": "reinforce"}, False, False),
        ({"estimator": "reinforce_plus_plus"}, True, False),
    ],
)
def test_a_framework_that_takes_the_kl_off_each_token_cannot_take_it_off_a_row(settings, per_row, said):
    plan = Plan.of(Settings(**settings, shaping=specs_of("kl:coef=0.1")))
    columns = {"rewards": torch.zeros(1), "group": ONE, "lengths": torch.ones(1)}
    columns |= {"kl": torch.zeros(1)} if per_row else {"token_kl": torch.zeros(1)}
    if not said:
        assert plan.at(columns).settings == plan.settings
        return
    with pytest.raises(UsageError) as caught:
        plan.at(columns)
    assert str(caught.value) == (
        "openrlhf:reinforce subtracts the KL token by token, but there is one number per row; "
        "try --kl-col COL with a list per row, or without --kl-coef"
    )


def test_a_rule_for_tokens_does_not_take_the_kl_off_a_row_either():
    plan = Plan.of(Settings(like="verl", estimator="gae", shaping=specs_of("kl:coef=0.1")))
    columns = {"rewards": torch.zeros(1), "group": ONE, "kl": torch.zeros(1), "values": torch.zeros(1)}
    with pytest.raises(
        UsageError, match=r"^verl:gae subtracts the KL token by token, but there is one number"
    ):
        plan.at(columns)


def test_turns_with_rewards_of_their_own_take_no_filter():
    plan = Plan.of(Settings("gigpo", keep_pos=0.5))
    columns = {"rewards": torch.zeros(1), "group": ONE}
    assert plan.at(columns).entry.name == "gigpo"
    with pytest.raises(UsageError) as caught:
        plan.at({**columns, "turn_rewards": torch.zeros(1)})
    assert str(caught.value) == (
        "keep ratios need one advantage per row, but gigpo gives one per turn here; try without --keep-pos and --keep-neg"
    )


@pytest.mark.parametrize(
    ("settings", "devices", "chosen"),
    [
        ({}, ["cuda"], "cuda"),
        ({"device": "cpu"}, [], "cpu"),
        ({"like": "trl"}, [], "cpu"),
        ({"estimator": "gigpo"}, [], "cpu"),
    ],
)
def test_only_auto_asks_which_device_is_quicker(monkeypatch, settings, devices, chosen):
    asked = []

    def quicker(columns, *, in_blocks):
        asked.append("cuda")
        assert not in_blocks
        assert columns["group"] is ONE
        return torch.device("cuda")

    monkeypatch.setattr("advcli.engine.dispatch.quicker", quicker)
    plan = Plan.of(Settings(**settings)).at({"rewards": torch.zeros(1), "group": ONE})
    assert (asked, plan.device.type) == (devices, chosen)


@pytest.mark.parametrize(
    ("settings", "more", "device", "expected"),
    [
        ({}, {}, "cpu", True),
        ({}, {"weights": torch.zeros(7)}, "cpu", True),
        ({}, {"values": torch.zeros(7)}, "cpu", False),
        ({}, {}, "cuda", False),
        ({"missing": "error"}, {}, "cpu", False),
        ({"singleton": "error"}, {}, "cpu", False),
        ({"scale": "batch"}, {}, "cpu", False),
        ({"like": "verl"}, {}, "cpu", False),
        ({"filters": after("truncated:max=4")}, {}, "cpu", True),
        ({"filters": after("tis")}, {}, "cpu", False),
    ],
)
def test_what_can_be_computed_in_ranges(monkeypatch, settings, more, device, expected):
    monkeypatch.setattr("advcli.tensors.group_ranges._MANY", 2)
    columns = {"rewards": torch.zeros(2), "group": torch.zeros(2, dtype=torch.int64), **more}
    plan = replace(Plan.of(Settings(**settings)), device=torch.device(device))
    assert plan.in_ranges(columns) is expected
    assert not plan.in_ranges({name: column[:1] for name, column in columns.items()})


@pytest.mark.parametrize(
    ("settings", "cuda", "why"),
    [
        ({}, True, "it should finish first (less than 0.1 s; CUDA takes 0.4 s including its start)"),
        ({"like": "trl"}, True, "--like reproduces the rounding of the CPU"),
        ({"estimator": "gigpo"}, True, "turn-level rules run on the CPU only"),
        ({"device": "cpu"}, True, None),
        ({}, False, None),
    ],
)
def test_why_auto_takes_the_cpu_on_a_machine_with_cuda(monkeypatch, settings, cuda, why):
    monkeypatch.setitem(dispatch._AVAILABLE, "cuda", lambda: cuda)
    assert Plan.of(Settings(**settings)).on_cpu({"rewards": torch.zeros(1), "group": ONE}) == why
