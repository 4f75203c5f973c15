"""Statistics of a column: by hand, and against pandas."""

import math

import pandas as pd
import pytest
import references
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from advcli.stats.figures import figures


def of(values, lengths=None, signs=None):
    column = torch.tensor(values, dtype=torch.float64)
    lengths = None if lengths is None else torch.tensor(lengths, dtype=torch.float64)
    return figures(column, column.sign() if signs is None else torch.tensor(signs), lengths)


def test_by_hand():
    # 1 2 3 4 10: mean 4, deviations -3 -2 -1 0 6, squares 50; p5 lies 0.2 of the way from 1 to 2
    found = of([3.0, 1.0, 10.0, 2.0, 4.0])
    assert (found.count, found.mean, found.min, found.median, found.max) == (5, 4.0, 1.0, 3.0, 10.0)
    assert found.std == pytest.approx(math.sqrt(50 / 4))
    assert (found.p5, found.p25, found.p75, found.p95) == pytest.approx((1.2, 2.0, 4.0, 8.8))
    assert (found.token_mean, found.token_std) == (None, None)


def test_shares_follow_the_signs_that_are_given():
    found = of([-2.0, 1e-9, 3.0, 4.0], signs=[-1.0, 0.0, 1.0, 1.0])
    assert (found.share_negative, found.share_zero, found.share_positive) == (0.25, 0.25, 0.5)
    assert found.mean_abs == pytest.approx(2.25)


@pytest.mark.parametrize(
    ("lengths", "mean", "std"),
    [
        ([1, 3], 0.5, math.sqrt(0.75)),  # -1 once and 1 three times
        ([5, 5], 0.0, 1.0),
        ([math.nan, 2], 1.0, 0.0),  # a row without a length weighs nothing
        ([-4, 2], 1.0, 0.0),
        ([0, 0], math.nan, math.nan),
        ([math.nan, math.nan], math.nan, math.nan),
    ],
)
def test_token_weighted(lengths, mean, std):
    found = of([-1.0, 1.0], lengths)
    assert (found.token_mean, found.token_std) == pytest.approx((mean, std), nan_ok=True)
    assert (found.mean, found.std) == pytest.approx((0.0, math.sqrt(2)))


def test_one_row_has_no_std():
    found = of([2.0], [7])
    assert math.isnan(found.std)
    assert (found.count, found.mean, found.min, found.p5, found.median, found.p95, found.max) == (
        1,
        *[2.0] * 6,
    )
    assert (found.token_mean, found.token_std) == (2.0, 0.0)


@pytest.mark.parametrize(("lengths", "tokens"), [(None, None), ([], math.nan)])
def test_no_rows(lengths, tokens):
    found = vars(of([], lengths))
    assert found.pop("count") == 0
    for name in ("token_mean", "token_std"):
        value = found.pop(name)
        assert value is None if tokens is None else math.isnan(value)
    assert all(math.isnan(value) for value in found.values())
    assert len(found) == 13


def test_takes_float32():
    column = torch.tensor([0.5, 1.5], dtype=torch.float32)
    assert figures(column, column.sign()).std == pytest.approx(math.sqrt(0.5))


@settings(deadline=None, max_examples=50, derandomize=True)
@given(st.lists(st.tuples(st.floats(-1e3, 1e3), st.integers(1, 500)), min_size=2, max_size=40))
def test_equals_pandas(rows):
    values, lengths = [a for a, _ in rows], [n for _, n in rows]
    found, column = of(values, lengths), pd.Series(values)
    described = column.describe(percentiles=[0.05, 0.25, 0.5, 0.75, 0.95])
    names = ["count", "mean", "std", "min", "p5", "p25", "median", "p75", "p95", "max"]
    close = {"rel": 1e-9, "abs": 1e-9}
    assert [getattr(found, name) for name in names] == pytest.approx(described.tolist(), **close)
    assert found.mean_abs == pytest.approx(column.abs().mean(), **close)
    shares = [(column > 0).mean(), (column == 0).mean(), (column < 0).mean()]
    assert [found.share_positive, found.share_zero, found.share_negative] == pytest.approx(shares)
    assert found.p5 == pytest.approx(references.percentile(values, 5), **close)
    tokens = column.repeat(lengths)  # one entry per token
    assert (found.token_mean, found.token_std) == pytest.approx((tokens.mean(), tokens.std(ddof=0)), **close)
