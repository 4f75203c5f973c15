"""quantile, median, bnpo and shrinkage: literals, plain loops, laws, undefined cases, arithmetic."""

import math

import pytest
import references_batch
import torch
from repeated import over

from advcli.common.errors import UsageError
from advcli.estimators.group import rloo
from advcli.estimators.robust import bnpo, median, quantile, shrinkage

ESTIMATORS = {"quantile": quantile, "median": median, "bnpo": bnpo, "shrinkage": shrinkage}
OF_THE_STEP = ("bnpo", "shrinkage")
by_name = pytest.mark.parametrize("name", ESTIMATORS)
D5 = [1, 0, 0, 0, 1, 1, 0, 0]
TWO, THREE = [0] * 4 + [1] * 4, [0] * 4 + [1] * 4 + [2] * 4


def columns(name, rewards, group, step=None, dtype=torch.float64):
    step = [0] * len(group) if step is None else step
    index = [torch.tensor(labels, dtype=torch.int64) for labels in (group, step)]
    given = torch.tensor(rewards, dtype=dtype), *index
    return given[: 3 if name in OF_THE_STEP else 2]


def call(name, rewards, group, step=None, **knobs):
    return ESTIMATORS[name](*columns(name, rewards, group, step), **knobs).tolist()


# --- literals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "rewards", "group", "expected"),
    [
        # reference/estimators.md D5
        ("quantile", D5, TWO, [2.0, 0, 0, 0, 1.7320508, 1.7320508, 0, 0]),
        ("median", [0.9, 0.2, 0.4, 0.1, 0.5], [0] * 5, [3.1095, -1.2438, 0, -1.8657, 0.6219]),
        ("bnpo", D5, TWO, [0.5185, -0.1728, -0.1728, -0.1728, 0.3409, 0.3409, -0.3409, -0.3409]),
        (
            "shrinkage",
            [*D5, 0, 0, 0, 0],
            THREE,
            [0.9, -0.3, -0.3, -0.3, 0.8056, 0.8056, -0.3056, -0.3056, *[-0.3088] * 4],
        ),
    ],
)
def test_golden_numbers(name, rewards, group, expected):
    assert call(name, rewards, group) == pytest.approx(expected, abs=6e-5)


@pytest.mark.parametrize(
    ("right", "signs"),
    [(0, (0, 0)), (3, (1, 0)), (6, (1, 0)), (7, (0, -1)), (9, (0, -1)), (10, (0, 0))],
)
def test_the_quantile_of_binary_rewards_is_the_gate_of_the_paper(right, signs):
    # Right rows count while p ≤ 1 − K, here 6 of 10; above, wrong ones do.
    found = call("quantile", [1] * right + [0] * (10 - right), [0] * 10)
    expected = [signs[0]] * right + [signs[1]] * (10 - right)
    assert [(a > 0) - (a < 0) for a in found] == expected


@pytest.mark.parametrize(
    ("level", "baseline"), [(0, 1), (0.2, 1), (0.21, 2), (0.4, 2), (0.5, 3), (0.6, 3), (0.99, 9), (1, 9)]
)
def test_the_quantile_is_a_reward_of_the_group(level, baseline):
    found = call("quantile", [9, 1, 3, 4, 2], [0] * 5, level=level, ddof=0, eps=0.0)
    assert found[[9, 1, 3, 4, 2].index(baseline)] == 0


@pytest.mark.parametrize("size", [3, 7, 10, 29, 100])
def test_the_quantile_counts_rows_without_rounding(size):
    # 0.07 · 100 is 7.000000000000001: the seventh row of a hundred reaches 0.07 all the same.
    for place in range(1, size + 1):
        assert call("quantile", list(range(size)), [0] * size, level=place / size)[place - 1] == 0


@pytest.mark.parametrize("level", [0.0, 0.3, 0.4, 0.5, 0.9, 1.0])
def test_the_interpolated_quantile_is_torch_quantile(level):
    rewards = torch.tensor([0.9, 0.1, 0.35, 0.4, 0.2, 0.9], dtype=torch.float64)
    expected = (rewards - torch.quantile(rewards, level)) / rewards.std()
    found = call("quantile", rewards.tolist(), [0] * 6, level=level, interpolate=True)
    assert found == pytest.approx(expected.tolist(), abs=1e-14)


def test_half_and_half_is_0_for_nobody_when_interpolated():
    # By the paper 0 is the 0.4-quantile of 1 1 0 0, by the authors' code 0.2.
    found = call("quantile", [1, 1, 0, 0], [0] * 4, interpolate=True)
    assert found == pytest.approx([0.8 * 3**0.5, 0.8 * 3**0.5, -0.2 * 3**0.5, -0.2 * 3**0.5])


