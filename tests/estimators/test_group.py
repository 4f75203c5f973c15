"""grpo and rloo: literals of the papers and frameworks, a plain loop, undefined cases, arithmetic."""

import math

import pytest
import references
import torch

from advcli.estimators.group import grpo, rloo

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
