"""verl's settings one by one, by hand: ratios 2 and ½ in the first row, 4 and 1 in the second."""

import math
import statistics

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


# Log ratios of three rows; the last token of the second and all of the third are not trained on.
LOGS = [[0.5, -0.25, 1.0], [-1.5, 0.25, 9.0], [3.0]]
KEPT = [[0.5, -0.25, 1.0], [-1.5, 0.25]]


def three():
    ratios = [[math.exp(d) for d in row] for row in LOGS]
    return tokens(*ratios, mask=[1, 1, 1, 1, 1, 0, 0])


def share(values, test):
    return sum(map(test, values)) / len(values)


def spread(values):
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))


@pytest.mark.parametrize(
    ("reduce", "of_row"), [("seq_sum", sum), ("seq_mean", statistics.fmean), ("seq_max", max)]
)
def test_the_metrics_of_a_rejection_by_rows(reduce, of_row):
    """k2 is d² / 2; the third row has no token, and is in no figure of rows."""
    high = 0.3
    by_row = [of_row([d * d / 2 for d in row]) for row in KEPT]
    found = rollout_correction(three(), rollout_rs=f"{reduce}_k2", rollout_rs_threshold=high)
    gone = [value > high for value in by_row]
    assert found.mask.tolist() == [float(not gone[0])] * 3 + [float(not gone[1])] * 2 + [0, 0]
    every = [by_row[0]] * 3 + [by_row[1]] * 2
    expected = {
        "mean": sum(every) / 5,
        "max": max(by_row),
        "min": min(by_row),
        "fraction_high": share(by_row, lambda value: value > high),
        "fraction_low": 0,
        "std": spread([min(value, high) for value in every]),
        "seq_mean": sum(by_row) / 2,
        "seq_std": statistics.stdev(by_row),
        "seq_max": max(by_row),
        "seq_min": min(by_row),
        "seq_max_deviation": max(by_row),
        "seq_fraction_high": share(by_row, lambda value: value > high),
        "masked_fraction": share(every, lambda value: value > high),
        "seq_masked_fraction": sum(gone) / 2,
    }
    start = f"rollout_corr/rollout_rs_{reduce}_k2_"
    assert {name.removeprefix(start): v for name, v in found.metrics.items() if name.startswith(start)} == (
        pytest.approx(expected)
    )


def test_the_metrics_of_a_rejection_by_tokens():
    """k1 is −d, between −ln 2 and ln 2; −d of −½, ¼, −1, 1.5 and −¼."""
    values, bound = [-d for row in KEPT for d in row], math.log(2)
    found = rollout_correction(three(), rollout_rs="token_k1", rollout_rs_threshold="0.5_2").metrics
    by_row = [statistics.fmean([-d for d in row]) for row in KEPT]
    expected = {
        "mean": statistics.fmean(values),
        "max": 1.5,
        "min": -1.0,
        "fraction_high": 0.2,
        "fraction_low": 0.2,
        "std": spread([min(max(value, -bound), bound) for value in values]),
        "seq_mean": statistics.fmean(by_row),
        "seq_std": statistics.stdev(by_row),
        "seq_max": max(by_row),
        "seq_min": min(by_row),
        "seq_max_deviation": max(map(abs, by_row)),
        "seq_fraction_high": 0,
        "seq_fraction_low": 0,
        "masked_fraction": 0.4,
        "seq_masked_fraction": 1.0,
    }
    start = "rollout_corr/rollout_rs_token_k1_"
    assert {name.removeprefix(start): v for name, v in found.items() if name.startswith(start)} == (
        pytest.approx(expected)
    )


@pytest.mark.parametrize("described", ["applied", "applied-rows", "raw"])
@pytest.mark.parametrize("level", ["token", "sequence"])
def test_the_metrics_of_weights(described, level):
    """Truncated at 2; what is described is after that, or with "raw" before."""
    logs = [d if level == "token" else sum(row) for row in KEPT for d in row]
    raw = [math.exp(d) for d in logs]
    applied = raw if described == "raw" else [min(w, 2.0) for w in raw]
    least = 0.5 if described == "raw" else 0.0
    clamped = [min(max(w, least), 2.0) for w in applied]

    def by_row(weights):
        return [statistics.fmean(weights[:3]), statistics.fmean(weights[3:]), 0.0]

    shown = by_row(raw if described == "applied" else applied)
    # Over all three rows at the level of rows, of which the last has the ratio 1.
    ratios = raw if level == "token" else [math.exp(sum(row)) for row in KEPT] + [1.0]
    expected = {
        "mean": statistics.fmean(applied),
        "max": max(applied if level == "token" else ratios),
        "min": min(applied if level == "token" else ratios),
        "ratio_fraction_high": share(ratios, lambda w: w > 2),
        "ratio_fraction_low": share(ratios, lambda w: w < 0.5),
        "std": spread(clamped),
        "eff_sample_size": statistics.fmean(clamped) ** 2 / statistics.fmean([w * w for w in clamped]),
        "seq_mean": statistics.fmean(by_row(applied)),
        "seq_std": statistics.stdev(by_row(applied)),
        "seq_max": max(by_row(applied)),
        "seq_min": 0.0,
        "seq_max_deviation": max(abs(w - 1) for w in by_row(applied)),
        "seq_fraction_high": share(shown, lambda w: w > 2),
        "seq_fraction_low": share(shown, lambda w: w < 0.5),
    }
    found = rollout_correction(three(), rollout_is=level, described=described).metrics
    start = "rollout_corr/rollout_is_"
    assert {name.removeprefix(start): v for name, v in found.items() if name.startswith(start)} == (
        pytest.approx(expected)
    )
