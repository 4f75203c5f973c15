"""Ratios that lie on a bound are inside of it, and the defaults are those of the frameworks."""

from functools import partial

import pytest
import torch
from off_policy.ratios import tokens as of_ratios

from advcli.off_policy import ms_swift, nemo_rl, prime_rl, skyrl, slime, verl
from advcli.off_policy.divergence import divergences
from advcli.off_policy.tokens import LogProbs

tokens = partial(of_ratios, rollout=0.0)
# Products 1 and 4, geometric means 1 and 2; the product of the first is 1 to the last digit.
TWO = tokens([2.0, 0.5], [4.0, 1.0])


@pytest.mark.parametrize(
    ("kind", "low", "high", "weights", "outside"),
    [
        ("tis", 1.0, 3.0, [2, 1, 3, 1], 0.5),
        ("tis", 0.4, 1.0, [1, 0.5, 1, 1], 0.5),
        ("icepop", 1.0, 3.0, [2, 0, 0, 1], 0.5),
        ("icepop", 0.4, 1.0, [0, 0.5, 0, 1], 0.5),
        ("icepop", 0.4, 3.0, [2, 0.5, 0, 1], 0.25),
        ("seq-mask-tis", 1.0, 1.5, [2, 0.5, 0, 0], 0.5),
        ("seq-mask-tis", 0.5, 1.0, [2, 0.5, 0, 0], 0.5),
        ("seq-mask-tis", 0.5, 3.0, [2, 0.5, 4, 1], 0.0),
    ],
)
def test_nemo_rl(kind, low, high, weights, outside):
    found = nemo_rl.clipped_pg_metrics(
        TWO,
        truncated_importance_sampling_type=kind,
        truncated_importance_sampling_ratio=high,
        truncated_importance_sampling_ratio_min=low,
    )
    assert found.weights.tolist() == pytest.approx(weights)
    assert found.metrics["is_oob_ratio"] == outside


def test_nemo_rl_takes_ratios_that_are_no_number_for_0():
    # exp(1000) is infinite, and inf − inf is none.
    logs = torch.tensor([1000.0, 0.0, -torch.inf], dtype=torch.float64)
    rollout = torch.tensor([0.0, 0.0, -torch.inf], dtype=torch.float64)
    found = nemo_rl.clipped_pg_metrics(LogProbs.of(rollout, logs, torch.tensor([3])))
    assert found.weights.tolist() == [0, 1, 0]


@pytest.mark.parametrize("kind", ["k1", "k2", "k3"])
def test_nemo_rl_has_three_kinds_of_kl(kind):
    # x = ln ½ on one token: −x, x² / 2, e^x − 1 − x.
    expected = {"k1": 0.69314718, "k2": 0.24022651, "k3": 0.19314718}
    found = nemo_rl.clipped_pg_metrics(tokens([0.5]), reference_policy_kl_type=kind)
    assert found.metrics["gen_kl_error"] == pytest.approx(expected[kind])


@pytest.mark.parametrize(
    ("given", "mask", "metrics"),
    [
        (
            {"token_mask_is_threshold_low": 1.0, "token_mask_is_threshold_high": 3.0},
            [1, 0, 0, 1],
            {"token_mask_ratio": 0.5},
        ),
        (
            {"token_mask_is_threshold_low": 0.4, "token_mask_is_threshold_high": 1.0},
            [0, 1, 0, 1],
            {"token_mask_ratio": 0.5},
        ),
        (
            {"token_mask_is_threshold_low": 0.4, "token_mask_is_threshold_high": 3.0},
            [1, 1, 0, 1],
            {"token_mask_ratio": 0.25},
        ),
        (
            {"tis_ratio_type": "token", "token_tis_ratio_clip_high": 1.0},
            [1] * 4,
            {"tis_token_clip_high_ratio": 0.5},
        ),
        (
            {"tis_ratio_type": "sequence", "sequence_tis_ratio_clip_high": 1.0},
            [1] * 4,
            {"tis_seq_clip_high_ratio": 0.5},
        ),
        (
            {"sequence_mask_metric": "product", "product_mask_low": 0.5, "product_mask_high": 1.0},
            [1, 1, 0, 0],
            {"product_sequence_mask_over_high_ratio": 0.5, "product_sequence_mask_under_low_ratio": 0},
        ),
        (
            {"sequence_mask_metric": "geometric", "geo_mask_low": 1.0, "geo_mask_high": 3.0},
            [1, 1, 1, 1],
            {"geo_sequence_mask_over_high_ratio": 0, "geo_sequence_mask_under_low_ratio": 0},
        ),
    ],
)
def test_skyrl(given, mask, metrics):
    found = skyrl.off_policy_correction(TWO, **given)
    assert found.mask.tolist() == mask
    assert {name: found.metrics[name] for name in metrics} == metrics


