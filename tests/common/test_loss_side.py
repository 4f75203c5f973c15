"""Methods of the loss are named and refused in one sentence, with and without --like."""

import pytest

from advcli import UsageError, compute_advantages
from advcli.common.loss_side import LOSS_SIDE, refusal
from advcli.estimators.catalog import ESTIMATORS
from advcli.frameworks.catalog import RULES, find


@pytest.mark.parametrize("name", [*LOSS_SIDE, "GSPO", "clip-cov"])
def test_a_method_of_the_loss_is_refused(name):
    with pytest.raises(UsageError) as caught:
        compute_advantages([1, 0], [0, 0], estimator=name)
    assert str(caught.value).startswith(f"{name} changes ")
    assert str(caught.value).endswith("not the advantage, which is that of grpo; try --estimator grpo")


def test_with_a_framework_the_hint_is_its_own_first_estimator():
    with pytest.raises(UsageError, match="which is that of group_norm; try --estimator group_norm"):
        compute_advantages([1, 0], [0, 0], like="openrlhf", estimator="gspo")


def test_nothing_that_can_be_computed_is_refused():
    assert refusal("grpo") is None
    assert not set(LOSS_SIDE) & set(ESTIMATORS.names())
    # A framework may call its estimator so, and is then asked for it.
    assert all(find(rule.framework, rule.estimator) for rule in RULES if rule.estimator in LOSS_SIDE)
