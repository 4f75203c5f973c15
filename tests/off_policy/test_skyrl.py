"""Every step of SkyRL's correction, by hand: ratios 2 and ½ in the first row, 4 and 1 in the second."""

import math

import pytest
from off_policy.ratios import TWO, tokens

from advcli import UsageError
from advcli.off_policy.skyrl import off_policy_correction


@pytest.mark.parametrize(
    ("given", "mask", "metrics"),
    [
        (
            {"outlier_token_is_threshold_high": 3.0},
            [1, 1, 0, 0],
            {"masked_ratio": 0.5, "over_high_ratio": 0.5, "under_low_ratio": 0.0},
        ),
        (
            {"outlier_token_is_threshold_low": 0.6},
            [0, 0, 1, 1],
            {"masked_ratio": 0.5, "over_high_ratio": 0.0, "under_low_ratio": 0.5},
        ),
        (
            {"outlier_token_is_threshold_low": 0.6, "outlier_token_is_threshold_high": 3.0},
            [0, 0, 0, 0],
            {"masked_ratio": 1.0, "over_high_ratio": 0.5, "under_low_ratio": 0.5},
        ),
    ],
)
def test_a_row_with_an_outlier_is_masked(given, mask, metrics):
    found = off_policy_correction(TWO, **given)
    assert found.mask.tolist() == mask
    assert found.weights is None
    assert {name: found.metrics[f"outlier_seq_{name}"] for name in metrics} == metrics


def test_tokens_outside_of_their_bounds_are_masked():
    found = off_policy_correction(TWO, token_mask_is_threshold_low=0.6, token_mask_is_threshold_high=3.0)
    assert found.mask.tolist() == [1, 0, 0, 1]
    assert found.metrics["token_mask_ratio"] == 0.5
    # With one of the two bounds there is no such mask, and nothing is switched on.
    assert off_policy_correction(TWO, token_mask_is_threshold_low=0.6).metrics == {}


@pytest.mark.parametrize(
    ("given", "weights", "share"),
    [
        (
            {"tis_ratio_type": "token", "token_tis_ratio_clip_high": 3.0},
            [2, 0.5, 3, 1],
            {"tis_token_clip_high_ratio": 0.25},
        ),
        (
            {"tis_ratio_type": "sequence", "sequence_tis_ratio_clip_high": 3.0},
            [1, 1, 3, 3],
            {"tis_seq_clip_high_ratio": 0.5},
        ),
    ],
)
def test_weights(given, weights, share):
    found = off_policy_correction(TWO, **given)
    assert found.weights.tolist() == pytest.approx(weights)
    assert found.mask.tolist() == [1, 1, 1, 1]
    assert found.metrics.items() >= share.items()


@pytest.mark.parametrize(
    ("given", "mask", "metrics"),
    [
        (
            {"sequence_mask_metric": "geometric", "geo_mask_low": 0.9, "geo_mask_high": 1.5},
            [1, 1, 0, 0],
            {
                "geo_sequence_mask_masked_ratio": 0.5,
                "geo_sequence_mask_over_high_ratio": 0.5,
                "geo_sequence_mask_under_low_ratio": 0.0,
            },
        ),
        (
            {"sequence_mask_metric": "product", "product_mask_low": 2.0, "product_mask_high": 5.0},
            [0, 0, 1, 1],
            {
                "product_sequence_mask_masked_ratio": 0.5,
                "product_sequence_mask_over_high_ratio": 0.0,
                "product_sequence_mask_under_low_ratio": 0.5,
            },
        ),
    ],
)
def test_rows_outside_of_their_bounds_are_masked(given, mask, metrics):
    found = off_policy_correction(TWO, **given)
    assert found.mask.tolist() == mask
    assert found.metrics.items() >= metrics.items()


def test_a_step_looks_at_what_the_one_before_left():
    # The token mask leaves 2 of the first row and 1 of the second: products 2 and 1, of which the mask of rows drops the first.
    found = off_policy_correction(
        TWO,
        token_mask_is_threshold_low=0.6,
        token_mask_is_threshold_high=3.0,
        tis_ratio_type="sequence",
        sequence_mask_metric="product",
        product_mask_low=0.5,
        product_mask_high=1.5,
    )
    assert found.weights.tolist() == pytest.approx([2, 2, 1, 1])
    assert found.mask.tolist() == [0, 0, 0, 1]


def test_the_ratio_is_described_before_any_step():
    found = off_policy_correction(TWO, tis_ratio_type="token").metrics
    # Mean 1.875; deviations 0.125, −1.375, 2.125, −0.875.
    std = math.sqrt((0.125**2 + 1.375**2 + 2.125**2 + 0.875**2) / 3)
    expected = {"is_ratio_mean": 1.875, "is_ratio_std": std, "is_ratio_max": 4.0, "is_ratio_min": 0.5}
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    one = off_policy_correction(tokens([2.0]), tis_ratio_type="token").metrics
    assert math.isnan(one["is_ratio_std"])


def test_nothing_is_switched_on():
    found = off_policy_correction(TWO)
    assert (found.metrics, found.weights, found.mask.tolist()) == ({}, None, [1, 1, 1, 1])


@pytest.mark.parametrize("name", ["tis_ratio_type", "sequence_mask_metric"])
def test_a_word_that_skyrl_does_not_know(name):
    with pytest.raises(UsageError, match=f"{name} is 'row'"):
        off_policy_correction(TWO, **{name: "row"})
