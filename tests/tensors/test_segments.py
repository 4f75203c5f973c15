"""The reductions against plain loops, on both layouts; where a group's rewards lie; signs."""

import math

import pytest
import references
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from advcli.tensors.segments import Segments, Spread, divide, signs

VALUES = [3.0, -1.0, 2.5, 2.5, 0.0, 7.0]
LAYOUTS = {
    "blocks": [0, 0, 0, 1, 1, 1],
    "interleaved": [0, 1, 0, 1, 0, 1],
    "blocks in another order": [1, 1, 1, 0, 0, 0],
    "ragged": [0, 0, 0, 0, 1, 1],
    "one": [0, 0, 0, 0, 0, 0],
    "singletons": [0, 1, 2, 3, 4, 5],
    "with an empty segment": [0, 0, 2, 2, 2, 0],
}
relaxed = settings(deadline=None, max_examples=60, derandomize=True)


def of(index, count=None):
    return Segments.of(torch.tensor(index, dtype=torch.int64), count)


@pytest.mark.parametrize(
    ("index", "count", "expected"),
    [
        ([0, 0, 0, 1, 1, 1], None, (2, 3)),
        ([0, 0, 0], None, (1, 3)),
        ([0, 1, 2], None, (3, 1)),
        ([0, 1, 0, 1], None, (2, None)),
        ([1, 1, 0, 0], None, (2, None)),
        ([0, 0, 1], None, (2, None)),
        ([0, 0, 1, 1], 4, (4, None)),
        ([], None, (0, None)),
        ([], 3, (3, None)),
    ],
)
def test_of_counts_segments_and_sees_blocks(index, count, expected):
    segments = of(index, count)
    assert (segments.count, segments.width) == expected


@pytest.mark.parametrize("index", LAYOUTS.values(), ids=LAYOUTS)
def test_reductions_equal_loops(index):
    segments, values = of(index), torch.tensor(VALUES, dtype=torch.float64)
    own = [[v for v, i in zip(VALUES, index, strict=True) if i == s] for s in range(max(index) + 1)]
    assert segments.size().tolist() == [len(v) for v in own]
    assert segments.sum(values).tolist() == [sum(v) for v in own]
    assert segments.max(values).tolist() == [max(v, default=-math.inf) for v in own]
    assert segments.min(values).tolist() == [min(v, default=math.inf) for v in own]
    expected = [references.mean(v) if v else math.nan for v in own]
    assert segments.mean(values).tolist() == pytest.approx(expected, nan_ok=True, abs=1e-15)
    assert segments.rows(segments.sum(values)).tolist() == [sum(own[i]) for i in index]


@pytest.mark.parametrize("index", LAYOUTS.values(), ids=LAYOUTS)
def test_rank_is_ascending_and_ties_follow_the_row_order(index):
    expected = [
        sum(i == j and (w, n) < (v, m) for n, (j, w) in enumerate(zip(index, VALUES, strict=True)))
        for m, (i, v) in enumerate(zip(index, VALUES, strict=True))
    ]
    assert of(index).rank(torch.tensor(VALUES)).tolist() == expected