@pytest.mark.parametrize(
    ("given", "mask"),
    [
        ({"outlier_token_is_threshold_high": 1.0}, [1, 1, 0, 0]),
        ({"outlier_token_is_threshold_low": 1.0}, [0, 0, 1, 1]),
        ({"outlier_token_is_threshold_low": 0.4, "outlier_token_is_threshold_high": 3.0}, [1, 1, 1, 1]),
    ],
)
def test_outliers_of_skyrl(given, mask):
    found = skyrl.off_policy_correction(tokens([1.0, 0.5], [1.0, 2.0]), **given)
    assert found.mask.tolist() == mask


def test_every_step_of_skyrl_adds_its_metrics():
    given = {
        "outlier_token_is_threshold_high": 9.0,
        "token_mask_is_threshold_low": 0.1,
        "token_mask_is_threshold_high": 9.0,
        "tis_ratio_type": "token",
        "sequence_mask_metric": "product",
    }
    names = skyrl.off_policy_correction(TWO, **given).metrics.keys()
    assert names >= {
        "outlier_seq_masked_ratio",
        "token_mask_ratio",
        "tis_token_clip_high_ratio",
        "product_sequence_mask_masked_ratio",
        "is_ratio_mean",
    }


@pytest.mark.parametrize(
    ("rule", "low", "high", "weights", "changed"),
    [
        (slime.icepop, 1.0, 3.0, [2, 0, 0, 1], 0.5),
        (slime.icepop, 0.4, 1.0, [0, 0.5, 0, 1], 0.5),
        (slime.vanilla_tis, 1.0, 3.0, [2, 1, 3, 1], 0.5),
    ],
)
def test_slime(rule, low, high, weights, changed):
    found = rule(TWO, tis_clip_low=low, tis_clip=high)
    assert found.weights.tolist() == pytest.approx(weights)
    assert found.metrics["tis_clipfrac"] == changed


BARE = {"tis_batch_normalize": False, "rs_veto_threshold": None}


@pytest.mark.parametrize(("low", "high", "below", "above"), [(1.0, 3.0, 0.25, 0.25), (0.4, 1.0, 0.0, 0.5)])
def test_shares_outside_of_the_bounds_of_slime(low, high, below, above):
    # Means over rows of the mean over tokens: ½ is below 1, 4 above 3; 2 and 4 are above 1.
    found = slime.mis(TWO, tis_mode="clip", tis_lower_bound=low, tis_upper_bound=high, use_rs=False, **BARE)
    assert found.metrics["mis_tis_clip_fraction_low"] == below
    assert found.metrics["mis_tis_clip_fraction_high"] == above


@pytest.mark.parametrize(
    ("low", "high", "mask"), [(1.0, 3.0, [1, 0, 0, 1]), (0.4, 1.0, [0, 1, 0, 1]), (None, None, [1, 1, 1, 1])]
)
def test_bounds_of_the_rejection_of_slime(low, high, mask):
    # Its own bounds, else those of the weights.
    given = {"rs_lower_bound": low, "rs_upper_bound": high, "tis_lower_bound": 0.1, "tis_upper_bound": 9.0}
    assert slime.mis(TWO, **given, **BARE).mask.tolist() == mask


def test_a_ratio_on_the_veto_of_slime_stays():
    given = {"tis_lower_bound": 0.1, "tis_upper_bound": 9.0, "rs_veto_threshold": 1.0}
    assert slime.mis(tokens([1.0, 2.0], [2.0, 0.5]), **given).mask.tolist() == [1, 1, 0, 0]


def test_weights_of_slime_without_a_mean_stay():
    # No ratio is below e^-20, and a mean below 1e-8 is none to divide by.
    found = slime.mis(tokens([1e-9, 1e-10]), use_rs=False)
    assert found.weights.tolist() == pytest.approx([2.061153622e-09] * 2)
    assert found.metrics["mis_batch_norm_factor"] == 1.0


def test_prime_rl():
    # Probabilities 1 and, beside them, 1.5, 1 and 0.5: the change is 0.5, 0 and −0.5.
    three = tokens([1.5], [1.0], [0.5])
    for advantage, mask in ((1.0, [1, 1, 1]), (-1.0, [1, 1, 1])):
        found = prime_rl.default_loss(
            three, torch.full((3,), advantage), dppo_mask_low=0.5, dppo_mask_high=0.5
        )
        assert found.mask.tolist() == mask
    # Without an advantage only a fall counts.
    found = prime_rl.default_loss(three, torch.zeros(3), dppo_mask_low=0.4, dppo_mask_high=0.4)
    assert found.mask.tolist() == [1, 1, 0]
    assert found.weights.tolist() == pytest.approx([1.5, 1.0, 0.5])
    assert found.per_row["masked_advantage_positive"].tolist() == [0, 0, 0]
    assert found.per_row["masked_advantage_negative"].tolist() == [0, 0, 0]
    assert prime_rl.ipo_loss(three, ipo_threshold=0.5).mask.tolist() == [1, 1, 1]


