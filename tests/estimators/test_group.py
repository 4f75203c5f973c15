"""Estimators that compare rows: literals of papers and frameworks, plain loops, undefined cases, arithmetic."""

import math

import pytest
import references
import references_group
import torch
from repeated import over

from advcli.estimators.catalog import ESTIMATORS as CATALOG
from advcli.estimators.group import gpg, grpo, loo_norm, maxrl, ngrpo, opo, rloo

ESTIMATORS = {"grpo": (grpo, references.grpo), "rloo": (rloo, references.rloo)}
LAYOUTS = {
    "blocks": ([0] * 4 + [1] * 4 + [2] * 4, [0] * 8 + [1] * 4),
    "mixed": ([0, 1, 2, 1, 0, 2, 2, 1, 0, 0, 1, 2], [0, 0, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1]),
    "ragged": ([0, 0, 1, 1, 1, 1, 1, 2, 3, 3, 3, 3], [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1]),
}
REWARDS = [0.1, 0.9, 0.35, -1.2, 2.5, 2.5, 0.0, 1e-3, 7.25, 7.25, 0.1, -3.0]


def call(estimator, rewards, group, step=None, **knobs):
    group = torch.tensor(group, dtype=torch.int64)
    step = torch.zeros_like(group) if step is None else torch.tensor(step)
    return estimator(torch.tensor(rewards, dtype=torch.float64), group, step, **knobs).tolist()


@pytest.mark.parametrize(
    ("estimator", "knobs", "first", "second"),
    [
        # rewards 1 0 0 0 | 1 1 0 0; reference/estimators.md D5, and by hand
        (grpo, {}, [1.5, -0.5, -0.5, -0.5], [0.8660254, 0.8660254, -0.8660254, -0.8660254]),
        (grpo, {"eps": 1e-4}, [1.49970006, -0.49990002], [0.86587544]),
        (grpo, {"ddof": 0}, [1.7320508, -0.5773503], [1.0, 1.0, -1.0, -1.0]),
        (grpo, {"scale": "none"}, [0.75, -0.25], [0.5, 0.5, -0.5, -0.5]),
        (grpo, {"scale": "batch"}, [1.4491377, -0.4830459], [0.9660918, 0.9660918, -0.9660918]),
        (rloo, {}, [1.0, -1 / 3, -1 / 3, -1 / 3], [2 / 3, 2 / 3, -2 / 3, -2 / 3]),
        (rloo, {"scale": "group"}, [2.0, -2 / 3], [1.1547005, 1.1547005, -1.1547005]),
    ],
)
def test_golden_numbers(estimator, knobs, first, second):
    found = call(estimator, [1, 0, 0, 0, 1, 1, 0, 0], [0] * 4 + [1] * 4, **knobs)
    assert found[: len(first)] == pytest.approx(first, abs=1e-7)
    assert found[4 : 4 + len(second)] == pytest.approx(second, abs=1e-7)


def test_batch_scale_divides_by_the_std_of_the_raw_rewards():
    # reference/verl-family.md 6.16: std of 1 0 10 10 is 5.5; the centred rewards would give another.
    found = call(grpo, [1, 0, 10, 10], [0, 0, 1, 1], scale="batch")
    assert found == pytest.approx([1 / 11, -1 / 11, 0.0, 0.0])
    assert call(rloo, [1, 0, 10, 10], [0, 0, 1, 1], scale="batch")[0] == pytest.approx(2 / 11)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("scale", ["group", "batch", "none"])
@pytest.mark.parametrize(("ddof", "eps"), [(1, 0.0), (0, 0.0), (1, 1e-4), (0, 0.5)])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_equals_a_plain_loop(name, ddof, eps, scale, layout):
    ours, loop = ESTIMATORS[name]
    group, step = layout
    found = call(ours, REWARDS, group, step, scale=scale, ddof=ddof, eps=eps)
    expected = loop(REWARDS, group, step, scale=scale, ddof=ddof, eps=eps)
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-13, nan_ok=True)


def test_the_batch_is_the_step():
    group, step = [0, 0, 1, 1], [0, 0, 1, 1]
    apart = call(grpo, [0, 2, 0, 20], group, step, scale="batch")
    assert apart == pytest.approx([-math.sqrt(0.5), math.sqrt(0.5)] * 2)
    together = call(grpo, [0, 2, 0, 20], group, [0, 0, 0, 0], scale="batch")
    assert together[3] / together[1] == pytest.approx(10)


