"""What a search gives the options of a rule: from their types, and from a table where those do not tell."""

import pytest

from advcli.matching.candidates import Candidate
from advcli.matching.inference.options import Fitted, forms
from advcli.records.settings import Settings


def of(estimator, **settings):
    return list(forms(Candidate.of(Settings(estimator, **settings))))


def test_words_are_tried_as_the_function_declares_them():
    tried = of("step_reinforce", like="roll")
    words = {(form.candidate.arguments["method"], form.candidate.arguments["grouping"]) for form in tried}
    assert {("identity", "batch"), ("mean", "group"), ("mean_std", "batch")} <= words
    assert len(words) == len(tried)


def test_the_default_comes_first_and_counts_as_no_choice():
    first, *others = of("stepwise_returns", like="verifiers")
    assert (first.chosen, first.candidate.arguments["how"], first.candidate.arguments["normalise"]) == (
        0,
        "sum",
        1.0,
    )
    assert all(form.chosen for form in others)


def test_whole_numbers_are_tried_one_by_one():
    tried = {form.candidate.arguments["k"] for form in of("passk", like="xtuner")}
    assert {1, 2, 3, 5, 8, 16} <= tried
    # The default of XTuner is 4, and that is tried before.
    assert 4 not in tried


def test_other_numbers_are_fitted_within_what_they_may_be():
    (form,) = of("step_discounted_returns", like="verl-agent")
    (gamma,) = form.fitted
    assert (gamma.name, gamma.starts[0], gamma.low, gamma.high) == ("gamma", 1.0, 0.0, 1.0)


def test_an_eps_is_measured_beside_a_standard_deviation():
    (form,) = of("grpo", like="xtuner")
    assert form.fitted == (Fitted("eps", (0.0, 0.1), 0.1, 0.0),)


@pytest.mark.parametrize(
    ("estimator", "settings"), [("grpo", {"like": "verl"}), ("reinforce", {}), ("gpg", {}), ("remax", {})]
)
def test_a_rule_without_options_has_no_forms(estimator, settings):
    assert of(estimator, **settings) == []


def test_what_nothing_is_divided_by_is_not_searched():
    assert of("grpo", scale="none") == []
    assert of("rec", like="trinity-rft", scale="none") == []


def test_a_clamp_is_left_to_the_search_behind_every_rule():
    assert {form.candidate.arguments["clip"] for form in of("group_norm", like="marti")} <= {10.0}
