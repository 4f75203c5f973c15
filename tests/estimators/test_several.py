"""gdpo: literals of the paper's frameworks, a plain loop, missing parts, dead and undefined cases, arithmetic."""

import math

import numpy as np
import pytest
import references_batch
import torch
from repeated import over

from advcli import UsageError, compute_advantages
from advcli.estimators.group import grpo
from advcli.estimators.several import gdpo, gdpo_sum, papo

NAN, INF = math.nan, math.inf
# reference/trl-family.md section 6: accuracy and format of 3 prompts × 4 rows
ACCURACY = [1, 0, 0, 1, 1, 1, 1, 1, 0, NAN, 1, 0]
FORMAT = [0.1, 0.1, 0, 0.1, 0.1, 0.1, 0.1, 0.1, NAN, NAN, 0.1, 0.1]
PARTS = [list(row) for row in zip(ACCURACY, FORMAT, strict=True)]
GROUP = [0] * 4 + [1] * 4 + [2] * 4


def columns(parts, group, step=None, weights=None, dtype=torch.float64):
    step = [0] * len(group) if step is None else step
    kinds = len(parts[0]) if parts else 2
    return (
        torch.tensor(parts, dtype=dtype).reshape(len(parts), kinds),
        torch.tensor([1.0] * kinds if weights is None else weights, dtype=dtype),
        torch.tensor(group, dtype=torch.int64),
        torch.tensor(step, dtype=torch.int64),
    )


def call(parts, group, step=None, weights=None, **knobs):
    return gdpo(*columns(parts, group, step, weights), **knobs).tolist()


# --- literals -----------------------------------------------------------------------------------------


def test_golden_numbers():
    # reference/estimators.md D5
    found = call([[1, 0], [1, 1], [0, 0], [0, 1]], [0] * 4, eps=1e-4, batch_eps=1e-4)
    assert found == pytest.approx([0, 1.2247, -1.2247, 0], abs=2e-4)


def test_golden_numbers_of_trl():
    # v1.6+: the row without any part is left out; TRL writes 0 for it.
    found = call(PARTS, GROUP, eps=1e-4, batch_eps=1e-4)
    expected = [1.275807, -0.342932, -2.208683, 1.275807, *[0] * 4, -0.53958, NAN, 1.079159, -0.53958]
    assert found == pytest.approx(expected, abs=2e-6, nan_ok=True)


def test_golden_numbers_of_older_trl():
    # v0.27 to 1.5 count the row without any part as a 0 in the step: 12 rows and not 11.
    found = call(PARTS, GROUP, eps=1e-4, batch_eps=1e-4)
    older = [1.338072, -0.359668, -2.316476, 1.338072, *[0] * 4, -0.565913, NAN, 1.131827, -0.565913]
    assert [a * (11 / 10) ** 0.5 for a in found] == pytest.approx(older, rel=1e-5, nan_ok=True)


def test_golden_numbers_of_verl():
    # Two dead parts next to a live one: it is grpo of the live one, over the std of the step.
    parts = [[1, 0.5], [0, 0.5], [0, 0.5], [0, 0.5]]
    z = grpo(*(torch.tensor(c) for c in ([1.0, 0, 0, 0], [0] * 4, [0] * 4)), eps=1e-6)
    found = call(parts, [0] * 4, eps=1e-6)
    assert found == pytest.approx((z / z.std()).tolist(), abs=1e-6)


# --- a plain loop and laws ----------------------------------------------------------------------------


@over(seed=range(40))
@pytest.mark.parametrize(
    "knobs", [{}, {"eps": 1e-4, "batch_eps": 1e-4}, {"ddof": 0, "eps": 0.3}, {"ddof": 2, "batch_eps": 0.5}]
)
def test_equals_a_plain_loop(knobs, seed):
    dump = references_batch.random_columns(seed)
    given = [dump[key] for key in ("parts", "weights", "group", "step")]
    parts, weights, group, step = given
    found = call(parts, group, step, weights, **knobs)
    expected = references_batch.gdpo(*given, **knobs)
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-11, nan_ok=True)


