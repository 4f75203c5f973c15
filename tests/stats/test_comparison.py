"""How a processed column differs from the original: by hand, against pandas and a plain loop."""

import math
import statistics

import pandas as pd
import pytest
import references
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from repeated import over

from advcli.records.settings import AdvantageTable
from advcli.records.table import Rows
from advcli.stats.comparison import compare, rank_agreement

NAN = math.nan


def column(rewards, group, original, processed, kept, lengths=None, count=None):
    rows = Rows(
        rewards=torch.tensor(rewards, dtype=torch.float64),
        group=torch.tensor(group, dtype=torch.int64),
        count=max(group, default=-1) + 1 if count is None else count,
        step=torch.zeros(len(group), dtype=torch.int64),
        lengths=None if lengths is None else torch.tensor(lengths, dtype=torch.float64),
    )
    first, second = (torch.tensor(values, dtype=torch.float64) for values in (original, processed))
    table = AdvantageTable(first, second, torch.tensor(kept, dtype=torch.bool))
    return compare("it", rows, first, table)


@pytest.mark.parametrize("rows", [0, 2])
def test_no_row_has_a_group(rows):
    """As in one of several places that share the rows of a data set."""
    found = column([1.0] * rows, [-1] * rows, [NAN] * rows, [0.0] * rows, [False] * rows)
    assert (found.kept_groups, found.below_two, found.dead_groups, found.phantoms) == (0, 0, 0, 0)


def test_by_hand():
    # Groups: 0 has three kept, 1 has one kept of two, 2 is a singleton, 3 lost all rows, 4 has a missing
    # reward and two equal kept ones.
    found = column(
        rewards=[0, 1, 2, 3, 0, 1, 5, 0, 1, NAN, 4, 4],
        group=[0, 0, 0, 0, 1, 1, 2, 3, 3, 4, 4, 4],
        original=[-3, -1, 1, 3, -1, 1, NAN, -1, 1, NAN, 0, 0],
        processed=[0, -2, 0, 2, 0, -1, NAN, 0, 0, NAN, 0, 0],
        kept=[False, True, True, True, False, True, False, False, False, False, True, True],
    )
    assert found.label == "it"
    assert (found.kept_rows, found.kept_groups, found.below_two, found.dead_groups) == (6, 3, 2, 1)
    assert found.live_groups == 1
    # kept: original -1 1 3 1 0 0, processed -2 0 2 -1 0 0
    assert found.sign_changes == pytest.approx(2 / 6)
    assert found.mean_abs_ratio == pytest.approx(5 / 6)
    assert found.rank_agreement == pytest.approx(1.0)
    assert found.correlation == pytest.approx(
        statistics.correlation([-1, 1, 3, 1, 0, 0], [-2, 0, 2, -1, 0, 0])
    )
    assert (found.figures.count, found.figures.mean, found.figures.min, found.figures.max) == (
        6,
        pytest.approx(-1 / 6),
        -2.0,
        2.0,
    )
    assert (found.figures.share_positive, found.figures.share_zero) == pytest.approx((1 / 6, 3 / 6))
    assert found.figures.token_mean is None


def test_the_original_beside_itself():
    values = [-1.0, 0.0, 1.0, 0.5, -0.5]
    found = column([0, 1, 2, 1, 0], [0, 0, 0, 1, 1], values, values, [True] * 5, lengths=[1, 1, 1, 1, 6])
    assert (found.sign_changes, found.mean_abs_ratio, found.rank_agreement) == (0.0, 1.0, pytest.approx(1.0))
    assert (found.below_two, found.dead_groups, found.kept_groups) == (0, 0, 2)
    assert found.figures.token_mean == pytest.approx(-0.25)


def test_a_row_within_1e_6_of_its_group_s_largest_has_no_sign():
    found = column([0, 1, 2], [0, 0, 0], [-1.0, 1e-9, 1.0], [-1.0, -1e-9, 1.0], [True] * 3)
    assert found.sign_changes == 0.0
    assert (found.figures.share_negative, found.figures.share_zero) == pytest.approx((1 / 3, 1 / 3))
    found = column([0, 1, 2], [0, 0, 0], [-1.0, 0.25, 1.0], [-1.0, 0.0, 1.0], [True] * 3)
    assert found.sign_changes == pytest.approx(1 / 3)


