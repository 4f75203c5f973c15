"""What frameworks log of a correction, by hand."""

import math
from functools import partial

import pytest
import torch
from off_policy.ratios import tokens as of_ratios

from advcli.off_policy import ms_swift, nemo_rl, prime_rl, slime

tokens = partial(of_ratios, rollout=0.0)
TWO = tokens([2.0, 0.5], [4.0, 1.0])


@pytest.mark.parametrize("mode", ["token_truncate", "token_mask"])
def test_what_ms_swift_logs_of_tokens(mode):
    found = ms_swift.rollout_correction(
        TWO, rollout_importance_sampling_mode=mode, rollout_importance_sampling_threshold=3.0
    ).metrics
    assert found["clipped_frac"] == 0.25
    # ρ − 1 − ln ρ of 2, ½, 4 and 1.
    assert found["k3_kl"] == pytest.approx((1 - 0.5 + 3 - math.log(4)) / 4)


def test_what_nemo_rl_logs():
    # Probabilities of the sampler 1, of the trainer ½ and ¼; their mixture ¾ and ⅝.
    found = nemo_rl.clipped_pg_metrics(tokens([0.5], [0.25])).metrics
    shares = [(0.5, 0.75), (0.25, 0.625)]

    def k3(p, q):
        return p / q - 1 - math.log(p / q)

    js = [0.5 * (k3(p, m) + k3(1, m)) for p, m in shares]
    assert found["js_divergence_error"] == pytest.approx(sum(js) / 2)
    assert found["approx_entropy"] == pytest.approx(-(0.5 * math.log(0.5) + 0.25 * math.log(0.25)) / 2)
    assert found["token_mult_prob_error"] == 3
    assert found["policy_kl_error"] == pytest.approx((k3(2, 1) + k3(4, 1)) / 2)
    assert found["gen_kl_error"] == pytest.approx((k3(1, 2) + k3(1, 4)) / 2)


def test_what_prime_rl_logs():
    # The first row rises by ½ with a positive advantage, the second falls by ½ with a negative one.
    found = prime_rl.default_loss(
        tokens([1.5, 1.0], [0.5, 1.0]), torch.tensor([1.0, -1.0]), dppo_mask_low=0.4, dppo_mask_high=0.4
    )
    rows = {name: values.tolist() for name, values in found.per_row.items()}
    k3 = [0.5 - math.log(1.5), -0.5 - math.log(0.5)]
    assert rows == {
        "masked_mismatch_kl": pytest.approx(k3),
        "unmasked_mismatch_kl": [0, 0],
        "is_masked": [0.5, 0.5],
        "is_masked_low": [0, 0.5],
        "is_masked_high": [0.5, 0],
        "masked_advantage_positive": [1, 0],
        "masked_advantage_negative": [0, 1],
    }
    assert {name: values.tolist() for name, values in found.per_token.items()} == {
        "mismatch_kl": pytest.approx([k3[0], 0, k3[1], 0]),
        "importance_ratio": pytest.approx([1.5, 1, 0.5, 1]),
    }


def test_what_slime_logs_of_both_policies():
    found = slime.mis(
        TWO, tis_lower_bound=0.1, tis_upper_bound=3.0, tis_batch_normalize=False, rs_veto_threshold=None
    ).metrics
    # Means over rows of the mean of each: squares 4 and ¼, 16 and 1; weights 2 and ½, 3 and 1.
    assert found["mis_chi2_token"] == pytest.approx((4.25 / 2 + 17 / 2) / 2 - 1)
    assert found["mis_is_ratio_mean_after_tis_rs"] == pytest.approx((1.25 + 2) / 2)
