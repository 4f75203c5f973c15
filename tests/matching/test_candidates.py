"""What is tried, and how a rule is written down."""

import itertools
import random

import pytest
from searched import problem

from advcli.frameworks.catalog import RULES
from advcli.matching.candidates import EPS, candidates
from advcli.matching.trials import predict

ALL = candidates(singletons=True, missing=True)


def one(framework, estimator, scale, **knobs):
    """The first candidate with these attributes."""
    return next(
        c
        for c in ALL
        if (c.framework, c.estimator, c.scale) == (framework, estimator, scale)
        and all(getattr(c, name) == value for name, value in knobs.items())
    )


def test_every_rule_per_row_of_every_framework_is_tried():
    rules = {(rule.framework, rule.versions or None, rule.estimator) for rule in RULES if rule.level == "row"}
    assert rules == {(c.framework, c.version, c.estimator) for c in ALL if c.framework}


def test_grpo_is_tried_with_every_scale_eps_and_ddof():
    ours = {(c.scale, c.ddof, c.eps) for c in ALL if c.framework is None and c.estimator == "grpo"}
    assert ours == {("none", None, None), *itertools.product(("group", "batch"), (0, 1), EPS)}


def test_rules_for_single_and_missing_rows_are_tried_only_where_they_show():
    assert {c.plan.settings.singleton for c in ALL if not c.framework} == {"null", "zero", "raw"}
    plain = candidates(singletons=False, missing=False)
    assert {(c.plan.settings.singleton, c.plan.settings.missing) for c in plain} == {("null", "null")}


def test_the_order_is_that_of_belief_frameworks_first():
    assert [c.order for c in ALL] == list(range(len(ALL)))
    kinds = [c.framework is None for c in ALL]
    assert kinds == sorted(kinds)


@pytest.mark.parametrize(
    ("candidate", "formula"),
    [
        (("verl", "grpo", "group"), "A_i = (r_i − mean_g) / (std_g + 1e-6), ddof 1"),
        (("verl", "grpo", "none"), "A_i = r_i − mean_g"),
        (("trl", "grpo", "batch"), "A_i = (r_i − mean_g) / (std_B + 1e-4), ddof 1"),
        (("twinkle", "rloo", "batch"), "A_i = (r_i − mean_{j≠i} r_j) / (std_B + 1e-8), ddof 1"),
        (("areal", "rloo", "group"), "A_i = (r_i − mean_{j≠i} r_j) / (std_g of that + 1e-5), ddof 1"),
        (("art", "grpo", "group"), "A_i = (r_i − mean_g) / (std_g + 1e-6), ddof 0"),
        (("roll", "reinforce", "none"), "A_i = r_i"),
        (
            ("roll", "agentic_grpo", "group"),
            "A_i = (r_i − mean_g) / (std_g + 1e-6), ddof 1, 0 where that is at most 1e-6",
        ),
        ((None, "grpo", "group"), "A_i = (r_i − mean_g) / std_g, ddof 1"),
        ((None, "rloo", "none"), "A_i = r_i − mean_{j≠i} r_j"),
        ((None, "batch_norm", None), "A_i = (r_i − mean_B) / std_B, eps 0, ddof 1"),
    ],
)
def test_a_formula_says_what_is_computed(candidate, formula):
    assert one(*candidate).formula == formula


def test_what_changes_with_the_scale_is_not_in_the_formula_of_another():
    for c in ALL:
        if c.scale == "none" and c.framework is None:
            assert "std" not in c.formula


def test_the_same_computation_has_the_same_work():
    assert one("verl", "grpo", "group").computation == one("skyrl", "grpo", "group").computation
    assert one("verl", "grpo", "group").computation != one("verl", "grpo", "none").computation


def test_kin_agree_on_the_sign_of_every_advantage():
    draw = random.Random(3)
    rewards = [round(draw.random(), 3) for _ in range(96)]
    step = [row // 48 for row in range(96)]
    whole = problem(rewards, [row // 4 for row in range(96)], rewards, step)
    part = whole.whole(whole.partitions[0])
    signs = {}
    for c in whole.candidates:
        # papo needs two parts of the reward, and here is one.
        if all(name in part.columns for name in c.plan.entry.needs) and c.plan.entry.name != "papo":
            known = predict(c, part).round(decimals=5).sign()
            assert bool((signs.setdefault(c.family, known) == known).all()), c.formula


def test_a_rule_of_the_batch_is_known_as_one():
    assert one("trl", "grpo", "batch").of_batch
    assert not one("trl", "grpo", "group").of_batch
    assert one(None, "batch_norm", None).of_batch


def test_a_fit_carries_the_rule():
    fit = one("trl", "grpo", "batch", version=">=1.6").fit("'prompt'", 1e-7, 1.0, "why")
    assert fit.name == "trl >=1.6 grpo, scale batch"
    assert (fit.eps, fit.ddof, fit.grouping, fit.max_abs_diff, fit.share_matched, fit.reason) == (
        1e-4,
        1,
        "'prompt'",
        1e-7,
        1.0,
        "why",
    )


def test_a_rule_that_asks_the_step_for_groups_of_one_only_sums_no_steps():
    of = {
        (c.framework, c.scale): c
        for c in candidates(singletons=False, missing=False)
        if c.estimator == "grpo"
    }
    assert of["twinkle", "none"].of_batch
    assert not of["twinkle", "none"].sums_steps
    assert of["twinkle", "batch"].sums_steps
    assert of[None, "batch"].sums_steps


@pytest.mark.parametrize(
    ("framework", "estimator", "knobs"),
    [
        ("verifiers", "stepwise_returns", {"gamma": 0.4}),
        ("roll", "step_reinforce", {"gamma": 0.95, "method": "identity", "grouping": "batch"}),
        (None, "turn_loo", {"gamma": 0.0}),
    ],
)
def test_a_rule_of_turns_is_tried_as_it_is_by_default(framework, estimator, knobs):
    tried = candidates(singletons=False, missing=False, rollouts=True)
    mine = [c.arguments for c in tried if (c.framework, c.estimator) == (framework, estimator)]
    assert any(knobs.items() <= told.items() for told in mine)
