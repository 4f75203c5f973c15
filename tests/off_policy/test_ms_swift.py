"""What ms-swift does without a mode, and with one that it does not know."""

import pytest
from off_policy.ratios import TWO

from advcli import UsageError
from advcli.off_policy.ms_swift import rollout_correction


def test_without_a_mode_it_only_logs():
    found = rollout_correction(TWO)
    assert (found.weights, found.mask.tolist()) == (None, [1, 1, 1, 1])
    # Geometric means 1 and 2.
    assert found.metrics["chi2_seq"] == pytest.approx((1 + 4) / 2 - 1)
    assert "ess" not in found.metrics


def test_another_mode():
    with pytest.raises(UsageError, match="rollout_importance_sampling_mode is 'clip'"):
        rollout_correction(TWO, rollout_importance_sampling_mode="clip")