@pytest.mark.parametrize("eps", [0.0, 1e-8])
@pytest.mark.parametrize("scale", ["group", "batch", "none"])
@pytest.mark.parametrize("estimator", [grpo, rloo])
@pytest.mark.parametrize("size", [2, 3, 7, 8, 15])
@pytest.mark.parametrize("constant", [0.1, 0.9, 0.35, 1000.1, 1e-300, -0.3])
def test_a_dead_group_is_exactly_zero(constant, size, estimator, scale, eps):
    found = call(estimator, [constant] * size + [0.3, 0.7], [0] * size + [1, 1], scale=scale, eps=eps)
    assert found[:size] == [0.0] * size
    assert found[size] < 0 < found[size + 1]


@pytest.mark.parametrize("scale", ["group", "batch", "none"])
@pytest.mark.parametrize("estimator", [grpo, rloo])
def test_a_dead_batch_is_exactly_zero(estimator, scale):
    assert call(estimator, [0.1] * 6, [0, 1, 0, 1, 0, 1], scale=scale) == [0.0] * 6


@pytest.mark.parametrize("scale", ["group", "batch", "none"])
@pytest.mark.parametrize("estimator", [grpo, rloo])
def test_a_group_of_one_is_undefined(estimator, scale):
    found = call(estimator, [0.7, 1.0, 0.0], [0, 1, 1], scale=scale)
    assert [math.isnan(advantage) for advantage in found] == [True, False, False]


def test_a_group_of_one_still_counts_in_the_batch():
    found = call(grpo, [1.0, 0.0, 9.0], [0, 0, 1], scale="batch")
    assert found[0] == pytest.approx(0.5 / references.std([1.0, 0.0, 9.0]))


@pytest.mark.parametrize("scale", ["group", "batch"])
def test_ddof_of_n_or_more_is_undefined(scale):
    assert all(map(math.isnan, call(grpo, [0.0, 1.0], [0, 0], scale=scale, ddof=2)))


@pytest.mark.parametrize("estimator", [grpo, rloo])
def test_no_such_scale(estimator):
    with pytest.raises(KeyError, match="grup"):
        call(estimator, [0.0, 1.0], [0, 0], scale="grup")


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-9, 1e9, 1e150, 1e300])
@pytest.mark.parametrize("scale", ["group", "batch"])
def test_no_overflow_or_underflow(scale, size):
    found = call(grpo, [0.0, size, 0.0, 0.0], [0] * 4, scale=scale)
    assert found == pytest.approx([-0.5, 1.5, -0.5, -0.5], abs=1e-14)


def test_no_cancellation_on_a_large_offset():
    half = math.sqrt(0.75)  # reference/verl-family.md 6.2: a one-pass variance gives ±499.5
    for offset in (5e3, 1e9):
        rewards = [offset, offset + 1, offset, offset + 1]
        assert call(grpo, rewards, [0] * 4) == pytest.approx([-half, half, -half, half], abs=1e-14)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("estimator", [grpo, rloo])
def test_keeps_the_dtype_and_writes_to_no_input(estimator, dtype):
    columns = (torch.tensor([0.1, 0.5, 0.9], dtype=dtype), torch.tensor([0, 0, 0]), torch.tensor([0, 0, 0]))
    before = [column.clone() for column in columns]
    for scale in ("group", "batch", "none"):
        assert estimator(*columns, scale=scale).dtype == dtype
    assert all(map(torch.equal, columns, before))


@pytest.mark.parametrize("estimator", [grpo, rloo])
def test_no_rows(estimator):
    assert call(estimator, [], []) == []


# The estimators that follow take other columns and knobs, and have no scale.

MORE = {"loo_norm": loo_norm, "maxrl": maxrl, "gpg": gpg, "opo": opo, "ngrpo": ngrpo}
by_name = pytest.mark.parametrize("name", MORE)


def columns_of(name, rewards, group, step=None, lengths=None, dtype=torch.float64):
    given = {
        "rewards": torch.tensor(rewards, dtype=dtype),
        "group": torch.tensor(group, dtype=torch.int64),
        "step": torch.tensor([0] * len(group) if step is None else step, dtype=torch.int64),
        "lengths": torch.tensor([1.0] * len(group) if lengths is None else lengths, dtype=dtype),
    }
    return [given[column] for column in CATALOG[name].needs]


def more(name, *columns, **knobs):
    return MORE[name](*columns_of(name, *columns), **knobs).tolist()


def plain_loop(name, rewards, group, step, lengths, **knobs):
    third = {"gpg": [step], "opo": [lengths]}.get(name, [])
    return getattr(references_group, name)(rewards, group, *third, **knobs)


