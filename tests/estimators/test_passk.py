"""Best of k: literals of papers and frameworks, loops over every set of rows, exact fractions, undefined cases."""

import math
from fractions import Fraction

import pytest
import references_group
import torch
from repeated import over

from advcli.common.errors import UsageError
from advcli.estimators.group import grpo
from advcli.estimators.passk import grpo_passk, passk, pkpo

ESTIMATORS = {"grpo_passk": grpo_passk, "passk": passk, "pkpo": pkpo}
PLAIN = {"form": "plain"}
by_name = pytest.mark.parametrize("name", ESTIMATORS)


def columns(rewards, group=None, dtype=torch.float64):
    group = [0] * len(rewards) if group is None else group
    return torch.tensor(rewards, dtype=dtype), torch.tensor(group, dtype=torch.int64)


def call(name, rewards, group=None, **knobs):
    return ESTIMATORS[name](*columns(rewards, group), **knobs).tolist()


@pytest.mark.parametrize(
    ("name", "knobs", "first", "second"),
    [
        # rewards 1 0 0 0 | 1 1 0 0; reference/estimators.md D5
        ("grpo_passk", {}, [2.0, 0, 0, 0], [0, 0, 0, 0]),
        ("passk", {"k": 2}, [1.0, -0.3333, -0.3333, -0.3333], [0.4472, 0.4472, -0.4472, -0.4472]),
        ("pkpo", {"k": 2, **PLAIN}, [0.5, 0.1667, 0.1667, 0.1667], [0.5, 0.5, 0.3333, 0.3333]),
        ("pkpo", {"k": 2, "form": "loo"}, [0.5, 0, 0, 0], [0.3333, 0.3333, 0, 0]),
    ],
)
def test_golden_numbers(name, knobs, first, second):
    found = call(name, [1, 0, 0, 0, 1, 1, 0, 0], [0] * 4 + [1] * 4, **knobs)
    assert found == pytest.approx(first + second, abs=5e-5)


def test_golden_numbers_of_verl():
    # reference/verl-family.md 6.13
    assert call("grpo_passk", [0.5, 0.9, 0.7, 0.1], eps=1e-6) == pytest.approx([0, 0.5855, 0, 0], abs=5e-5)
    assert call("grpo_passk", [0.5, 0.9, 0.9, 0.1], eps=1e-6) == [0.0] * 4


@over(seed=range(20))
@pytest.mark.parametrize(
    ("name", "knobs"),
    [
        ("grpo_passk", {}),
        ("grpo_passk", {"ddof": 0, "eps": 0.5}),
        *(("passk", {"k": k}) for k in (1, 2, 3, 5, 9)),
        ("passk", {"k": 3, "threshold": 0.35}),
        *(("pkpo", {"k": k}) for k in (2, 3, 5, 9)),
        *(("pkpo", {"k": k, **PLAIN}) for k in (1, 2, 3, 5, 9)),
    ],
)
def test_equals_a_loop_over_every_set_of_rows(name, knobs, seed):
    rewards, group, *_ = references_group.random_dump(seed)
    expected = getattr(references_group, name)(rewards, group, **knobs)
    assert call(name, rewards, group, **knobs) == pytest.approx(expected, rel=1e-11, abs=1e-12, nan_ok=True)


@over(seed=range(5))
@pytest.mark.parametrize(("name", "knobs"), [*((name, {}) for name in ESTIMATORS), ("pkpo", PLAIN)])
def test_neither_the_order_of_rows_nor_the_labels_nor_the_other_groups_matter(name, knobs, seed):
    rewards, group, *_ = references_group.random_dump(seed)
    found = call(name, rewards, group, **knobs)
    order = torch.randperm(len(group), generator=torch.Generator().manual_seed(seed)).tolist()
    other = call(name, [rewards[i] for i in order], [20 - group[i] for i in order], **knobs)
    expected = [found[i] for i in order]
    assert other == pytest.approx(expected, rel=1e-12, abs=1e-13, nan_ok=True)
    for label in set(group):
        rows = [row for row in range(len(group)) if group[row] == label]
        alone = call(name, [rewards[row] for row in rows], **knobs)
        assert alone == pytest.approx([found[row] for row in rows], rel=1e-12, abs=1e-13, nan_ok=True)


REWARDS = [0.3, -1.0, 2.2, 0.75, 0.1, 2.0]


