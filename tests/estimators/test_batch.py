"""Estimators of the step or of the row alone: literals, plain loops, identities, undefined cases, arithmetic."""

import math

import pytest
import references_batch
import torch
from repeated import over

from advcli.estimators import batch
from advcli.estimators.group import grpo

NEEDS = {
    "reinforce": ("rewards",),
    "batch_norm": ("rewards", "step"),
    "reinforce_plus_plus": ("rewards", "step", "lengths"),
    "reinforce_plus_plus_rows": ("rewards", "step"),
    "reinforce_plus_plus_baseline": ("rewards", "group", "step", "lengths"),
    "reinforce_plus_plus_baseline_rows": ("rewards", "group", "step"),
    "remax": ("rewards", "baselines"),
    "positive_only": ("rewards",),
    "negative_only": ("rewards",),
    "w_reinforce": ("rewards",),
}
WHITE = [name for name in NEEDS if name.startswith(("reinforce_", "batch"))]
TOKENS = ["reinforce_plus_plus", "reinforce_plus_plus_baseline"]
BASELINE = [name for name in NEEDS if "_baseline" in name]
by_name = pytest.mark.parametrize("name", NEEDS)

# reference/estimators.md D5
D5 = {
    "rewards": [1, 0, 0, 0, 1, 1, 0, 0],
    "group": [0] * 4 + [1] * 4,
    "step": [0] * 8,
    "lengths": [10, 20, 30, 40, 40, 10, 10, 40],
    "baselines": [1.0] * 4 + [0.0] * 4,
}


def columns(name, dump, dtype=torch.float64):
    kind = {"group": torch.int64, "step": torch.int64}
    return [torch.tensor(dump[key], dtype=kind.get(key, dtype)) for key in NEEDS[name]]


def call(name, dump, **knobs):
    return getattr(batch, name)(*columns(name, dump), **knobs).tolist()


# --- literals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "knobs", "expected"),
    [
        ("reinforce", {}, [1, 0, 0, 0, 1, 1, 0, 0]),
        ("batch_norm", {}, [1.2076, *[-0.7246] * 3, 1.2076, 1.2076, -0.7246, -0.7246]),
        ("reinforce_plus_plus", {}, [1.5237, *[-0.6530] * 3, 1.5237, 1.5237, -0.6530, -0.6530]),
        ("reinforce_plus_plus_rows", {}, [1.2076, *[-0.7246] * 3, 1.2076, 1.2076, -0.7246, -0.7246]),
        (
            "reinforce_plus_plus_baseline",
            {},
            [1.9637, *[-0.4165] * 3, 1.3686, 1.3686, -1.0116, -1.0116],
        ),
        ("reinforce_plus_plus_baseline_rows", {}, [1.5, *[-0.5] * 3, 1, 1, -1, -1]),
        ("remax", {}, [0, -1, -1, -1, 1, 1, 0, 0]),
        ("positive_only", {}, [1, 0, 0, 0, 1, 1, 0, 0]),
        ("negative_only", {}, [0, -1, -1, -1, 0, 0, -1, -1]),
        ("positive_only", {"weight": 0.1, "threshold": 1.0}, [0.1, 0, 0, 0, 0.1, 0.1, 0, 0]),
        ("negative_only", {"weight": 2.0, "threshold": 1.1}, [-2] * 8),
        ("w_reinforce", {}, [0.1, *[-1] * 3, 0.1, 0.1, -1, -1]),
    ],
)
def test_golden_numbers(name, knobs, expected):
    assert call(name, D5, **knobs) == pytest.approx(expected, abs=5e-5)