def test_lengths_are_those_of_the_kept_rows():
    found = column([0, 1, 2], [0, 0, 0], [-1, 0, 1], [-1, 0, 1], [True, False, True], lengths=[3, 100, 1])
    assert found.figures.token_mean == pytest.approx(-0.5)


def test_rows_of_no_group_take_no_part():
    found = column([0, 1, NAN], [0, 0, -1], [-1, 1, NAN], [-1, 1, NAN], [True, True, False])
    assert (found.kept_rows, found.kept_groups, found.below_two, found.sign_changes) == (2, 1, 0, 0.0)


def test_a_missing_row_that_is_kept_as_zero_is_no_survivor():
    found = column([0, 1, NAN], [0, 0, 0], [-1, 1, 0], [-1, 0, 0], [True, False, True])
    assert (found.kept_rows, found.kept_groups, found.below_two, found.dead_groups) == (2, 1, 1, 0)


@pytest.mark.parametrize("rows", [0, 2])
def test_nothing_kept(rows):
    found = column([0.0] * rows, [0] * rows, [NAN] * rows, [NAN] * rows, [False] * rows, count=1)
    assert (found.kept_rows, found.kept_groups, found.dead_groups, found.figures.count) == (0, 0, 0, 0)
    assert all(map(math.isnan, (found.sign_changes, found.mean_abs_ratio, found.rank_agreement)))


def test_ratio_is_undefined_where_the_original_is_zero():
    assert math.isnan(column([1, 1], [0, 0], [0, 0], [0, 0], [True, True]).mean_abs_ratio)


def agreement(first, second, group):
    tensors = (torch.tensor(values, dtype=torch.float64) for values in (first, second))
    return rank_agreement(*tensors, torch.tensor(group, dtype=torch.int64), max(group, default=-1) + 1)


@pytest.mark.parametrize(
    ("first", "second", "group", "expected"),
    [
        ([1, 2, 3], [1, 2, 9], [0, 0, 0], 1.0),  # ranks, not values
        ([1, 2, 3], [3, 2, 1], [0, 0, 0], -1.0),
        ([1, 2, 3, 4, 5], [2, 1, 4, 3, 5], [0] * 5, 0.8),  # 1 - 6 * 4 / (5 * 24)
        ([1, 2, 2, 3], [1, 2, 3, 4], [0] * 4, 4.5 / math.sqrt(4.5 * 5)),  # ties at their mean rank
        ([1, 2, 2, 1], [1, 2, 1, 2], [0, 0, 1, 1], 0.0),  # +1 and -1
        (
            [1, 2, 5, 5, 7],
            [1, 2, 1, 2, 7],
            [0, 0, 1, 1, 2],
            1.0,
        ),  # constant groups and singletons do not count
        ([1, 20, 2, 10], [1, 1, 2, 2], [0, 1, 0, 1], 0.0),
        ([1, 1], [1, 2], [0, 0], NAN),
        ([], [], [], NAN),
    ],
)
def test_rank_agreement_by_hand(first, second, group, expected):
    assert agreement(first, second, group) == pytest.approx(expected, nan_ok=True)


@settings(deadline=None, max_examples=80, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-3, 3), st.integers(-3, 3)), max_size=30))
def test_rank_agreement_equals_a_plain_loop_and_pandas(rows):
    group, first, second = ([row[part] for row in rows] for part in range(3))
    found = agreement(first, second, group)
    assert found == pytest.approx(references.rank_agreement(first, second, group), nan_ok=True)
    rho = []
    for _, part in pd.DataFrame({"g": group, "x": first, "y": second}).groupby("g"):
        if part["x"].nunique() > 1 and part["y"].nunique() > 1:
            rho.append(part["x"].rank().corr(part["y"].rank()))
    assert found == pytest.approx(sum(rho) / len(rho) if rho else NAN, nan_ok=True)


@over(seed=range(5))
def test_a_column_agrees_with_itself_as_with_one_that_ranks_the_same(seed):
    """Nothing is ranked where both are equal; doubled, the values are, and have the same ranks."""
    generator = torch.Generator().manual_seed(seed)
    values = torch.randint(0, 3, (60,), generator=generator).double()
    group = torch.randint(0, 12, (60,), generator=generator)
    assert rank_agreement(values, values.clone(), group, 12) == pytest.approx(
        rank_agreement(values, 2 * values + 1, group, 12)
    )
    assert math.isnan(rank_agreement(torch.ones(4), torch.ones(4), torch.zeros(4, dtype=torch.int64), 1))