WIDE = tokens(
    [1.5, 0.7], [2.5, 0.9], [4.0, 0.3], [7.0, 0.97], [1.005, 1.002], [1e-5, 1.0], [1e-3, 1.1], [0.995]
)
ADVANTAGES = torch.tensor([1.0, -1.0] * 4)


@pytest.mark.parametrize(
    ("rule", "given", "defaults"),
    [
        (slime.vanilla_tis, {}, {"tis_clip": 2.0, "tis_clip_low": 0.0}),
        (slime.icepop, {}, {"tis_clip": 2.0, "tis_clip_low": 0.0}),
        (
            slime.mis,
            {"tis_mode": "clip"},
            {
                "tis_level": "token",
                "rs_level": "token",
                "tis_lower_bound": 0.5,
                "tis_upper_bound": 2.0,
                "use_tis": True,
                "use_rs": True,
                "tis_batch_normalize": True,
            },
        ),
        (slime.mis, {"rs_lower_bound": 1e-9, "rs_upper_bound": 9.0}, {"rs_veto_threshold": 1e-4}),
        (slime.mis, {}, {"tis_mode": "truncate", "rs_lower_bound": 0.5, "rs_upper_bound": 2.0}),
        (skyrl.off_policy_correction, {"tis_ratio_type": "token"}, {"token_tis_ratio_clip_high": 2.0}),
        (skyrl.off_policy_correction, {"tis_ratio_type": "sequence"}, {"sequence_tis_ratio_clip_high": 5.0}),
        (
            skyrl.off_policy_correction,
            {"sequence_mask_metric": "geometric"},
            {"geo_mask_low": 0.99, "geo_mask_high": 1.01},
        ),
        (
            skyrl.off_policy_correction,
            {"sequence_mask_metric": "product"},
            {"product_mask_low": 0.5, "product_mask_high": 2.0},
        ),
        *(
            (
                ms_swift.rollout_correction,
                {"rollout_importance_sampling_mode": mode},
                {"rollout_importance_sampling_threshold": 2.0},
            )
            for mode in ("token_truncate", "sequence_mask")
        ),
        (verl.rollout_correction, {"rollout_is": "token"}, {"rollout_is_threshold": 2.0}),
        (verl.rollout_correction_0_7_0, {"rollout_is": "token"}, {"rollout_is_threshold": 2.0}),
        (prime_rl.ipo_loss, {}, {"ipo_threshold": 0.1}),
        (
            prime_rl.default_loss,
            {"advantages": ADVANTAGES},
            {"dppo_mask_low": 0.2, "dppo_mask_high": 0.2},
        ),
    ],
)
def test_defaults(rule, given, defaults):
    found, expected = rule(WIDE, **given), rule(WIDE, **given, **defaults)
    assert found.metrics == expected.metrics
    assert torch.equal(found.mask, expected.mask)
    assert found.weights is expected.weights is None or torch.equal(found.weights, expected.weights)
    for name, values in expected.per_row.items():
        assert torch.equal(found.per_row[name], values)


def test_ratios_beyond_e_to_the_20_count_as_that():
    # χ² of a row is the square of its product minus 1: e^40 − 1.
    far = LogProbs.of(torch.zeros(2).double(), torch.tensor([15.0, 15.0]).double(), torch.tensor([2]))
    assert float(divergences(far)["chi2_seq"]) == pytest.approx(2.3538526683702e17)
    assert slime.mis(far).metrics["mis_chi2_seq"] == pytest.approx(2.3538526683702e17)
    one = LogProbs.of(torch.zeros(2).double(), torch.tensor([30.0, -30.0]).double(), torch.tensor([1, 1]))
    found = ms_swift.rollout_correction(
        one,
        rollout_importance_sampling_mode="sequence_truncate",
        rollout_importance_sampling_threshold=1e10,
    )
    # e^20 and e^−20.
    assert found.weights.tolist() == pytest.approx([4.85165195e8, 2.06115362e-9])


def test_a_share_of_ms_swift_on_its_bound():
    found = ms_swift.rollout_correction(
        TWO, rollout_importance_sampling_mode="sequence_mask", rollout_importance_sampling_threshold=2.0
    )
    # The geometric means are 1 and 2.
    assert found.metrics["clipped_frac"] == 0.0


def test_the_sample_size_of_ms_swift_is_of_weights_between_both_bounds():
    # The mean of the row is 2, so no token is dropped; 8 counts as 2, and ½ as it is: 1 / E[(w / E w)²] of 2 and ½.
    found = ms_swift.rollout_correction(
        tokens([8.0, 0.5]),
        rollout_importance_sampling_mode="sequence_mask",
        rollout_importance_sampling_threshold=2.0,
    )
    assert found.weights.tolist() == pytest.approx([8.0, 0.5])
    assert found.metrics["ess"] == pytest.approx(1.25**2 / ((4 + 0.25) / 2))