def test_golden_numbers_of_openrlhf():
    # reference/trl-family.md section 6: ddof 0, and the missing reward of row 10 counts 0 there.
    dump = {
        "rewards": [1.1, 0.1, 0, 1.1, 1.1, 1.1, 1.1, 1.1, 0, 0, 1.1, 0.1],
        "group": [0] * 4 + [1] * 4 + [2] * 4,
        "step": [0] * 12,
        "lengths": [10, 20, 30, 40, 10, 10, 10, 10, 50, 5, 5, 5],
    }
    found = call("reinforce_plus_plus_baseline", dump, ddof=0, eps=0)
    expected = [
        1.42358,
        -0.975877,
        -1.215822,
        1.42358,
        *[0.163865] * 4,
        -0.555972,
        -0.555972,
        2.083431,
        -0.316026,
    ]
    assert found == pytest.approx(expected, abs=2e-6)
    found = call("reinforce_plus_plus", dump, ddof=0, eps=0)
    expected = [1.074303, -0.784195, -0.970045, *[1.074303] * 5, -0.970045, -0.970045, 1.074303, -0.784195]
    assert found == pytest.approx(expected, abs=2e-6)


def test_golden_numbers_of_ms_swift():
    # The same section, "r++ batch": std of the centred rewards + 1e-4, no eps inside of the root.
    dump = {"rewards": [1.1, 0.1, 0, 1.1, *[1.1] * 4, 0, 0, 1.1, 0.1], "group": [0] * 4 + [1] * 4 + [2] * 4}
    found = call("reinforce_plus_plus_baseline_rows", dump | {"step": [0] * 12}, eps=0)
    expected = [1.241068, -1.122871, -1.359265, 1.241068, *[0] * 4, -0.709182, -0.709182, 1.891151, -0.472788]
    assert found == pytest.approx(expected, rel=3e-4)


def test_eps_is_inside_of_the_root():
    # Variance 2 of 0 2 with ddof 1: the divisor is √(2 + 2).
    for name in ("reinforce_plus_plus_rows", "reinforce_plus_plus_baseline_rows"):
        found = call(name, {"rewards": [0, 2], "group": [0, 0], "step": [0, 0]}, eps=2.0)
        assert found == pytest.approx([-0.5, 0.5])
    assert call("batch_norm", {"rewards": [0, 2], "step": [0, 0]}, eps=1.0) == pytest.approx(
        [-1 / (1 + 2**0.5), 1 / (1 + 2**0.5)]
    )


# --- plain loops and identities -----------------------------------------------------------------------


@over(seed=range(25))
@pytest.mark.parametrize(
    ("name", "knobs"),
    [
        *((name, {}) for name in NEEDS),
        *((name, {"ddof": 0, "eps": 0.25}) for name in WHITE),
        *((name, {"eps": 0.0}) for name in WHITE),
        ("positive_only", {"threshold": 0.9, "weight": 0.1}),
        ("negative_only", {"threshold": 0.9, "weight": 0.1}),
        ("w_reinforce", {"threshold": 0.9, "weight": 0.3}),
    ],
)
def test_equals_a_plain_loop(name, knobs, seed):
    dump = references_batch.random_columns(seed)
    expected = getattr(references_batch, name)(*(dump[key] for key in NEEDS[name]), **knobs)
    assert call(name, dump, **knobs) == pytest.approx(expected, rel=1e-10, abs=1e-12, nan_ok=True)


@over(seed=range(5))
@pytest.mark.parametrize("name", TOKENS)
def test_equally_long_rows_weigh_the_same(name, seed):
    dump = references_batch.random_columns(seed)
    equal = call(name, dump | {"lengths": [7] * len(dump["rewards"])}, ddof=0)
    rows = call(f"{name}_rows", dump, ddof=0)
    assert equal == pytest.approx(rows, rel=1e-9, abs=1e-9, nan_ok=True)


@over(seed=range(5))
@pytest.mark.parametrize("name", TOKENS)
def test_a_row_of_n_tokens_is_n_rows_of_one(name, seed):
    dump = references_batch.random_columns(seed)
    if name in BASELINE:
        # Copies would move the mean of the group: take rewards that are centred already.
        centred = [
            0.0 if math.isnan(c) else c for c in references_batch.centred(dump["rewards"], dump["group"])
        ]
        dump |= {"rewards": centred}
        name = "reinforce_plus_plus"
    copies = [row for row, length in enumerate(dump["lengths"]) for _ in range(length)]
    split = {key: [dump[key][row] for row in copies] for key in ("rewards", "step")}
    expected = dict(zip(copies, call("reinforce_plus_plus_rows", split), strict=True))
    found = call(name, dump)
    for row, advantage in expected.items():
        assert found[row] == pytest.approx(advantage, rel=1e-9, abs=1e-9)