@pytest.mark.parametrize("index", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("per", [[2.0] * 6, [0.0, 2.0] * 3, [0.0] * 6, [-0.0, -4.0] * 3])
def test_quotients_are_0_where_the_segment_has_0(index, per):
    segments = of(index)
    per_segment = torch.tensor(per[: segments.count], dtype=torch.float64)
    found = segments.safe_divide(torch.tensor(VALUES, dtype=torch.float64), per_segment)
    expected = [0.0 if per[s] == 0 else value / per[s] for value, s in zip(VALUES, index, strict=True)]
    assert found.tolist() == expected
    dead = torch.tensor([per[s] == 0 for s in index])
    assert not found[dead].signbit().any()
    halves = segments.safe_divide(torch.tensor(VALUES).half(), per_segment.half())
    assert halves.dtype == torch.float16


def test_reductions_of_no_rows():
    segments, nothing = of([], 2), torch.tensor([], dtype=torch.float64)
    assert segments.size().tolist() == [0, 0]
    assert segments.sum(nothing).tolist() == [0.0, 0.0]
    assert segments.max(nothing).tolist() == [-math.inf, -math.inf]
    assert segments.mean(nothing).isnan().all()
    assert segments.rank(nothing).tolist() == []


def test_mean_does_not_lose_digits_with_many_rows():
    index = torch.arange(400_000) % 2  # interleaved, so that the sum runs row by row
    values = torch.tensor([0.1, 1 / 3], dtype=torch.float64)[index]
    naive = torch.zeros(2, dtype=torch.float64).index_add_(0, index, values) / 200_000
    expected = pytest.approx([0.1, 1 / 3], rel=4e-16, abs=0)
    assert naive.tolist() != expected
    assert Segments.of(index).mean(values).tolist() == expected


@pytest.mark.parametrize(
    "index", [[0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 0, 1, 0, 1, 0, 1]], ids=["blocks", "mixed"]
)
def test_spread_by_hand(index):
    # Segment 0: 1, 3, 5, 11, mean 5, deviations -4 -2 0 6, sum of squares 56. Segment 1: four times 0.1.
    rewards = torch.full((8,), 0.1, dtype=torch.float64)
    rewards[torch.tensor(index) == 0] = torch.tensor([1.0, 3.0, 5.0, 11.0], dtype=torch.float64)
    spread = Spread.of(rewards, of(index))
    first = torch.tensor(index) == 0
    assert spread.range.tolist() == [10.0, 0.0]
    assert spread.unit[first].tolist() == pytest.approx([-0.4, -0.2, 0.0, 0.6], abs=1e-15)
    assert spread.centred()[first].tolist() == pytest.approx([-4.0, -2.0, 0.0, 6.0], abs=1e-14)
    assert spread.centred()[~first].tolist() == [0.0] * 4
    assert spread.std(1).tolist() == pytest.approx([math.sqrt(56 / 3), 0.0], abs=1e-15)
    assert spread.std(0).tolist() == pytest.approx([math.sqrt(14), 0.0], abs=1e-15)
    assert spread.unit_std(1).tolist() == pytest.approx([math.sqrt(56 / 3) / 10, 0.0], abs=1e-15)


@pytest.mark.parametrize(("ddof", "defined"), [(0, [True, True]), (1, [False, True]), (2, [False, False])])
def test_std_is_undefined_with_ddof_or_fewer_rows(ddof, defined):
    spread = Spread.of(torch.tensor([4.0, 1.0, 2.0]), of([0, 1, 1]))
    assert (~spread.std(ddof).isnan()).tolist() == defined


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-9, 1.0, 1e9, 1e150, 1e300])
def test_std_neither_overflows_nor_underflows(size):
    spread = Spread.of(torch.tensor([0.0, size, 0.0, size], dtype=torch.float64), of([0, 0, 0, 0]))
    assert spread.std(1).item() == pytest.approx(size / math.sqrt(3), rel=1e-14, abs=0)


def test_a_range_beyond_the_largest_float():
    rewards = torch.tensor([1.7e308, -1.7e308, 0.0, 5.0, 7.0], dtype=torch.float64)
    spread = Spread.of(rewards, of([0, 0, 0, 1, 1]))
    assert spread.range.tolist() == [math.inf, 2.0]
    assert spread.unit.tolist() == [0.5, -0.5, 0.0, -0.5, 0.5]
    # The squares of ½, −½ and 0 are ½ in sum, so s is half of the range.
    assert spread.scores(1, 0.0).tolist() == pytest.approx([1, -1, 0, -(0.5**0.5), 0.5**0.5])


def test_std_of_close_values_on_a_large_offset():
    # A one-pass variance gives nonsense here: verl's grpo_vectorized made ±499.5 of such a group.
    spread = Spread.of(torch.tensor([1e9, 1e9 + 1, 1e9, 1e9 + 1], dtype=torch.float64), of([0, 0, 0, 0]))
    assert spread.std(1).item() == pytest.approx(math.sqrt(1 / 3), rel=1e-15, abs=0)