@over(seed=range(5))
def test_every_part_may_be_shifted_and_scaled_on_its_own(seed):
    dump = references_batch.random_columns(seed)
    parts, group, step = dump["parts"], dump["group"], dump["step"]
    moved = [[8 * a + 3, b / 4 - 16] for a, b in parts]
    found = call(parts, group, step, [1.0, 0.5])
    assert call(moved, group, step, [1.0, 0.5]) == pytest.approx(found, rel=1e-9, abs=1e-9, nan_ok=True)
    swapped = call([[b, a] for a, b in parts], group, step, [0.5, 1.0])
    assert swapped == pytest.approx(found, rel=1e-12, abs=1e-12, nan_ok=True)
    assert call(parts, group, step, [4.0, 2.0]) == pytest.approx(found, rel=1e-12, abs=1e-12, nan_ok=True)


@over(seed=range(5))
def test_sums_to_0_in_every_group_and_has_variance_1_in_every_step(seed):
    dump = references_batch.random_columns(seed)
    found = call(dump["parts"], dump["group"], dump["step"])
    for rows in references_batch.members(dump["group"]).values():
        own = [found[row] for row in rows if not math.isnan(found[row])]
        assert math.fsum(own) == pytest.approx(0, abs=1e-10)
    for rows in references_batch.members(dump["step"]).values():
        own = [found[row] for row in rows if not math.isnan(found[row])]
        assert not own or references_batch.variance(own) == pytest.approx(1, rel=1e-10) or not any(own)


def test_one_part_is_grpo_over_the_std_of_the_step():
    rewards, group = [0.1, 0.9, 0.4, 0.4, 0.0, 1.0, 1.0], [0] * 4 + [1] * 3
    _, _, *index = columns([[r] for r in rewards], group)
    z = grpo(torch.tensor(rewards, dtype=torch.float64), *index)
    assert call([[r] for r in rewards], group) == pytest.approx((z / z.std()).tolist(), rel=1e-14)


# --- missing, undefined, dead -------------------------------------------------------------------------


@pytest.mark.parametrize("hole", [NAN, INF, -INF])
def test_a_missing_part_is_out_of_the_statistics_and_counts_0(hole):
    parts = [[0, 1], [1, 0], [2, 5], [hole, 2]]
    found = call(parts, [0] * 4)
    ratio = found[3] / found[0]
    second = [1, 0, 5, 2]
    z = [(r - 2) / references_batch.variance(second) ** 0.5 for r in second]
    assert ratio == pytest.approx(z[3] / (z[0] - 1))


def test_a_part_of_one_row_adds_nothing():
    assert call([[7, 0], [NAN, 1], [NAN, 2]], [0] * 3) == pytest.approx([-1, 0, 1])


def test_rows_that_share_no_part_with_another_are_undefined_and_do_not_count():
    parts = [[1, NAN], [NAN, 1], [0, 0], [4, 4], [0.5, 0.5], [0, 0], [1, 0]]
    found = call(parts, [0, 0, 1, 1, 2, 3, 3])
    assert [math.isnan(a) for a in found] == [True, True, False, False, True, False, False]
    assert found[2:4] + found[5:] == pytest.approx(call([[0, 0], [4, 4], [0, 0], [1, 0]], [0, 0, 1, 1]))


@pytest.mark.parametrize("knobs", [{}, {"eps": 1e-4, "batch_eps": 1e-4}])
@pytest.mark.parametrize("constant", [0.1, 0.9, 1000.1, 1e-300])
def test_a_dead_group_is_exactly_zero(constant, knobs):
    parts = [[constant, 0.7]] * 7 + [[0.1, 0.3], [0.9, 0.1], [0.3, 0.35]]
    found = call(parts, [1] * 7 + [0] * 3, **knobs)
    assert found[:7] == [0.0] * 7
    assert all(found[7:])


def test_a_dead_batch_is_exactly_zero():
    for knobs in ({}, {"eps": 1e-4, "batch_eps": 1e-4}):
        assert call([[0.1, 0.9]] * 8, [0, 1] * 4, **knobs) == [0.0] * 8


def test_the_batch_is_the_step():
    found = call(PARTS * 2, [*GROUP, *(g + 3 for g in GROUP)], [0] * 12 + [1] * 12)
    assert found == pytest.approx(call(PARTS, GROUP) * 2, rel=1e-13, nan_ok=True)
    once = call([[r * r for r in row] for row in PARTS], GROUP)
    other = call(
        [*PARTS, *([r * r for r in row] for row in PARTS)],
        [*GROUP, *(g + 3 for g in GROUP)],
        [1] * 12 + [0] * 12,
    )
    assert other == pytest.approx([*call(PARTS, GROUP), *once], rel=1e-13, nan_ok=True)