@pytest.mark.parametrize(
    ("name", "knobs", "first", "second"),
    [
        # rewards 1 0 0 0 | 1 1 0 0, lengths 10 20 30 40 | 40 10 10 40; reference/estimators.md D5
        ("loo_norm", {"eps": 1e-6}, [1.0, -0.5773, -0.5773, -0.5773], [1.1547, 1.1547, -1.1547, -1.1547]),
        ("maxrl", {}, [3.0, -1.0, -1.0, -1.0], [1.0, 1.0, -1.0, -1.0]),
        ("gpg", {}, [2.0, -0.6667, -0.6667, -0.6667], [1.3333, 1.3333, -1.3333, -1.3333]),
        ("opo", {}, [0.9, -0.1, -0.1, -0.1], [0.5, 0.5, -0.5, -0.5]),
        ("ngrpo", {}, [1.0954, -0.7303, -0.7303, -0.7303], [0.7303, 0.7303, -1.0954, -1.0954]),
    ],
)
def test_golden_numbers_of_the_others(name, knobs, first, second):
    rewards, group = [1, 0, 0, 0, 1, 1, 0, 0], [0] * 4 + [1] * 4
    found = more(name, rewards, group, None, [10, 20, 30, 40, 40, 10, 10, 40], **knobs)
    assert found == pytest.approx(first + second, abs=5e-5)


def test_more_golden_numbers():
    # reference/verl-family.md 6.7, 6.8; reference/other-frameworks.md 2.4, 4.4; reference/estimators.md D2
    assert more("opo", [1, 0, 0, 1], [0] * 4, None, [30, 10, 20, 40]) == pytest.approx([0.3, -0.7, -0.7, 0.3])
    assert more("gpg", [1, -1, -1, -1], [0] * 4) == pytest.approx([1.5, -0.5, -0.5, -0.5])
    assert more("maxrl", [1, 0, 0, 0], [0] * 4, eps=1e-6) == pytest.approx([2.999988] + [-0.999996] * 3)
    assert more("maxrl", [-1, 1], [0, 0]) == [0.0, 0.0]
    assert more("ngrpo", [0, 0, 0, 0], [0] * 4) == pytest.approx([-(0.2**0.5)] * 4)


@over(seed=range(20))
@pytest.mark.parametrize(
    ("name", "knobs"),
    [
        *((name, {}) for name in MORE),
        ("loo_norm", {"eps": 0.5}),
        ("maxrl", {"eps": 0.5}),
        ("ngrpo", {"eps": 0.5, "r_max": 3.0}),
    ],
)
def test_the_others_equal_a_plain_loop(name, knobs, seed):
    dump = references_group.random_dump(seed)
    expected = plain_loop(name, *dump, **knobs)
    assert more(name, *dump, **knobs) == pytest.approx(expected, rel=1e-11, abs=1e-12, nan_ok=True)


@over(seed=range(5))
@by_name
def test_neither_the_order_of_rows_nor_the_labels_of_groups_matter(name, seed):
    dump = references_group.random_dump(seed)
    found = more(name, *dump)
    order = torch.randperm(len(found), generator=torch.Generator().manual_seed(seed)).tolist()
    rewards, group, step, lengths = ([column[row] for row in order] for column in dump)
    group = [max(dump[1]) + 2 - label for label in group]
    expected = [found[row] for row in order]
    assert more(name, rewards, group, step, lengths) == pytest.approx(
        expected, rel=1e-11, abs=1e-12, nan_ok=True
    )


SCALED = [0.3, -1.0, 2.2, 0.75, 0.1, 5.0, 4.0, 4.5], [0, 0, 0, 0, 1, 1, 1, 1], None, [3, 9, 1, 7, 5, 2, 8, 1]


@pytest.mark.parametrize(
    ("name", "degree"), [("loo_norm", 0), ("maxrl", 0), ("gpg", 1), ("opo", 1), ("ngrpo", 0)]
)
def test_scale(name, degree):
    rewards, *rest = SCALED
    found = more(name, *SCALED, **({"r_max": 6.0} if name == "ngrpo" else {}))
    scaled = more(name, [r * 7 for r in rewards], *rest, **({"r_max": 42.0} if name == "ngrpo" else {}))
    assert scaled == pytest.approx([a * 7**degree for a in found], rel=1e-12)


@pytest.mark.parametrize("name", ["loo_norm", "gpg", "opo", "ngrpo"])
def test_shift(name):
    rewards, *rest = SCALED  # none of them 0, before or after: gpg counts those
    found = more(name, *SCALED, **({"r_max": 6.0} if name == "ngrpo" else {}))
    moved = more(name, [r + 3 for r in rewards], *rest, **({"r_max": 9.0} if name == "ngrpo" else {}))
    assert moved == pytest.approx(found, rel=1e-11)


@pytest.mark.parametrize("name", ["maxrl", "gpg", "opo"])
def test_advantages_of_a_group_add_up_to_zero(name):
    found = more(name, *SCALED)
    weights = SCALED[3] if name == "opo" else [1] * 8
    for rows in (range(4), range(4, 8)):
        assert sum(found[row] * weights[row] for row in rows) == pytest.approx(0, abs=1e-14)


