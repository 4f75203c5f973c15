"""Settings of a framework's correction, and log-probabilities of which some are missing."""

import math

import pytest
import torch

from advcli.common.errors import DataError, UsageError
from advcli.engine.plan import Plan
from advcli.engine.rollouts import Rollouts, _with_weights
from advcli.engine.run import run
from advcli.engine.weighing import Weigher, log_probs, settings, weighted
from advcli.filters.catalog import filter_spec
from advcli.off_policy.catalog import find
from advcli.records.settings import AdvantageTable, Settings

VERL, SLIME = find("verl"), find("slime")


@pytest.mark.parametrize(
    ("row", "given", "expected"),
    [
        (VERL, {"rollout_is": "none"}, {"rollout_is": None}),
        (VERL, {"rollout_is_threshold": 2.0}, {"rollout_is_threshold": 2.0}),
        (VERL, {"rollout_is_threshold": "0.5_2"}, {"rollout_is_threshold": "0.5_2"}),
        (VERL, {"rollout_rs": "token_k1+seq_sum_k3"}, {"rollout_rs": "token_k1,seq_sum_k3"}),
        (SLIME, {"use_rs": "false", "use_tis": 1.0}, {"use_rs": False, "use_tis": True}),
        (SLIME, {"rs_veto_threshold": "null"}, {"rs_veto_threshold": None}),
    ],
)
def test_settings_have_the_type_that_is_declared(row, given, expected):
    assert settings(row, given) == expected


@pytest.mark.parametrize(
    ("row", "given", "said"),
    [
        (SLIME, {"use_rs": "maybe"}, "use_rs is 'maybe', expected true or false"),
        (SLIME, {"tis_upper_bound": "high"}, "tis_upper_bound is 'high', expected a number"),
        (SLIME, {"bound": 1.0}, "mis of slime has no 'bound'"),
        (
            find("ms-swift", "", "off_policy_sequence_mask"),
            {},
            (
                "^off_policy_sequence_mask of ms-swift needs off_policy_sequence_mask_delta; "
                "try off_policy_sequence_mask_delta=…$"
            ),
        ),
    ],
)
def test_settings_that_do_not_fit(row, given, said):
    with pytest.raises(UsageError, match=said):
        settings(row, given)


def test_bounds_with_a_bar_are_no_number():
    assert filter_spec("after", "correction:rollout_is_threshold=1_2").knobs == {
        "rollout_is_threshold": "1_2"
    }


def test_a_function_by_its_name():
    weigher = Weigher.of(filter_spec("after", "correction:function=icepop,tis_clip=3"), "slime")
    assert (weigher.framework, weigher.signed) == ("slime", False)


def test_a_row_with_an_unknown_number_has_no_trained_token():
    columns = {
        "rollout_log_probs": torch.tensor([-1.0, math.nan, -1.0, math.nan]),
        "log_probs": torch.tensor([-1.0, -1.0, -2.0, -1.0]),
        "tokens": torch.tensor([2, 2]),
        "mask": torch.tensor([1.0, 1.0, 1.0, 0.0]),
    }
    # The second token of row 1 is not trained on, so that it is unknown does not matter.
    assert log_probs(columns, "tis").mask.tolist() == [0, 0, 1, 0]


def test_the_mean_weight_of_a_row():
    table = AdvantageTable(
        *(torch.tensor([1.0, -2.0, 3.0]) for _ in range(2)), torch.ones(3, dtype=torch.bool)
    )
    found = weighted(
        table, torch.tensor([1.0, 2.0, math.nan, 0.5, math.nan]).double(), torch.tensor([3, 1, 1])
    )
    assert found.weight.tolist()[:2] == [1.5, 0.5]
    assert found.weighted.tolist()[:2] == [1.5, -1.0]
    assert found.weight[2].isnan()


def test_weights_of_rollouts_come_back_to_their_rows():
    # Rows 0 and 2 are one rollout: its tokens are 10 11 and 30.
    rollouts = Rollouts.of(torch.tensor([0, 1, 0]))
    table = AdvantageTable(torch.ones(3), torch.ones(3), torch.ones(3, dtype=torch.bool))
    table = weighted(table, torch.tensor([10.0, 11.0, 30.0, 20.0]).double(), torch.tensor([2, 1, 1]))
    found = _with_weights(rollouts, table, torch.tensor([2, 1, 1]))
    assert found.weights.tolist() == [10.0, 11.0, 20.0, 30.0]
    assert found.weight.tolist() == [10.5, 20.0, 30.0]