def test_an_even_group_has_the_lower_median():
    # Medians 2, then of 1 0 2 8: 1. Three of four rows have moved.
    assert call("median", [1, 2, 4, 10], [0] * 4, eps=0) == pytest.approx([-4 / 3, 0, 8 / 3, 32 / 3])
    assert call("median", [1, 3], [0] * 2) == pytest.approx([0, 4000])


def test_most_of_a_group_on_the_median_leaves_eps_alone_in_the_divisor():
    assert call("median", [1, 0, 0, 0], [0] * 4) == pytest.approx([4000, 0, 0, 0])
    found = call("median", [1, 0, 0, 0], [0] * 4, eps=0)
    assert math.isnan(found[0])
    assert found[1:] == [0.0] * 3


def test_bnpo_by_hand():
    # Means 1/4 1/2 3/4 (v 1/16, c 3): α = β = 1.5, whose density is 8/π · √(p (1 − p)).
    rewards = [1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0]
    found = call("bnpo", rewards, THREE)
    outer, middle = math.pi / 8 / math.sqrt(3 / 16), math.pi / 4
    assert found[0] == pytest.approx(0.75 * outer)
    assert found[4] == pytest.approx(0.5 * middle)
    assert found[11] == pytest.approx(-0.75 * outer)


def test_bnpo_of_one_group_is_centred_only():
    assert call("bnpo", [1, 0, 0, 0], [0] * 4) == [0.75, -0.25, -0.25, -0.25]


def test_bnpo_of_far_apart_groups_has_a_flat_density():
    # Means 1/8 7/8 have v 0.28 > m (1 − m): α and β would be below 1.
    assert call("bnpo", [1, *[0] * 7, *[1] * 7, 0], [0] * 8 + [1] * 8)[0] == 0.875


def test_bnpo_maps_the_bounds_and_caps_the_weight():
    signed = call("bnpo", [2 * reward - 1 for reward in D5], TWO, low=-1, high=1)
    assert signed == pytest.approx(call("bnpo", D5, TWO), rel=1e-14)
    assert call("bnpo", D5, TWO, cap=0.1) == pytest.approx([0.075, *[-0.025] * 3, *[0.05] * 2, *[-0.05] * 2])


@pytest.mark.parametrize(
    ("rewards", "mean", "bounds"),
    [([1, 2, 0, 0], "1.5", "low=0,high=2"), ([-0.5, 0.1, 1, 0], "-0.2", "low=-0.5,high=1")],
)
def test_bnpo_refuses_means_outside_of_the_bounds(rewards, mean, bounds):
    message = f"mean reward of a group is {mean}, expected one between low=0 and high=1; try .* bnpo:{bounds}"
    with pytest.raises(UsageError, match=message):
        call("bnpo", rewards, [0, 0, 1, 1])
    low, high = (float(bound.partition("=")[2]) for bound in bounds.split(","))
    assert not math.isnan(call("bnpo", rewards, [0, 0, 1, 1], low=low, high=high)[0])


def test_shrinkage_by_hand_with_uneven_groups():
    # For the first: others 0 1 | 2 4 4 6, means 1/2 and 4, v = (1/4 + 2/3)/2, s = 49/16, target 9/4.
    found = call("shrinkage", [1, 3, 0, 1, 2, 4, 4, 6], [0, 0, 1, 1, 2, 2, 2, 2])
    v, s = (0.25 + 2 / 3) / 2, 49 / 16
    weight = v / (v + s)
    assert found[0] == pytest.approx(1 - (1 - weight) * 3 - weight * 2.25)


def test_shrinkage_is_rloo_where_the_other_groups_have_no_noise():
    rewards, group = [1, 0, 0, 5, 5, 5, 7, 7, 7], [0] * 3 + [1] * 3 + [2] * 3
    expected = rloo(*columns("shrinkage", rewards, group), scale="none")[:3]
    assert call("shrinkage", rewards, group)[:3] == pytest.approx(expected.tolist())


@pytest.mark.parametrize("eps", [0.0, 1e-6])
def test_shrinkage_weighs_a_lonely_outlier_exactly(eps):
    # The others are dead and equal: v = s = 0, and a sum less the own term must leave exactly that.
    found = call("shrinkage", [0.1, 0.7, 1e6, *[0.3] * 6], [0] * 3 + [1] * 3 + [2] * 3, eps=eps)
    assert found[0] == pytest.approx(0.1 - (0.7 + 1e6) / 2)