@by_name
@pytest.mark.parametrize("size", [2, 3, 7, 8, 15])
@pytest.mark.parametrize("constant", [0.1, 0.9, 0.35, 1000.1, 1e-300, -0.3, 0.0])
def test_a_dead_group_of_the_others_is_exactly_zero(constant, size, name):
    knobs = {"r_max": constant} if name == "ngrpo" else {}
    found = more(name, [constant] * size + [0.3, 0.7, 0.4], [0] * size + [1, 1, 1], **knobs)
    assert found[:size] == [0.0] * size
    assert found[size] != 0 != found[size + 1]


@by_name
def test_a_group_of_one_of_the_others_is_undefined(name):
    found = more(name, [0.7, 1.0, 0.0], [0, 1, 1])
    assert [math.isnan(advantage) for advantage in found] == [True, False, False]


def test_other_rows_that_are_equal_do_not_divide():
    # reference/other-frameworks.md 1.1: a standard deviation of 0, or none with two rows.
    assert more("loo_norm", [5.0, 2.0, 2.0, 2.0], [0] * 4)[0] == 3.0
    assert more("loo_norm", [0.1, 0.1, 0.1, 0.4], [0] * 4)[3] == pytest.approx(0.3, rel=1e-15)
    assert more("loo_norm", [0.5, 2.0], [0, 0], eps=0.1) == [-1.5, 1.5]


def test_a_row_far_out_leaves_the_others_their_digits():
    rewards = [1e9, 0.0, 1e-3, 2.5e-3]
    expected = references_group.loo_norm(rewards, [0] * 4)
    assert more("loo_norm", rewards, [0] * 4) == pytest.approx(expected, rel=1e-13)
    both = [1e9, 0.0, -1e9, 1.0]
    assert more("loo_norm", both, [0] * 4) == pytest.approx(
        references_group.loo_norm(both, [0] * 4), rel=1e-13
    )


@pytest.mark.parametrize("size", [1e-300, 1e-9, 1e9, 1e300])
def test_the_others_neither_overflow_nor_underflow(size):
    rewards, group = [0.0, size, 0.0, 0.0], [0] * 4
    assert more("maxrl", rewards, group) == pytest.approx([-1, 3, -1, -1])
    assert more("loo_norm", rewards, group) == pytest.approx([-(3**-0.5), size, -(3**-0.5), -(3**-0.5)])
    assert more("opo", rewards, group) == pytest.approx([-size / 4, size * 0.75, -size / 4, -size / 4])
    assert more("ngrpo", rewards, group, r_max=size) == pytest.approx(
        [-0.7302967, 1.0954451] + [-0.7302967] * 2
    )


def test_gpg_counts_per_step_and_counts_groups_of_one():
    found = more("gpg", [1, 0, 2, 0, 0.5], [0, 0, 1, 1, 2], [0, 0, 1, 1, 1])
    assert found[:4] == pytest.approx([1.0, -1.0, 1.5, -1.5])
    assert more("gpg", [0, 0], [0, 0]) == [0.0, 0.0]


def test_opo_without_tokens_is_undefined():
    found = more("opo", [1, 0, 1, 0], [0, 0, 1, 1], None, [0, 0, 0, 5])
    assert [math.isnan(advantage) for advantage in found] == [True, True, False, False]
    assert found[2:] == [1.0, 0.0]


def test_ngrpo_learns_from_groups_that_are_all_wrong():
    found = more("ngrpo", [0.0, 0.0, 1.0, 1.0, 2.0, 2.0], [0, 0, 1, 1, 2, 2])
    assert found[0] == found[1] < 0
    assert found[2:4] == [0.0, 0.0]
    assert found[4] == found[5] > 0  # above r_max: as the formula has it


@by_name
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_others_keep_the_dtype_and_write_to_no_input(name, dtype):
    given = columns_of(name, *references_group.random_dump(3), dtype=dtype)
    before = [column.clone() for column in given]
    found = MORE[name](*given)
    assert found.dtype == dtype
    assert all(map(torch.equal, given, before))
    exact = MORE[name](*columns_of(name, *references_group.random_dump(3)))
    torch.testing.assert_close(found.to(torch.float64), exact, rtol=1e-4, atol=1e-4, equal_nan=True)


@by_name
def test_lengths_that_differ(name):
    given = columns_of(name, [0.0, 1.0, 0.5], [0, 0, 0])
    with pytest.raises(RuntimeError):
        MORE[name](given[0][:2], *given[1:])


@by_name
def test_no_rows_for_the_others(name):
    assert more(name, [], []) == []


@pytest.mark.gpu
@by_name
def test_the_others_on_cuda(name):
    given = columns_of(name, *references_group.random_dump(1))
    on_gpu = MORE[name](*(column.cuda() for column in given)).cpu()
    torch.testing.assert_close(on_gpu, MORE[name](*given), rtol=1e-11, atol=1e-12, equal_nan=True)
