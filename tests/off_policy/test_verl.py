"""verl's settings one by one, by hand: ratios 2 and ½ in the first row, 4 and 1 in the second."""

import pytest
from off_policy.ratios import TWO, tokens

from advcli import DataError, UsageError
from advcli.off_policy.verl import rollout_correction, rollout_correction_0_7_0

BOTH = pytest.mark.parametrize("correct", [rollout_correction, rollout_correction_0_7_0])


@BOTH
@pytest.mark.parametrize("given", [{}, {"rollout_is": "token", "rollout_is_threshold": None}])
def test_it_only_logs_without_weights_and_rejection(correct, given):
    found = correct(TWO, **given)
    assert (found.weights, found.mask.tolist()) == (None, [1, 1, 1, 1])
    # The mean of log rollout over trainer probability: −ln 4 / 4.
    assert found.metrics["rollout_corr/kl"] == pytest.approx(-0.34657359)


def test_weights_outside_of_two_bounds_are_0():
    found = rollout_correction(TWO, rollout_is="token", rollout_is_threshold="0.6_3")
    assert found.weights.tolist() == pytest.approx([2, 0, 0, 1])
    assert found.metrics["rollout_corr/rollout_is_oob_ratio"] == 0.5
    assert found.metrics["rollout_corr/rollout_is_mean"] == pytest.approx(0.75)


@BOTH
@pytest.mark.parametrize(
    ("level", "weights", "factor"),
    [("token", [2 / 1.625, 0.5 / 1.625, 3 / 1.625, 1 / 1.625], 1.625), ("sequence", [0.5, 0.5, 1.5, 1.5], 2)],
)
def test_weights_over_their_mean(correct, level, weights, factor):
    found = correct(TWO, rollout_is=level, rollout_is_threshold=3.0, rollout_is_batch_normalize=True)
    assert found.weights.tolist() == pytest.approx(weights)
    assert found.metrics["rollout_corr/rollout_is_batch_norm_factor"] == pytest.approx(factor)


@BOTH
def test_weights_of_0_have_no_mean_to_be_divided_by(correct):
    # exp(−20) is the smallest ratio.
    found = correct(tokens([1e-30]), rollout_is="token", rollout_is_batch_normalize=True)
    assert found.weights.tolist() == pytest.approx([2.0611536e-09])
    assert found.metrics["rollout_corr/rollout_is_batch_norm_factor"] == 1.0


@BOTH
def test_one_token_has_no_spread(correct):
    found = correct(tokens([2.0]), rollout_is="token").metrics
    assert found["rollout_corr/rollout_is_std"] == found["rollout_corr/rollout_is_seq_std"] == 0


def test_up_to_0_7_0_a_row_without_a_trained_token_has_the_ratio_1():
    # Products 1 and 4; bounds of 2 and 5 leave the second row only.
    three = tokens([2.0, 0.5], [4.0, 1.0], [3.0], mask=[1, 1, 1, 1, 0])
    given = {"rollout_rs": "sequence", "rollout_rs_threshold": 5.0}
    found = rollout_correction_0_7_0(three, rollout_rs_threshold_lower=2.0, **given)
    assert found.mask.tolist() == [0, 0, 1, 1, 0]
    assert found.metrics["rollout_corr/rollout_rs_seq_masked_fraction"] == pytest.approx(2 / 3)
    # With bounds around 1 it is not rejected.
    found = rollout_correction_0_7_0(three, **{**given, "rollout_rs_threshold": 2.0}).metrics
    assert found["rollout_corr/rollout_rs_seq_masked_fraction"] == pytest.approx(1 / 3)


def test_up_to_0_7_0_a_token_of_a_tiny_ratio_drops_its_row():
    without = rollout_correction_0_7_0(TWO)
    assert without.metrics["rollout_corr/rollout_is_veto_fraction"] == 0
    assert without.metrics["rollout_corr/rollout_is_catastrophic_token_fraction"] == 0
    found = rollout_correction_0_7_0(TWO, rollout_token_veto_threshold=0.6)
    assert found.mask.tolist() == [0, 0, 1, 1]
    assert found.metrics["rollout_corr/rollout_is_veto_fraction"] == 0.5
    assert found.metrics["rollout_corr/rollout_is_catastrophic_token_fraction"] == 0.25


@pytest.mark.parametrize(
    ("options", "threshold", "mask"),
    [
        # k1 bounds 1 over the ratio; k2 is ln² / 2, k3 is r − 1 − ln r.
        ("token_k1", "0.6_3", [0, 1, 0, 1]),
        ("token_k1", 1.9, [0, 0, 0, 1]),
        ("token_k2", 0.5, [1, 1, 0, 1]),
        ("token_k3", 0.3, [0, 1, 0, 1]),
        ("seq_sum_k1", 2.0, [1, 1, 0, 0]),
        ("seq_max_k3", 1.0, [1, 1, 0, 0]),
        ("token_k2, seq_sum_k1", "0.2,5", [0, 0, 0, 1]),
        ("token_k2,seq_sum_k1", 1.5, [1, 1, 0, 0]),
    ],
)
def test_rejection(options, threshold, mask):
    found = rollout_correction(TWO, rollout_rs=options, rollout_rs_threshold=threshold)
    assert found.mask.tolist() == mask
    assert found.metrics["rollout_corr/rollout_rs_masked_fraction"] == pytest.approx(mask.count(0) / 4)


@BOTH
def test_nothing_is_trained_on(correct):
    with pytest.raises(DataError, match="no token is trained on, so there is nothing to correct"):
        correct(tokens([2.0], mask=[0]))


@BOTH
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rollout_is": "row"}, "rollout_is is 'row'"),
        ({"rollout_is": "token", "rollout_is_threshold": "high"}, "is high, expected a number above 0"),
        ({"rollout_is": "token", "rollout_is_threshold": 0.0}, "expected a number above 0"),
    ],
)
def test_weights_that_verl_refuses(correct, given, said):
    with pytest.raises(UsageError, match=said):
        correct(TWO, **given)


@pytest.mark.parametrize(
    ("options", "threshold", "said"),
    [
        ("token_k4", 1.0, "rollout_rs is 'token_k4'"),
        (" , ", 1.0, "rollout_rs names no option"),
        ("token_k1", None, "rollout_rs_threshold is None, expected one for all options or one for each"),
        ("token_k1", "2,3", "rollout_rs_threshold is 2,3, expected one for all options or one for each"),
        ("token_k2", "0.5_2", "rollout_rs_threshold of token_k2 is 0.5_2, expected one number"),
        ("token_k1", 0.5, "rollout_rs_threshold of token_k1 is 0.5, expected LOW_HIGH or at least 1"),
    ],
)
def test_rejection_that_verl_refuses(options, threshold, said):
    with pytest.raises(UsageError, match=said):
        rollout_correction(TWO, rollout_rs=options, rollout_rs_threshold=threshold)


def test_two_bounds_in_the_wrong_order():
    with pytest.raises(UsageError, match="is 3_2, expected LOW_HIGH with LOW below HIGH"):
        rollout_correction(TWO, rollout_is="token", rollout_is_threshold="3_2")


def test_up_to_0_7_0_a_rejection_needs_a_bound_and_a_level():
    with pytest.raises(UsageError, match="rollout_rs_threshold is None, expected a number above 0"):
        rollout_correction_0_7_0(TWO, rollout_rs="token")
    with pytest.raises(UsageError, match="rollout_rs is 'row'"):
        rollout_correction_0_7_0(TWO, rollout_rs="row", rollout_rs_threshold=2.0)