@pytest.mark.parametrize("loud", [[0, 1e6], [1e6, 1e6], [-1e6, 1e6]])
def test_shrinkage_of_an_outlier_is_that_of_the_others(loud):
    # The others are 1e-12 of the outlier apart in square: a sum over all groups less its term is noise.
    quiet = [0.1, 0.3, 0.2, 0.2, 0.25, 0.4]
    group = [0, 0, 1, 1, 2, 2, 3, 3]
    expected = references_batch.shrinkage([*loud, *quiet], group, [0] * 8)
    assert call("shrinkage", [*loud, *quiet], group) == pytest.approx(expected, rel=1e-7)
    weight = (expected[0] - loud[0] + loud[1]) / (loud[1] - references_batch.mean(quiet))
    assert 0.1 < weight < 0.9


# --- plain loops and laws -----------------------------------------------------------------------------

KNOBS = [
    ("quantile", {}),
    ("quantile", {"level": 0.0}),
    ("quantile", {"level": 0.75, "ddof": 0, "eps": 0.5}),
    ("quantile", {"level": 0.3, "interpolate": True}),
    ("median", {}),
    ("median", {"eps": 0.0}),
    ("bnpo", {}),
    ("bnpo", {"low": -0.5, "high": 1.2, "cap": 0.7}),
    ("shrinkage", {}),
    ("shrinkage", {"eps": 0.01}),
]


@over(seed=range(25))
@pytest.mark.parametrize(("name", "knobs"), KNOBS)
def test_equals_a_plain_loop(name, knobs, seed):
    dump = references_batch.random_columns(seed)
    given = [dump[key] for key in ("rewards", "group", "step")]
    loop = getattr(references_batch, name)
    expected = loop(*given[: 3 if name in OF_THE_STEP else 2], **knobs)
    assert call(name, *given, **knobs) == pytest.approx(expected, rel=1e-10, abs=1e-12, nan_ok=True)


@over(seed=range(5))
@pytest.mark.parametrize(("name", "degree"), [("quantile", 0), ("median", 0), ("shrinkage", 1)])
def test_shift_and_scale(name, degree, seed):
    dump = references_batch.random_columns(seed)
    knobs = {"eps": 0.0}
    found = call(name, dump["rewards"], dump["group"], dump["step"], **knobs)
    moved = [8 * reward + 16 for reward in dump["rewards"]]
    expected = [8**degree * a for a in found]
    actual = call(name, moved, dump["group"], dump["step"], **knobs)
    assert actual == pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True)


@over(seed=range(5))
def test_bnpo_sums_to_0_in_every_group(seed):
    dump = references_batch.random_columns(seed)
    found = call("bnpo", dump["rewards"], dump["group"], dump["step"])
    for rows in references_batch.members(dump["group"]).values():
        if not math.isnan(found[rows[0]]):
            assert math.fsum(found[row] for row in rows) == pytest.approx(0, abs=1e-12)


# --- undefined and dead -------------------------------------------------------------------------------


@by_name
def test_a_group_of_one_is_undefined(name):
    found = call(name, [0.7, *D5, 0, 0.3], [3, *TWO, 2, 2])
    assert [math.isnan(a) for a in found] == [True] + [False] * 10


@by_name
@pytest.mark.parametrize("constant", [0.0, 0.1, 0.9, 1.0])
def test_a_dead_group_is_exactly_zero_among_others(name, constant):
    found = call(name, [*[constant] * 7, *D5], [2] * 7 + TWO)
    assert (found[:7] == [0.0] * 7) == (name != "shrinkage")
    assert len({round(a, 12) for a in found[:7]}) == 1
    assert any(found[7:])


@by_name
@pytest.mark.parametrize("constant", [0.0, 0.1, 0.9, 1.0])
def test_a_dead_batch_is_exactly_zero(name, constant):
    assert call(name, [constant] * 12, THREE) == [0.0] * 12
    assert call(name, [constant] * 12, THREE, **({} if name == "bnpo" else {"eps": 1e-8})) == [0.0] * 12


def test_equal_means_leave_bnpo_undefined_but_for_dead_groups():
    found = call("bnpo", [1, 0, 1, 0, 0.5, 0.5], [0, 0, 1, 1, 2, 2])
    assert [math.isnan(a) for a in found] == [True] * 4 + [False] * 2
    assert found[4:] == [0.0, 0.0]
    # The same rewards twice in another order: means that are equal on paper, and not in binary.
    once, twice = [0.15, 0.65, 0.1, 0.3, 0.0], [0.3, 0.65, 0.1, 0.0, 0.15, 0.15, 0.65, 0.1, 0.3, 0.0]
    assert all(map(math.isnan, call("bnpo", [*once, *twice], [0] * 5 + [1] * 10)))