# --- arithmetic ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-300, 1e-9, 1e9, 1e300])
def test_no_overflow_or_underflow(size):
    found = call([[size * r, 1e9 + s] for r, s in PARTS], GROUP)
    expected = call(PARTS, GROUP)
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_keeps_the_dtype_and_writes_to_no_input(dtype):
    given = columns(PARTS, GROUP, dtype=dtype)
    before = [column.clone() for column in given]
    assert gdpo(*given).dtype == dtype
    for column, kept in zip(given, before, strict=True):
        torch.testing.assert_close(column, kept, rtol=0, atol=0, equal_nan=True)


def test_no_rows():
    assert call([], []) == []


# --- through the door ---------------------------------------------------------------------------------


def test_a_row_that_lacks_a_part_takes_part():
    result = compute_advantages(
        np.array(PARTS, dtype=float), GROUP, estimator="gdpo", eps=1e-4, batch_eps=1e-4
    )
    expected = call(PARTS, GROUP, eps=1e-4, batch_eps=1e-4)
    assert result.original.tolist() == pytest.approx(expected, nan_ok=True)
    assert result.kept.tolist() == [row != 9 for row in range(12)]


def test_weights_are_passed_on():
    result = compute_advantages(PARTS, GROUP, estimator="gdpo", weights=[1.0, 0.25])
    assert result.original.tolist() == pytest.approx(call(PARTS, GROUP, weights=[1.0, 0.25]), nan_ok=True)


def test_one_reward_will_do():
    result = compute_advantages(ACCURACY, GROUP, estimator="gdpo")
    assert result.original.tolist() == pytest.approx(call([[r] for r in ACCURACY], GROUP), nan_ok=True)


# --- gdpo_sum and papo --------------------------------------------------------------------------------


def z_scores(values):
    if len(values) < 2:
        return [NAN] * len(values)
    mean = sum(values) / len(values)
    std = (sum((x - mean) ** 2 for x in values) / (len(values) - 1)) ** 0.5
    return [(x - mean) / std if std else 0.0 for x in values]


@over(seed=range(10))
def test_gdpo_is_its_sum_normalised_over_the_step(seed):
    dump = references_batch.random_columns(seed)
    parts, weights, group, step = (dump[key] for key in ("parts", "weights", "group", "step"))
    total = gdpo_sum(*columns(parts, group, weights=weights)[:3])
    whole = torch.tensor(call(parts, group, step, weights), dtype=torch.float64)
    assert torch.equal(total.isnan(), whole.isnan())
    for number in set(step):
        own = (torch.tensor(step) == number) & ~total.isnan()
        if own.sum() > 1 and total[own].abs().max() > 0:
            torch.testing.assert_close(total[own] / total[own].std(), whole[own], rtol=1e-9, atol=1e-9)


def test_papo_adds_the_process_to_right_rows_only():
    outcome = [1, 1, 1, 0, 0, 1, 1, 0, 1]
    process = [0.9, 0.1, 0.5, 0.8, 0.2, 0.7, 0.3, 0.9, 0.4]
    group = [0] * 5 + [1] * 2 + [2] * 2
    found = papo(
        *columns([list(row) for row in zip(outcome, process, strict=True)], group, weights=[2.0, 0.5])[:3]
    )
    first = [2 * z for z in z_scores(outcome[:5])]
    bonus = [0.5 * z for z in z_scores(process[:3])]
    # The second group is all right: it lives on its process. In the third one row is right, and has nothing to be compared with.
    second = [0.5 * z for z in z_scores(process[5:7])]
    third = [2 * z for z in z_scores(outcome[7:])]
    expected = [*(a + b for a, b in zip(first, [*bonus, 0, 0], strict=True)), *second, *third]
    assert found.tolist() == pytest.approx(expected, rel=1e-12)


def test_papo_without_an_outcome_or_a_process():
    parts = [[1, NAN], [1, 0.2], [0, 0.5], [NAN, 0.9]]
    found = papo(*columns(parts, [0] * 4)[:3]).tolist()
    assert found == pytest.approx([*z_scores([1, 1, 0]), NAN], nan_ok=True)


def test_papo_takes_two_rewards():
    with pytest.raises(UsageError, match="takes two rewards, the outcome and the process, and there are 1"):
        compute_advantages([1, 0], [0, 0], estimator="papo")
