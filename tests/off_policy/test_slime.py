"""slime's example, by hand: ratios 2 and ½ in the first row, 4 and 1 in the second."""

import math

import pytest
from off_policy.ratios import TWO

from advcli import UsageError
from advcli.off_policy.slime import mis, vanilla_tis

BARE = {"tis_batch_normalize": False, "use_rs": False}


def test_without_weights_nothing_is_rejected_either():
    found = mis(TWO, use_tis=False, use_rs=True)
    assert (found.weights, found.mask.tolist()) == (None, [1, 1, 1, 1])
    # The mean over rows of k1: rows have −ln 1 / 2 and −ln 4 / 2.
    assert found.metrics["mis_kl"] == pytest.approx(-0.34657359)


@pytest.mark.parametrize(
    ("mode", "weights", "mask"),
    [
        ("truncate", [2, 0.5, 3, 1], [1, 1, 1, 1]),
        ("clip", [2, 0.6, 3, 1], [1, 1, 1, 1]),
        ("mask", [2, 0.5, 4, 1], [1, 0, 0, 1]),
    ],
)
def test_modes(mode, weights, mask):
    found = mis(TWO, tis_mode=mode, tis_lower_bound=0.6, tis_upper_bound=3.0, **BARE)
    assert found.weights.tolist() == pytest.approx(weights)
    assert found.mask.tolist() == mask


def test_rejection_without_a_veto():
    given = {"tis_lower_bound": 0.6, "tis_upper_bound": 3.0, "tis_batch_normalize": False}
    found = mis(TWO, rs_veto_threshold=None, **given)
    assert found.mask.tolist() == [1, 0, 0, 1]
    assert not any("catastrophic" in name for name in found.metrics)
    # A veto below ½ drops the whole first row.
    assert mis(TWO, rs_veto_threshold=0.55, **given).mask.tolist() == [0, 0, 0, 1]


def test_a_lower_bound_of_its_own():
    found = mis(TWO, tis_mode="clip", tis_lower_bound=None, tis_upper_bound=1.25, **BARE)
    assert found.weights.tolist() == pytest.approx([1.25, 0.8, 1.25, 1])


@pytest.mark.parametrize(
    ("level", "weights"),
    [("token", [2 / 1.625, 0.5 / 1.625, 3 / 1.625, 1 / 1.625]), ("sequence", [0.5, 0.5, 1.5, 1.5])],
)
def test_weights_over_their_mean(level, weights):
    # Tokens truncated at 3 have the mean 1.625; products 1 and 4, truncated, the mean 2 over rows.
    found = mis(TWO, tis_level=level, tis_upper_bound=3.0, use_rs=False)
    assert found.weights.tolist() == pytest.approx(weights)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tis_level": "row"}, "tis_level is 'row'"),
        ({"rs_level": "row"}, "rs_level is 'row'"),
        ({"tis_mode": "drop"}, "tis_mode is 'drop'"),
        (
            {"tis_mode": "clip", "tis_lower_bound": 2.0},
            "the bounds are 2 and 2, expected the lower one first",
        ),
        ({"tis_level": "geometric"}, "slime cannot normalise weights at the level 'geometric'"),
    ],
)
def test_what_slime_refuses(given, said):
    with pytest.raises(UsageError, match=said):
        mis(TWO, **given)


def test_what_the_built_in_functions_log():
    # Means over rows of the mean of each: ratios 2 and ½, 4 and 1; the bound is 3.
    found = vanilla_tis(TWO, tis_clip=3.0).metrics
    expected = {
        "tis": (1.25 + 2.5) / 2,
        "tis_clipfrac": 0.25,
        "tis_abs": (0.75 + 1.5) / 2,
        "train_rollout_logprob_abs_diff": math.log(2),
    }
    assert found == pytest.approx(expected)


def test_what_is_logged_of_weights_and_of_the_veto():
    given = {"tis_lower_bound": 0.1, "tis_upper_bound": 3.0, "tis_batch_normalize": False}
    found = mis(TWO, rs_veto_threshold=0.6, **given).metrics
    # Weights 2 and ½, 3 and 1.
    finals = {"mean": (1.25 + 2) / 2, "min": (0.5 + 1) / 2, "max": (2 + 3) / 2}
    assert {name: found[f"mis_is_ratio_{name}_final"] for name in finals} == pytest.approx(finals)
    assert found["mis_rs_catastrophic_token_fraction"] == 0.25
    assert found["mis_rs_catastrophic_seq_fraction"] == 0.5
    assert found["mis_tis_truncate_fraction"] == 0.25