def test_shift_and_scale():
    scaled, moved = [r * 7 for r in REWARDS], [r + 3 for r in REWARDS]
    lead, gain, total = (
        call("grpo_passk", REWARDS),
        call("pkpo", REWARDS, k=3),
        call("pkpo", REWARDS, k=3, **PLAIN),
    )
    assert call("grpo_passk", scaled) == pytest.approx(lead, rel=1e-12)
    assert call("grpo_passk", moved) == pytest.approx(lead, rel=1e-12)
    assert call("pkpo", scaled, k=3) == pytest.approx([7 * a for a in gain], rel=1e-12)
    assert call("pkpo", moved, k=3) == pytest.approx(gain, rel=1e-12, abs=1e-14)
    assert call("pkpo", scaled, k=3, **PLAIN) == pytest.approx([7 * a for a in total], rel=1e-12)
    assert call("pkpo", moved, k=3, **PLAIN) == pytest.approx([a + 3 * 3 / 6 for a in total], rel=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_passk_adds_up_to_zero(k):
    assert sum(call("passk", [1, 0, 0, 1, 0, 0, 0], k=k)) == pytest.approx(0, abs=1e-14)


def test_passk_of_one_is_grpo():
    rewards, group = columns([1, 0, 0, 0, 1, 1, 0, 0, 1, 1], [0] * 4 + [1] * 4 + [2] * 2)
    torch.testing.assert_close(passk(rewards, group, k=1), grpo(rewards, group, group, ddof=0))


def test_pkpo_of_right_and_wrong_rows_is_the_closed_form_of_the_paper():
    n, c, k = 9, 3, 4
    found = call("pkpo", [1.0] * c + [0.0] * (n - c), k=k, **PLAIN)
    wrong = k / n * (1 - math.comb(n - 1 - c, k - 1) / math.comb(n - 1, k - 1))
    assert found == pytest.approx([k / n] * c + [wrong] * (n - c), rel=1e-13)


def test_pkpo_of_the_whole_group_is_the_lead_of_the_best():
    assert call("pkpo", REWARDS, k=6) == pytest.approx([0, 0, 0.2, 0, 0, 0], rel=1e-12)
    assert call("pkpo", REWARDS, k=6, **PLAIN) == pytest.approx([2.2] * 6, rel=1e-12)


def test_pkpo_is_never_negative_and_equal_rewards_are_equal():
    found = call("pkpo", [0.7, 0.1, 0.7, 0.1, 0.3, 0.7, 0.9, 0.3], k=3)
    assert min(found) == 0.0
    assert found[0] == found[2] == found[5]
    assert found[4] == found[7] > found[1] == found[3] == 0.0


@pytest.mark.parametrize(("n", "c", "k"), [(64, 1, 2), (1000, 3, 8), (1000, 400, 500), (1_000_003, 1, 2)])
def test_passk_of_a_large_group_equals_exact_fractions(n, c, k):
    wrong = Fraction(math.comb(n - c, k), math.comb(n, k))
    right = math.sqrt(wrong / (1 - wrong))
    found = call("passk", [1.0] * c + [0.0] * (n - c), k=k)
    assert found[0] == pytest.approx(right, rel=1e-12)
    assert found[-1] == pytest.approx(-c / (n - c) * right, rel=1e-12)


@pytest.mark.parametrize("form", ["loo", "plain"])
@pytest.mark.parametrize(("n", "k"), [(64, 8), (600, 2), (600, 300), (600, 600)])
def test_pkpo_of_a_large_group_equals_exact_fractions(n, k, form):
    sets = math.comb(n, k)
    for i in (
        0,
        k - 1,
        n // 2,
        n - 1,
    ):  # rewards 0, 1, 4, 9, ...: the place of a row is the root of its reward
        below, above = range(i), range(i + 1, n)
        expected = math.comb(i, k - 1) * i**2
        if form == "loo":
            expected -= sum(math.comb(j, k - 2) * j**2 for j in below)
        else:
            expected += sum(math.comb(j - 1, k - 2) * j**2 for j in above)
        found = call("pkpo", [j**2 for j in range(n)], k=k, form=form)[i]
        assert found == pytest.approx(float(Fraction(expected, sets)), rel=1e-10, abs=1e-9)


@pytest.mark.parametrize(("name", "knobs"), [*((name, {}) for name in ESTIMATORS), ("passk", {"k": 1})])
@pytest.mark.parametrize("size", [2, 3, 7, 8, 15])
@pytest.mark.parametrize("constant", [0.1, 0.9, 0.35, 1000.1, 1e-300, -0.3, 0.0])
def test_a_dead_group_is_exactly_zero(constant, size, name, knobs):
    found = call(name, [constant] * size + [0.3, 0.7], [0] * size + [1, 1], **knobs)
    assert found[:size] == [0.0] * size


def test_a_group_with_a_right_row_in_every_set_is_zero():
    assert call("passk", [1, 1, 1, 0], k=2) == [0.0] * 4
    assert call("passk", [1, 1, 0, 0], k=3) == [0.0] * 4


def test_a_right_row_reaches_the_threshold():
    found = call("passk", [0.5, 0.49, 0.0], k=1)
    assert found[0] > 0 > found[1] == found[2]
    assert call("passk", [0.5, 0.49, 0.0], k=1, threshold=0.4)[1] > 0


@pytest.mark.parametrize(
    ("name", "knobs"),
    [*((name, {}) for name in ESTIMATORS), ("passk", {"k": 1}), ("pkpo", {"k": 1, **PLAIN})],
)
def test_a_group_of_one_is_undefined(name, knobs):
    found = call(name, [0.7, 1.0, 0.0], [0, 1, 1], **knobs)
    assert [math.isnan(advantage) for advantage in found] == [True, False, False]


@pytest.mark.parametrize(("name", "knobs"), [("passk", {}), ("pkpo", {}), ("pkpo", PLAIN)])
def test_a_group_smaller_than_a_set_is_undefined(name, knobs):
    found = call(name, [1.0, 0.0, 0.0, 1.0, 0.0], [0, 0, 1, 1, 1], k=3, **knobs)
    assert [math.isnan(advantage) for advantage in found] == [True, True, False, False, False]
    assert all(map(math.isnan, call(name, [1.0, 0.0], k=10**12, **knobs)))


def test_the_best_row_is_undefined_with_ddof_of_n_or_more():
    found = call("grpo_passk", [0.0, 1.0], ddof=2)
    assert found[0] == 0.0
    assert math.isnan(found[1])


@pytest.mark.parametrize("size", [1e-300, 1e-9, 1e9, 1e300])
def test_no_overflow_or_underflow(size):
    assert call("grpo_passk", [0.0, size, 0.0, 0.0]) == pytest.approx([0, 2, 0, 0])
    assert call("pkpo", [0.0, size, 0.0, 0.0]) == pytest.approx([0, size / 2, 0, 0])


def test_huge_rewards_of_one_group_do_not_reach_the_next():
    assert call("pkpo", [1.5e308] * 2 + [-1.5e308] * 2, [0, 0, 1, 1]) == [0.0] * 4


@pytest.mark.parametrize(
    ("name", "knobs", "message"),
    [
        ("passk", {"k": 0}, "passk: k is 0, expected 1 or more"),
        ("pkpo", {"k": 1}, "pkpo: k is 1, expected 2 or more for form 'loo'"),
        ("pkpo", {"k": 0, **PLAIN}, "pkpo: k is 0, expected 1 or more for form 'plain'"),
        ("pkpo", {"form": "loo-1"}, "pkpo: unknown form 'loo-1'; try loo, plain"),
    ],
)
def test_knobs_that_make_no_sense(name, knobs, message):
    with pytest.raises(UsageError, match=f"^{message}$"):
        call(name, [0.0, 1.0], **knobs)


@by_name
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_keeps_the_dtype_and_writes_to_no_input(name, dtype):
    rewards, group, *_ = references_group.random_dump(3)
    given = columns(rewards, group, dtype)
    before = [column.clone() for column in given]
    found = ESTIMATORS[name](*given)
    assert found.dtype == dtype
    assert all(map(torch.equal, given, before))
    exact = ESTIMATORS[name](*columns(rewards, group))
    torch.testing.assert_close(found.to(torch.float64), exact, rtol=1e-4, atol=1e-5, equal_nan=True)


@by_name
def test_no_rows(name):
    assert call(name, []) == []


@pytest.mark.gpu
@by_name
def test_cuda_equals_the_cpu(name):
    rewards, group, *_ = references_group.random_dump(1)
    given = columns(rewards, group)
    on_gpu = ESTIMATORS[name](*(column.cuda() for column in given)).cpu()
    torch.testing.assert_close(on_gpu, ESTIMATORS[name](*given), rtol=1e-11, atol=1e-12, equal_nan=True)