def test_the_bounds_of_verl_are_those_of_its_metrics():
    # Between 0.6 and 2: of 2, ½, 4 and 1 one is below and one above; by default below ½ and above 2.
    for threshold, low in (("0.6_2", 0.25), (2.0, 0.0)):
        found = verl.rollout_correction(TWO, rollout_is="token", rollout_is_threshold=threshold).metrics
        assert found["rollout_corr/rollout_is_ratio_fraction_low"] == low
        assert found["rollout_corr/rollout_is_ratio_fraction_high"] == 0.25


@pytest.mark.parametrize(("low", "high", "mask"), [(1.0, 2.0, [1, 0, 0, 1]), (0.5, 1.0, [0, 1, 0, 1])])
def test_a_ratio_on_a_bound_stays_up_to_0_7_0(low, high, mask):
    given = {"rollout_rs": "token", "rollout_rs_threshold": high, "rollout_rs_threshold_lower": low}
    found = verl.rollout_correction_0_7_0(TWO, **given)
    assert found.mask.tolist() == mask
    assert found.metrics["rollout_corr/rollout_rs_masked_fraction"] == 0.5


@pytest.mark.parametrize(("log_ratio", "kl"), [(30.0, -20.0), (-30.0, 20.0)])
def test_verl_clamps_a_log_ratio_before_it_estimates_the_kl(log_ratio, kl):
    one = LogProbs.of(
        torch.zeros(1, dtype=torch.float64), torch.tensor([log_ratio]).double(), torch.tensor([1])
    )
    found = verl.rollout_correction(one, rollout_rs="token_k1", rollout_rs_threshold=2.0)
    assert found.metrics["rollout_corr/rollout_rs_token_k1_mean"] == kl


def test_a_row_on_the_bound_of_verl_is_inside_of_it():
    # 0.3² / 2 is 0.045; the mean of three of them is above that in its last digit.
    three = LogProbs.of(
        torch.zeros(3).double(), torch.tensor([-0.3] * 3, dtype=torch.float64), torch.tensor([3])
    )
    found = verl.rollout_correction(three, rollout_rs="seq_max_k2", rollout_rs_threshold=0.045)
    assert found.metrics["rollout_corr/rollout_rs_seq_max_k2_seq_fraction_high"] == 0


def test_a_token_on_the_bound_of_verl_is_neither_high_nor_low():
    # −ln of 2, ½, 4 and 1; the bounds are −ln 2 and ln 2.
    found = verl.rollout_correction(TWO, rollout_rs="token_k1", rollout_rs_threshold="0.5_2").metrics
    assert found["rollout_corr/rollout_rs_token_k1_fraction_low"] == 0.25
    assert found["rollout_corr/rollout_rs_token_k1_fraction_high"] == 0


@pytest.mark.parametrize(("low", "rejected"), [(1.0, 0.5), (1.1, 1.0)])
def test_up_to_0_7_0_a_row_without_tokens_lies_on_a_bound_of_1(low, rejected):
    # The product of the first row is 9; the second has no trained token.
    given = {"rollout_rs": "sequence", "rollout_rs_threshold": 4.0, "rollout_rs_threshold_lower": low}
    found = verl.rollout_correction_0_7_0(tokens([3.0, 3.0], [1.0], mask=[1, 1, 0]), **given)
    assert found.metrics["rollout_corr/rollout_rs_seq_masked_fraction"] == rejected


@pytest.mark.parametrize("correct", [verl.rollout_correction, verl.rollout_correction_0_7_0])
@pytest.mark.parametrize(("level", "factor"), [("token", (1 + 1 + 0.5) / 3), ("sequence", (1 + 0.5) / 2)])
def test_the_mean_of_weights_is_one_of_tokens_or_of_rows(correct, level, factor):
    found = correct(tokens([1.0, 1.0], [0.5]), rollout_is=level, rollout_is_batch_normalize=True)
    assert found.metrics["rollout_corr/rollout_is_batch_norm_factor"] == pytest.approx(factor)


def test_nemo_rl_takes_an_infinite_log_ratio_for_0_in_the_mean_of_a_row():
    # ln 4 and −∞: the geometric mean is 2.
    found = nemo_rl.clipped_pg_metrics(
        tokens([4.0, 0.0]),
        truncated_importance_sampling_type="seq-mask-tis",
        truncated_importance_sampling_ratio=2.5,
        truncated_importance_sampling_ratio_min=0.5,
    )
    assert found.weights.tolist() == [4, 0]
    assert found.metrics["is_oob_ratio"] == 0