@over(seed=range(5))
def test_batch_norm_is_grpo_with_the_step_for_a_group(seed):
    rewards, step = columns("batch_norm", references_batch.random_columns(seed))
    for knobs in ({}, {"ddof": 0, "eps": 0.1}):
        expected = grpo(rewards, step, step, **knobs)
        torch.testing.assert_close(batch.batch_norm(rewards, step, **knobs), expected, rtol=1e-13, atol=1e-14)


@over(seed=range(5))
def test_right_and_wrong_add_up_to_a_sign(seed):
    dump = references_batch.random_columns(seed)
    both = zip(call("positive_only", dump), call("negative_only", dump), strict=True)
    assert [p + n for p, n in both] == [1.0 if reward >= 0.5 else -1.0 for reward in dump["rewards"]]


@over(seed=range(5))
@pytest.mark.parametrize("name", WHITE)
def test_shift_and_scale(name, seed):
    dump = references_batch.random_columns(seed)
    moved = dump | {"rewards": [8 * reward + 16 for reward in dump["rewards"]]}
    expected = call(name, dump, eps=0.0)
    assert call(name, moved, eps=0.0) == pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True)


@over(seed=range(5))
@pytest.mark.parametrize("name", WHITE)
def test_mean_0_and_variance_1_in_every_step(name, seed):
    dump = references_batch.random_columns(seed)
    found = call(name, dump, ddof=0, eps=0.0)
    weights = dump["lengths"] if name in TOKENS else [1] * len(found)
    for rows in references_batch.members(dump["step"]).values():
        own = [row for row in rows if not math.isnan(found[row])]
        total = sum(weights[row] for row in own)
        assert math.fsum(weights[row] * found[row] for row in own) == pytest.approx(0, abs=1e-9 * total)
        squares = math.fsum(weights[row] * found[row] ** 2 for row in own)
        assert squares == pytest.approx(total, rel=1e-9) or not any(found[row] for row in own)


# --- undefined and dead -------------------------------------------------------------------------------

MIXED = {
    "rewards": [0.1, *[0.9] * 3, 1.0, 0.0, 0.25],
    "group": [3, *[0] * 3, *[1] * 3],
    "step": [0] * 7,
    "lengths": [5, 5, 5, 5, 2, 9, 9],
    "baselines": [0.1] * 7,
}


@by_name
def test_a_group_of_one_is_undefined_if_rows_are_compared_in_groups(name):
    undefined = [math.isnan(a) for a in call(name, MIXED)]
    assert undefined == [name in BASELINE] + [False] * 6


@pytest.mark.parametrize("name", BASELINE)
def test_a_group_of_one_does_not_count(name):
    without = {key: column[1:] for key, column in MIXED.items()}
    assert call(name, MIXED)[1:] == pytest.approx(call(name, without), rel=1e-14)


@pytest.mark.parametrize("name", WHITE)
@pytest.mark.parametrize("eps", [0.0, 1e-8])
def test_a_dead_group_is_zero_only_if_centred_over_rows(name, eps):
    found = call(name, MIXED, eps=eps)[1:4]
    assert (found == [0.0] * 3) == (name == "reinforce_plus_plus_baseline_rows")
    assert len(set(found)) == 1


