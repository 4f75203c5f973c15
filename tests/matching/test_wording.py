"""Every sentence, letter by letter."""

import math
from dataclasses import replace

import pytest
import torch
from searched import problem

from advcli.matching import wording
from advcli.matching.inference.postprocess import LIVE, WHOLE, After
from advcli.matching.trials import judge, predict
from advcli.records.results.match import Fit

REWARDS, GROUP = [0.0, 1.0, 0.0, 1.0], [0, 0, 1, 1]
FIT = Fit("trl", ">=1.6", "grpo", "group", 1, 1e-4, "'prompt'", 2e-7, 0.9731)


def trials(logged=None, **given):
    """A search and the trials of all its rules."""
    searched = problem(REWARDS, GROUP, logged or [-0.5, 0.5, -0.5, 0.5], **given)
    part = searched.whole(searched.partitions[0])
    known = [c for c in searched.candidates if all(name in part.columns for name in c.plan.entry.needs)]
    # papo needs two parts of the reward, and here is one.
    guesses = [(c, predict(c, part)) for c in known if c.plan.entry.name != "papo"]
    judged = [judge(c, searched.partitions[0], part, guess) for c, guess in guesses]
    return searched, judged


def of(judged, framework, estimator, scale, **knobs):
    return next(
        t
        for t in judged
        if (t.candidate.framework, t.candidate.estimator, t.candidate.scale) == (framework, estimator, scale)
        and all(getattr(t.candidate, name) == value for name, value in knobs.items())
    )


def test_what_was_found():
    searched, judged = trials()
    best = of(judged, "verl", "grpo", "none")
    assert wording.found(FIT, best, searched) == (
        "consistent with trl >=1.6 grpo, scale group: A_i = r_i − mean_g; grouped by 'prompt'; "
        "all 4 logged rows agree (max |Δ| 2e-07)"
    )


def test_what_was_done_then_comes_before_the_agreement():
    searched, judged = trials()
    told = wording.found(FIT, of(judged, "verl", "grpo", "none"), searched, done=["then this", "then that"])
    assert "; grouped by 'prompt'; then this; then that; all 4" in told


def test_a_rounded_log_is_said_to_be_one():
    searched, judged = trials([-0.501, 0.5, -0.5, 0.501])
    best = of(judged, "verl", "grpo", "none")
    rough, fine = replace(FIT, max_abs_diff=1e-3), replace(FIT, max_abs_diff=0.0)
    assert "rows agree at the precision of the log (3 decimals) (max" in wording.found(rough, best, searched)
    # What fits to the last digit of float32 needs no allowance.
    assert "all 4 logged rows agree (max" in wording.found(fine, best, searched)


def test_what_is_not_determined():
    _, judged = trials()
    told = wording.not_determined(
        FIT, of(judged, "verl", "grpo", "none"), done=["then this"], doubt="few groups"
    )
    assert told == (
        "not determined by this log: few groups; trl >=1.6 grpo, scale group: A_i = r_i − mean_g, fits every row; then this"
    )


def test_what_was_not_found():
    assert wording.not_found(None, []) == "no rule could be tried on this log"
    assert wording.not_found(FIT, ["because", "and"]) == (
        "no rule fits this log: the nearest, trl >=1.6 grpo, scale group, fits 97.3% of the rows; because"
    )
    assert wording.not_found(FIT, [], asked="--like trl@0.16").startswith(
        "no rule with --like trl@0.16 fits this log"
    )


def test_what_would_tell_rules_apart():
    _, judged = trials()
    best = of(judged, None, "grpo", "group", eps=0.0, ddof=1)
    eps, scale = of(judged, None, "grpo", "group", eps=1e-9, ddof=1), of(judged, None, "grpo", "none")
    assert wording.apart(best, []) == ()
    assert wording.apart(best, [eps, scale]) == (
        "groups whose rewards lie closer together, or a log with more digits",
        "groups of another size",
        "groups of another spread",
        "the configuration of the run",
    )


def test_a_rule_that_fits_hardly_a_row_is_not_named():
    assert wording.not_found(replace(FIT, share_matched=0.004), []) == (
        "no rule fits this log: the nearest fits 0.4% of the rows"
    )


def test_all_rows_but_one_are_not_100_percent():
    told = wording.not_found(replace(FIT, share_matched=0.999999), [])
    assert told.endswith("fits more than 99.9% of the rows")


@pytest.mark.parametrize(
    ("clip", "words"),
    [
        ((-1.5, 1.5), "then clipped to ±1.5"),
        ((-1.0, 2.0), "then clipped to [-1, 2]"),
        ((-math.inf, 2.0), "then clipped to at most 2"),
        ((-0.5, math.inf), "then clipped to at least -0.5"),
    ],
)
def test_a_clamp(clip, words):
    assert list(wording.done(After((), clip=clip))) == [words]


def test_filtered_rows():
    assert list(wording.done(After((), filtered=1, where=LIVE))) == ["then 1 row of live groups was set to 0"]
    assert list(wording.done(After((), filtered=1200, where=WHOLE))) == [
        "then 1,200 rows of whole groups were set to 0"
    ]


def test_keep_ratios():
    done = After((), filtered=5, keep=(0.5, 1.0), range_=((0.5, 0.54), (0.8, 1.0)))
    assert list(wording.done(done)) == [
        "then 0.5 of the positive and all (0.8 to 1 do the same) of the negative rows of each group were kept"
    ]
    again = replace(done, recomputed=True)
    assert next(iter(wording.done(again))).endswith("were kept, and the kept rows were computed again")


def test_why_rules_cannot_be_told_apart():
    searched, judged = trials()
    best = of(judged, None, "grpo", "group", eps=0.0, ddof=1)
    eps = of(judged, None, "grpo", "group", eps=1e-9, ddof=1)
    ddof = of(judged, None, "grpo", "group", eps=0.0, ddof=0)
    scale = of(judged, None, "grpo", "none")
    assert wording.reason(searched, best, eps) == "eps 1e-09 changes less than the log shows"
    assert wording.reason(searched, best, ddof) == "ddof 0 gives the same"
    assert wording.reason(searched, best, scale) == "scale none: all groups have equal std"
    assert wording.reason(searched, best, best) == "the same computation"


def test_a_rule_that_was_compared_on_a_part_says_so():
    searched, judged = trials()
    best = of(judged, "verl", "grpo", "none")
    assert wording.reason(searched, best, replace(best, rows=65_536)) == "compared on 65,536 rows"


def test_another_way_to_the_same_numbers():
    searched, judged = trials()
    best, other = of(judged, None, "grpo", "none"), of(judged, "verl", "grpo", "none")
    assert wording.reason(searched, best, other).startswith("another way to the same numbers")


def test_groups_are_named_where_they_are_others():
    searched, judged = trials()
    best = of(judged, "verl", "grpo", "none")
    other = replace(best, partition=replace(best.partition, label="position, 2 rows each"))
    assert wording.reason(searched, best, other) == "grouped position, 2 rows each, with the same result"


def test_no_row_without_a_reward():
    searched, judged = trials()
    best = of(judged, "verl", "grpo", "none")
    told = wording.reason(searched, best, of(judged, "trl", "grpo", "none", version=">=1.6"))
    assert "no row is without a reward" in told
    assert "no group has one row" in told
    assert torch.is_tensor(best.predicted)