@pytest.mark.parametrize(
    ("advantages", "index", "expected"),
    [
        ([2.0, 2.0e-6, -2.0e-6, 2.1e-6, -2.1e-6, 0.0, -2.0], [0] * 7, [1, 0, 0, 1, -1, 0, -1]),
        ([-2.0, 1.9e-6, 2.1e-6], [0] * 3, [-1, 0, 1]),  # the largest |A| may be a negative one
        ([1.0, 1e-7, 1e-7], [0, 0, 1], [1, 0, 1]),  # measured against the own group only
        ([0.0, 0.0, -0.0], [0, 0, 1], [0, 0, 0]),
        ([math.nan, 1.0, -1e-7, math.nan], [0, 0, 0, 1], [0, 1, 0, 0]),
        ([1e-300, -1e-300], [0, 0], [1, -1]),
    ],
)
def test_signs(advantages, index, expected):
    found = signs(torch.tensor(advantages, dtype=torch.float64), torch.tensor(index))
    assert found.tolist() == expected


def test_divide_gives_zero_over_zero():
    found = divide(torch.tensor([1.0, 0.0, -3.0, 0.0]), torch.tensor([0.0, 0.0, 2.0, 2.0]))
    assert found.tolist() == [0.0, 0.0, -1.5, 0.0]


@relaxed
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-3, 3)), min_size=1, max_size=30))
def test_reductions_on_any_layout(rows):
    index, values = [i for i, _ in rows], [float(v) for _, v in rows]
    segments, tensor = of(index, 5), torch.tensor(values, dtype=torch.float64)
    own = [[v for i, v in rows if i == s] for s in range(5)]
    assert segments.sum(tensor).tolist() == [sum(v) for v in own]
    assert segments.max(tensor).tolist() == [max(v, default=-math.inf) for v in own]
    place = segments.rank(tensor).tolist()
    for segment in range(5):
        ordered = sorted(
            (p, v, row)
            for row, (i, v, p) in enumerate(zip(index, values, place, strict=True))
            if i == segment
        )
        assert [p for p, _, _ in ordered] == list(range(len(ordered)))
        assert [(v, row) for _, v, row in ordered] == sorted((v, row) for _, v, row in ordered)


@relaxed
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-3, 3)), max_size=40))
def test_sums_along_a_segment_do_not_cross_its_edges(rows):
    index, values = [i for i, _ in rows], torch.tensor([float(v) for _, v in rows], dtype=torch.float64)
    order = of(index, 5).order(values)
    ascending = of(sorted(index), 5)
    own = [sorted(v for i, v in rows if i == s) for s in range(5)]
    assert values[order].tolist() == [v for group in own for v in group]
    assert ascending.position().tolist() == [p for group in own for p in range(len(group))]
    assert ascending.cumsum(values[order]).tolist() == [
        sum(group[: p + 1]) for group in own for p in range(len(group))
    ]


def test_only_rows_that_have_others_are_compared():
    found = of([2, 0, 2, 1, 1]).nan_if_single(torch.tensor([1.0, 2.0, 3.0, 0.0, 5.0]))
    assert found[[0, 2, 3, 4]].tolist() == [1.0, 3.0, 0.0, 5.0]
    assert math.isnan(found[1])
    assert of([0, 1, 2]).nan_if_single(torch.ones(3)).isnan().tolist() == [True] * 3
    assert of([0, 0, 1, 1]).nan_if_single(torch.arange(4.0)).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("differentiated", [False, True])
def test_an_undefined_advantage_makes_no_other_neutral(differentiated):
    # 1e-9 is the largest of its group, so it is no rounding error; 1e-18 is one.
    advantages = torch.tensor([math.nan, 1e-9, -1e-9, 1e-18, 1.0], dtype=torch.float64)
    group = torch.tensor([0, 0, 0, 0, 1])
    found = signs(advantages.requires_grad_(differentiated), group)
    assert found.tolist() == [0, 1, -1, 0, 1]
    assert found.dtype == torch.float64


def test_signs_of_what_is_differentiated():
    advantages = torch.tensor([1.0, 1e-9, -1.0, math.nan], requires_grad=True)
    assert signs(advantages, torch.zeros(4, dtype=torch.int64)).tolist() == [1, 0, -1, 0]


@pytest.mark.parametrize("differentiated", [False, True])
def test_an_advantage_on_the_bound_is_neutral(differentiated):
    advantages = torch.tensor([1.0, 1e-6, -1e-6, 2e-6], dtype=torch.float64, requires_grad=differentiated)
    assert signs(advantages, torch.zeros(4, dtype=torch.int64)).tolist() == [1, 0, 0, 1]