@over(seed=range(10))
def test_a_dead_group_is_exactly_zero_whatever_the_sums_round_to(seed):
    rewards = torch.rand(40, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    rewards[:8] = 0.1
    group = torch.arange(40) // 8
    for order in (torch.arange(40), torch.randperm(40, generator=torch.Generator().manual_seed(seed))):
        index = group[order]
        found = batch.reinforce_plus_plus_baseline_rows(rewards[order], index, torch.zeros_like(index))
        assert (found[index == 0] == 0).all()


@pytest.mark.parametrize("name", WHITE)
@pytest.mark.parametrize("eps", [0.0, 1e-8])
@pytest.mark.parametrize("constant", [0.0, 0.1, 0.9, 1000.1, 1e-300])
def test_a_dead_batch_is_exactly_zero(name, eps, constant):
    dump = MIXED | {"rewards": [constant] * 7}
    assert call(name, dump, eps=eps)[1:] == [0.0] * 6


@pytest.mark.parametrize("name", TOKENS)
def test_a_row_without_tokens_is_undefined_and_does_not_count(name):
    # All tokens of the first case have the reward 0.3, whatever the empty rows have.
    dump = {"rewards": [0.3, 0.1, 0.3, 0.9], "group": [0, 0, 0, 0], "step": [0] * 4, "lengths": [9, 0, 7, 0]}
    for eps in (0.0, 1e-8):
        found = call(name, dump, eps=eps)
        assert [found[0], found[2]] == [0.0, 0.0]
        assert math.isnan(found[1])
        assert math.isnan(found[3])
    assert all(map(math.isnan, call(name, dump | {"lengths": [0] * 4})))


@pytest.mark.parametrize("name", WHITE)
def test_ddof_of_n_or_more_is_undefined(name):
    dump = {"rewards": [0, 1], "group": [0, 0], "step": [0, 0], "lengths": [2, 2]}
    assert not any(map(math.isnan, call(name, dump, ddof=1)))
    assert all(map(math.isnan, call(name, dump, ddof=4)))


@pytest.mark.parametrize("name", ["batch_norm", "reinforce_plus_plus_rows", "reinforce_plus_plus"])
def test_a_step_of_one_row(name):
    found = call(name, {"rewards": [0.7], "step": [0], "lengths": [5]})
    assert found == [0.0] if name == "reinforce_plus_plus" else math.isnan(found[0])


@pytest.mark.parametrize("name", WHITE)
def test_the_batch_is_the_step(name):
    dump = {key: [*D5[key], *MIXED[key]] for key in D5}
    dump["group"] = [*D5["group"], *(group + 2 for group in MIXED["group"])]
    found = call(name, dump | {"step": [1] * 8 + [0] * 7})
    expected = call(name, D5) + call(name, MIXED)
    assert found == pytest.approx(expected, rel=1e-13, nan_ok=True)


# --- arithmetic ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-9, 1e9, 1e150, 1e300])
@pytest.mark.parametrize("name", WHITE)
def test_no_overflow_or_underflow(name, size):
    expected = call(name, D5, eps=0.0)
    large = D5 | {"rewards": [size * reward for reward in D5["rewards"]]}
    assert call(name, large, eps=0.0) == pytest.approx(expected, rel=1e-13)
    assert all(map(math.isfinite, call(name, large)))
    if size > 1:
        assert call(name, large) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("name", WHITE)
def test_no_cancellation_on_a_large_offset(name):
    expected = call(name, D5, eps=0.0)
    moved = D5 | {"rewards": [1e9 + reward for reward in D5["rewards"]]}
    assert call(name, moved, eps=0.0) == pytest.approx(expected, rel=1e-13)


@by_name
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_keeps_the_dtype_and_writes_to_no_input(name, dtype):
    given = columns(name, MIXED, dtype)
    before = [column.clone() for column in given]
    found = getattr(batch, name)(*given)
    assert found.dtype == dtype
    found.zero_()
    assert all(map(torch.equal, given, before))


@pytest.mark.parametrize("name", TOKENS)
def test_lengths_may_be_of_any_dtype(name):
    *given, lengths = columns(name, D5, torch.float32)
    estimator = getattr(batch, name)
    expected = estimator(*given, lengths)
    for dtype in (torch.int64, torch.float64):
        found = estimator(*given, lengths.to(dtype))
        assert found.dtype == torch.float32
        assert torch.equal(found, expected)


@by_name
def test_no_rows(name):
    assert call(name, {key: [] for key in D5}) == []