# --- through the door ---------------------------------------------------------------------------------

# Ratios 4, ½ and a token that is not trained on; ⅛; 1; 1 and 2.
RATIOS = [4.0, 0.5, 1.0, 0.125, 1.0, 1.0, 2.0]


def columns(**given):
    rollout = torch.full((7,), -3.0, dtype=torch.float64)
    return {
        "rewards": torch.tensor([0.0, 1.0, 0.0, 1.0], dtype=torch.float64),
        "group": torch.zeros(4, dtype=torch.int64),
        "step": torch.tensor([0, 0, 1, 1]),
        "tokens": torch.tensor([3, 1, 1, 2]),
        "mask": torch.tensor([1.0, 1, 0, 1, 1, 1, 1]),
        "rollout_log_probs": rollout,
        "log_probs": rollout + torch.tensor(RATIOS, dtype=torch.float64).log(),
        **given,
    }


def weighed(*texts, given=None, **settings):
    filters = tuple(filter_spec("after", text) for text in texts)
    return run(Plan.of(Settings(filters=filters, **settings)), given or columns())


A = [-(0.75**0.5), 0.75**0.5] * 2


def test_weights_of_one_filter_and_of_several():
    found = weighed("tis:high=3")
    weights = [1.75, 0.125, 1.0, 1.5]
    assert found.weight.tolist() == pytest.approx(weights)
    assert found.weighted.tolist() == pytest.approx([a * w for a, w in zip(A, weights, strict=True)])
    assert found.kept.all()
    found = weighed("tis:high=3", "reject:level=token,low=0.4")
    assert found.weight.tolist() == pytest.approx([0.25, 0.0, 1.0, 1.5])
    assert found.kept.tolist() == [True, False, True, True]


def test_a_filter_that_looks_at_the_sign():
    # Row 1 fell by ln 8 and has A > 0; with the signs turned it is dropped.
    assert weighed("opsm:delta=0.5").kept.all()
    turned = columns(rewards=torch.tensor([1.0, 0.0, 1.0, 0.0], dtype=torch.float64))
    assert weighed("opsm:delta=0.5", given=turned).kept.tolist() == [True, False, True, True]


def test_a_framework_weighs_each_step_by_itself():
    found = weighed("correction:rollout_is=token,rollout_is_batch_normalize=true", like="verl")
    # Step 0: weights 2, ½, ⅛ over their mean 0.875; step 1: 1, 1, 2 over 4/3.
    assert found.weight.tolist() == pytest.approx([1.25 / 0.875, 0.125 / 0.875, 0.75, 1.125], abs=1e-6)


def test_weights_of_rollouts_of_several_rows():
    # Rollouts: rows 0 and 1, whose last reward is 1; then 0 and 1.
    found = weighed("tis:high=3", given=columns(rollout=torch.tensor([0, 0, 1, 2])))
    third = 1 / 3**0.5
    assert found.original.tolist() == pytest.approx([third, third, -2 * third, third])
    assert found.weight.tolist() == pytest.approx([1.75, 0.125, 1.0, 1.5])


def test_a_placeholder_is_no_log_probability():
    with pytest.raises(DataError, match="tis: every trainer log-probability is 0"):
        weighed("tis", given=columns(log_probs=torch.zeros(7, dtype=torch.float64)))


@pytest.mark.parametrize(("given", "dtype"), [({}, torch.float64), ({"as_trained": True}, torch.float32)])
def test_log_probabilities_are_those_of_a_trainer_where_asked_for(given, dtype):
    columns = {"tokens": torch.tensor([1]), "rollout_log_probs": torch.tensor([-0.1], dtype=torch.float64)}
    found = log_probs({**columns, "log_probs": torch.tensor([-0.2], dtype=torch.float64)}, "tis", **given)
    assert (found.rollout.dtype, found.padded) == (dtype, dtype == torch.float32)


def test_tokens_that_are_trained_on_may_be_said_without_a_mask():
    one = torch.tensor([-0.1, -0.2])
    columns = {"tokens": torch.tensor([2]), "rollout_log_probs": one, "log_probs": one - 0.1}
    assert log_probs({**columns, "trained": torch.tensor([1.0, 0.0])}, "tis").mask.tolist() == [1, 0]
