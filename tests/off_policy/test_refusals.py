"""What the corrections refuse, word for word."""

import math

import pytest
import torch

from advcli.common.errors import DataError, UsageError
from advcli.off_policy import ms_swift, nemo_rl, slime, verl
from advcli.off_policy.tokens import LogProbs

TWO = LogProbs.of(torch.zeros(2).double(), torch.tensor([0.0, math.log(2)]).double(), torch.tensor([1, 1]))
KINDS = {"truncated_importance_sampling_ratio": 2.0}


@pytest.mark.parametrize(
    ("rule", "given", "said"),
    [
        (
            nemo_rl.clipped_pg_metrics,
            {"truncated_importance_sampling_type": "icepop", **KINDS},
            "icepop needs two bounds, but one was given; try truncated_importance_sampling_ratio_min",
        ),
        (
            nemo_rl.clipped_pg_metrics,
            {
                "truncated_importance_sampling_type": "seq-mask-tis",
                "truncated_importance_sampling_ratio_min": 0.5,
                "sequence_level_importance_ratios": True,
                **KINDS,
            },
            "seq-mask-tis has weights of tokens; try sequence_level_importance_ratios=0",
        ),
        (
            nemo_rl.clipped_pg_metrics,
            {"reference_policy_kl_type": "k4"},
            "reference_policy_kl_type is 'k4'; try k1, k2 or k3",
        ),
        (
            verl.rollout_correction,
            {"rollout_is": "token", "rollout_is_threshold": "2_1"},
            "rollout_is_threshold is 2_1, expected LOW_HIGH with LOW below HIGH",
        ),
        (
            verl.rollout_correction,
            {"rollout_is": "token", "rollout_is_threshold": "0_1"},
            "rollout_is_threshold is 0, expected a number above 0",
        ),
        (
            verl.rollout_correction,
            {"rollout_is": "token", "rollout_is_threshold": "1_x"},
            "rollout_is_threshold is x, expected a number above 0",
        ),
        (
            verl.rollout_correction,
            {"rollout_rs": "token_k2", "rollout_rs_threshold": "0"},
            "rollout_rs_threshold is 0, expected a number above 0",
        ),
        (
            verl.rollout_correction,
            {"rollout_rs": "token_k1", "rollout_rs_threshold": "x"},
            "rollout_rs_threshold is x, expected a number above 0",
        ),
        (
            verl.rollout_correction,
            {"rollout_rs": "token_k1", "rollout_rs_threshold": "x_1"},
            "rollout_rs_threshold is x, expected a number above 0",
        ),
        (
            verl.rollout_correction,
            {"rollout_rs": "token_k1", "rollout_rs_threshold": "0.5"},
            "rollout_rs_threshold of token_k1 is 0.5, expected LOW_HIGH or at least 1",
        ),
        (
            verl.rollout_correction_0_7_0,
            {"rollout_is": "token", "rollout_token_veto_threshold": 0},
            "rollout_token_veto_threshold is 0, expected a number above 0",
        ),
        (
            verl.rollout_correction,
            {"rollout_is": "token", "rollout_is_threshold": 0.0},
            "rollout_is_threshold is 0.0, expected a number above 0",
        ),
        (
            verl.rollout_correction_0_7_0,
            {"rollout_is": "token", "rollout_is_threshold": -1},
            "rollout_is_threshold is -1, expected a number above 0",
        ),
        (
            verl.rollout_correction_0_7_0,
            {"rollout_rs": "row", "rollout_rs_threshold": 2.0},
            "rollout_rs is 'row'; try token, sequence or geometric",
        ),
        (verl.rollout_correction, {"rollout_is": "row"}, "rollout_is is 'row'; try token or sequence"),
        (slime.mis, {"tis_level": "row"}, "tis_level is 'row'; try token, sequence or geometric"),
        (slime.mis, {"rs_level": "row"}, "rs_level is 'row'; try token, sequence or geometric"),
        (slime.mis, {"tis_mode": "cut"}, "tis_mode is 'cut'; try truncate, clip or mask"),
        (
            slime.mis,
            {"tis_mode": "clip", "tis_lower_bound": 3},
            "the bounds are 3 and 2, expected the lower one first",
        ),
        (
            slime.mis,
            {"tis_level": "geometric"},
            "slime cannot normalise weights at the level 'geometric'; try tis_batch_normalize=false",
        ),
        (
            ms_swift.rollout_correction,
            {"rollout_importance_sampling_mode": "clip"},
            (
                "rollout_importance_sampling_mode is 'clip'; "
                "try token_truncate, token_mask, sequence_truncate or sequence_mask"
            ),
        ),
    ],
)
def test_what_is_refused(rule, given, said):
    with pytest.raises(UsageError) as caught:
        rule(TWO, **given)
    assert str(caught.value) == said


@pytest.mark.parametrize("options", ["", " , "])
def test_no_option_of_the_rejection(options):
    with pytest.raises(UsageError) as caught:
        verl.rollout_correction(TWO, rollout_rs=options, rollout_rs_threshold=2.0)
    assert str(caught.value).startswith("rollout_rs names no option; try token_k1, ")
    with pytest.raises(UsageError) as caught:
        verl.rollout_correction(TWO, rollout_rs="token_k9", rollout_rs_threshold=2.0)
    assert str(caught.value).startswith("rollout_rs is 'token_k9'; try token_k1, ")


def test_nothing_is_trained_on():
    none = LogProbs.of(torch.zeros(2), torch.zeros(2), torch.tensor([1, 1]), torch.zeros(2))
    with pytest.raises(DataError) as caught:
        verl.rollout_correction(none, rollout_is="token")
    assert str(caught.value) == "no token is trained on, so there is nothing to correct; try check --mask-col"


@pytest.mark.parametrize(
    ("low_high", "mask", "weighed"),
    [("1_1", [1, 0], [1, 0]), ("1_2.1", [1, 0], [1, 1]), ("0.4_1", [1, 1], [1, 0])],
)
def test_a_value_on_a_bound_is_inside_of_it(low_high, mask, weighed):
    # k1 is −log of the ratio: 0, on the bound 1, and −log 2.
    found = verl.rollout_correction(TWO, rollout_rs="token_k1", rollout_rs_threshold=low_high)
    assert found.mask.tolist() == mask
    found = verl.rollout_correction(TWO, rollout_is="token", rollout_is_threshold=low_high)
    assert [one > 0 for one in found.weights.tolist()] == [bool(one) for one in weighed]
