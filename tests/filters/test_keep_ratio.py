"""Which rows a keep ratio keeps: by hand, and against a plain loop."""

import math

import pytest
import references
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from advcli.filters.keep_ratio import keep_ratio

T, F = True, False


def keep(advantages, group=None, *, keep_pos=1.0, keep_neg=1.0, dtype=torch.float64):
    group = [0] * len(advantages) if group is None else group
    found = keep_ratio(
        torch.tensor(advantages, dtype=dtype),
        torch.tensor(group, dtype=torch.int64),
        keep_pos=keep_pos,
        keep_neg=keep_neg,
    )
    assert found.dtype == torch.bool
    return found.tolist()


@pytest.mark.parametrize(
    ("advantages", "ratios", "expected"),
    [
        # best positives and worst negatives
        ([1, 4, 2, 3, -1, -4, -2, -3], (0.5, 0.5), [F, T, F, T, F, T, F, T]),
        ([1, 4, 2, 3, -1, -4, -2, -3], (0.25, 0.75), [F, T, F, F, F, T, T, T]),
        ([1, 4, 2, 3, -1, -4, -2, -3], (1, 1), [T] * 8),
        ([1, 4, 2, 3, -1, -4, -2, -3], (0, 1), [F] * 4 + [T] * 4),
        ([1, 4, 2, 3, -1, -4, -2, -3], (1, 0), [T] * 4 + [F] * 4),
        ([1, 4, 2, 3, -1, -4, -2, -3], (0, 0), [F] * 8),
        # truncated, but never below one
        ([1, 2, 3, -1, -2, -3], (0.99, 0.01), [F, T, T, F, F, T]),
        ([1, -1], (0.01, 0.01), [T, T]),
        # ties go to the first rows
        ([2, 2, 2, 2, -3, -3, -3, -3], (0.5, 0.25), [T, T, F, F, T, F, F, F]),
        ([1, 2, 1, 2, 1], (0.6, 1), [T, T, F, T, F]),
        # neutral rows stay: exactly 0, or up to 1e-6 of the largest |A|
        ([0, 2, -2, 2e-6, -2e-6, 2.1e-6, -2.1e-6], (0, 0), [T, F, F, T, T, F, F]),
        ([0, 0, 0], (0, 0), [T, T, T]),
        # one side only
        ([1, 2, 3, 4], (0.5, 0), [F, F, T, T]),
        ([-1, -2, -3, -4], (0, 0.5), [F, F, T, T]),
        ([], (0.5, 0.5), []),
    ],
)
def test_by_hand(advantages, ratios, expected):
    assert keep(advantages, keep_pos=ratios[0], keep_neg=ratios[1]) == expected


def test_undefined_rows_are_no_side_and_take_no_place():
    assert keep([math.nan, 1, 2, math.nan, 3, 4], keep_pos=0.5) == [T, F, F, T, T, T]


def test_groups_are_apart_however_they_lie():
    advantages, group = [1, 10, 2, 20, 3, 30, 4, 40], [0, 1, 0, 1, 0, 1, 0, 1]
    assert keep(advantages, group, keep_pos=0.5) == [F, F, F, F, T, T, T, T]
    assert keep([-a for a in advantages], [7 - g for g in group], keep_neg=0.5) == [F, F, F, F, T, T, T, T]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("count", "ratio", "kept"),
    [
        (100, 0.29, 28),  # 28.999999999999996 in float64, 29 in float32
        (100, 0.57, 56),  # 56.99999999999999
        (10, 0.7, 7),  # 7 in float64, 6.9999998 in float32
        (10, 0.3, 3),
        (3, 0.1, 1),
        (1000, 0.999, 999),
        (7, 0.5, 3),  # truncated, neither rounded (4) nor rounded up
        (5, 0.99, 4),
    ],
)
def test_the_product_is_in_float64_and_truncated(count, ratio, kept, dtype):
    positive = [float(a) for a in range(1, count + 1)]
    assert sum(keep(positive, keep_pos=ratio, dtype=dtype)) == kept
    assert sum(keep([-a for a in positive], keep_neg=ratio, dtype=dtype)) == kept


def test_writes_to_no_input():
    advantages, group = torch.tensor([1.0, -1.0, 2.0]), torch.tensor([0, 0, 0])
    before = advantages.clone(), group.clone()
    keep_ratio(advantages, group, keep_pos=0.5, keep_neg=0.0)
    assert torch.equal(advantages, before[0])
    assert torch.equal(group, before[1])


ratio = st.one_of(st.sampled_from([0.0, 0.29, 0.5, 0.7, 1.0]), st.floats(0, 1))
row = st.tuples(
    st.integers(0, 3),
    st.one_of(st.integers(-4, 4).map(float), st.just(1e-7), st.just(-1e-7), st.just(math.nan)),
)


@settings(deadline=None, max_examples=150, derandomize=True)
@given(st.lists(row, max_size=30), ratio, ratio)
def test_equals_a_plain_loop(rows, keep_pos, keep_neg):
    group, advantages = [g for g, _ in rows], [a for _, a in rows]
    expected = references.keep_ratio(advantages, group, keep_pos, keep_neg)
    found = keep(advantages, group, keep_pos=keep_pos, keep_neg=keep_neg)
    assert [k for k, a in zip(found, advantages, strict=True) if not math.isnan(a)] == [
        k for k, a in zip(expected, advantages, strict=True) if not math.isnan(a)
    ]