def test_shrinkage_needs_three_groups_of_two_in_the_step():
    assert all(map(math.isnan, call("shrinkage", D5, TWO)))
    found = call("shrinkage", [*D5, 1, 0, 5], [*TWO, 2, 2, 3], [0] * 4 + [1] * 4 + [0] * 2 + [0])
    assert all(map(math.isnan, found))
    found = call("shrinkage", [*D5, 1, 0, 0, 1], [*TWO, 2, 2, 3, 3], [0] * 4 + [1] * 4 + [0] * 4)
    assert [math.isnan(a) for a in found] == [False] * 4 + [True] * 4 + [False] * 4


@pytest.mark.parametrize("name", OF_THE_STEP)
def test_a_group_of_one_counts_in_bnpo_only(name):
    apart = call(name, [*D5, 1, 0], [*TWO, 2, 2])
    assert (call(name, [*D5, 1, 0, 0.9], [*TWO, 2, 2, 3])[:10] == pytest.approx(apart)) == (
        name == "shrinkage"
    )


@pytest.mark.parametrize("name", OF_THE_STEP)
def test_the_batch_is_the_step(name):
    first, second = [1, 0, 0, 0, 1, 1, 0, 0, 1, 0], [0.3, 0.9, 0.1, 0.1, 0.7, 0.7]
    group, other = [0] * 4 + [1] * 4 + [2] * 2, [3] * 2 + [4] * 2 + [5] * 2
    found = call(name, [*first, *second], [*group, *other], [1] * 10 + [0] * 6)
    expected = call(name, first, group) + call(name, second, [g - 3 for g in other])
    assert found == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("order", [list(range(16)), [*range(1, 16, 2), *range(0, 16, 2)]])
@pytest.mark.parametrize("name", OF_THE_STEP)
def test_a_group_over_several_steps_lies_in_the_first(name, order):
    rewards, group = [*D5, 1, 0, 0, 0, 1, 1, 1, 0], [*THREE, 3, 3, 3, 3]
    step, first = [2, 1, 1, 1, 1, 1, 2, 2, 1, 1, 1, 1, 2, 2, 2, 1], [1] * 16
    spread, together = (
        call(name, *([column[row] for row in order] for column in (rewards, group, steps)))
        for steps in (step, first)
    )
    assert spread == together


@pytest.mark.parametrize("level", [-0.1, 1.5, math.nan])
def test_no_such_level(level):
    with pytest.raises(UsageError, match=rf"level is {level:g}, expected a share between 0 and 1"):
        call("quantile", [0.0, 1.0], [0, 0], level=level)


@pytest.mark.parametrize(("low", "high"), [(1.0, 1.0), (2.0, 0.0), (0.0, math.nan)])
def test_no_such_bounds(low, high):
    with pytest.raises(UsageError, match="expected low < high"):
        call("bnpo", [0.0, 1.0], [0, 0], low=low, high=high)


# --- arithmetic ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-9, 1e9, 1e150, 1e300])
def test_no_overflow_or_underflow(size):
    rewards = [size * reward for reward in [*D5, 0, 0, 0, 0]]
    found = call("quantile", rewards, THREE)
    assert found == pytest.approx([2, 0, 0, 0, 3**0.5, 3**0.5, *[0] * 6], abs=1e-14)
    found = [a / size for a in call("shrinkage", rewards, THREE)]
    assert found[0] == pytest.approx(0.9, rel=1e-13)
    assert call("median", [size * r for r in (1, 2, 4)], [0] * 3, eps=0)[2] == pytest.approx(3)


def test_no_cancellation_on_a_large_offset():
    rewards = [1e9 + reward for reward in [*D5, 0, 0, 0, 0]]
    assert call("quantile", rewards, THREE)[4] == pytest.approx(3**0.5, rel=1e-14)
    assert call("shrinkage", rewards, THREE)[0] == pytest.approx(0.9, rel=1e-13)


@by_name
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_keeps_the_dtype_and_writes_to_no_input(name, dtype):
    given = columns(name, [*D5, 0.1, 0.2], [*TWO, 2, 2], dtype=dtype)
    before = [column.clone() for column in given]
    assert ESTIMATORS[name](*given).dtype == dtype
    assert all(map(torch.equal, given, before))


@by_name
def test_no_rows(name):
    assert call(name, [], []) == []
