"""Sums of decimals are the decimals that one would write, whatever the order and however they are split."""

from decimal import Decimal
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from advcli.tensors.decimals import total


def summed(rows, weights):
    return total(np.array(rows, dtype=np.float64).T, np.array(weights, dtype=np.float64)).tolist()


@pytest.mark.parametrize("offset", [0, 1000.1, -3, 123456.7])
@pytest.mark.parametrize("places", [1, 2, 3, 5, 7])
def test_the_sum_is_the_decimal_that_one_would_write(places, offset):
    draw = Random(f"{places} {offset}")
    for _ in range(200):
        parts = [Decimal(draw.randint(-(10**places), 10**places)).scaleb(-places) for _ in range(3)]
        parts[0] += Decimal(str(offset))
        weights = [Decimal(draw.choice(["1", "0.5", "0.3", "2", "-0.1", "0"])) for _ in parts]
        expected = sum((p * w for p, w in zip(parts, weights, strict=True)), Decimal(0))
        assert summed([[float(p) for p in parts]], [float(w) for w in weights]) == [float(expected)]


def test_a_part_that_is_no_short_decimal_does_not_split_equal_sums():
    draw = Random(1)
    for _ in range(500):
        x, y = draw.random(), draw.gauss(0, 100)
        rows = [[x, 0.1, 0.2, y], [x, 0.3, 0.0, y], [y, 0.0, 0.3, x], [0.2, x, y, 0.1]]
        assert len(set(summed(rows, [1, 1, 1, 1]))) == 1


def test_the_digits_of_long_numbers_stay():
    draw = Random(2)
    for _ in range(500):
        row = [draw.gauss(0, 1), draw.gauss(0, 1), 1 / 3]
        exact = float(sum(map(Fraction, row)))
        assert summed([row], [1, 1, 1])[0] == pytest.approx(exact, rel=0, abs=1e-15 * sum(map(abs, row)))


def test_float32_numbers_stand_for_their_shortest_decimal():
    narrow = [[float(np.float32(x)) for x in row] for row in ([0.1, 0.2], [0.3, 0.0], [0.05, 0.25])]
    assert summed(narrow, [1, 1]) == [0.3, 0.3, 0.3]
    # Numbers of more digits than float32 keeps are no decimals.
    long = float(np.float32(0.123456789))
    assert summed([[long, 1.0]], [1, 1]) == [long + 1.0]


def test_sizes_at_the_ends_of_float64():
    assert summed([[1e300, 1e300]], [1, 1]) == [2e300]
    assert summed([[5e-324, 0.0], [3e-310, 1e-310]], [1, 1]) == [5e-324, 4e-310]
    assert summed([[123456789012345.0, 1.0], [1e15, 2.0]], [1, 1]) == [123456789012346.0, 1e15 + 2]


def test_what_is_no_number_stays_none():
    found = total(np.array([[np.nan, np.inf, 0.1], [1.0, 1.0, 0.2]]), np.ones(2))
    assert np.isnan(found[0])
    assert found[1] == np.inf


def test_no_rows():
    assert total(np.zeros((2, 0)), np.ones(2)).tolist() == []


@pytest.mark.parametrize("shift", [16, 20, -9])
def test_large_and_small_decimals(shift):
    draw = Random(shift)
    for _ in range(300):
        parts = [Decimal(draw.randint(-(10**6), 10**6)).scaleb(shift) for _ in range(3)]
        assert summed([[float(part) for part in parts]], [1, 1, 1]) == [float(sum(parts))]


def test_each_row_is_rounded_at_its_own_size():
    # 1e9 keeps seven places of a sum, the row beside it fourteen.
    rows = [[1e9, 0.0], [0.123456789, 1e-9]]
    assert summed(rows, [1, 1]) == [1e9, 0.12345679]


def test_a_sum_beyond_the_largest_float_is_infinite_and_warns_of_nothing():
    assert summed([[1.7e308, 1.7e308], [-1.7e308, -1.7e308], [1.0, 2.0]], [1, 1]) == [np.inf, -np.inf, 3.0]
    assert summed([[1e308, 0.0]], [10, 1]) == [np.inf]


def test_eight_places_of_a_large_sum():
    draw = Random(4)
    for _ in range(200):
        parts = [Decimal(draw.randint(10**9, 4 * 10**10)).scaleb(-4) for _ in range(2)]
        weights = [Decimal(draw.randint(1, 10**4)).scaleb(-4) for _ in range(2)]
        expected = sum((p * w for p, w in zip(parts, weights, strict=True)), Decimal(0))
        assert summed([[float(p) for p in parts]], [float(w) for w in weights]) == [float(expected)]


def test_a_small_sum_beside_a_large_one():
    draw = Random(5)
    for _ in range(100):
        parts = [Decimal(draw.randint(10**6, 10**7)).scaleb(-7) for _ in range(2)]
        assert summed([[1e9, 0.0], [float(p) for p in parts]], [1, 1]) == [1e9, float(sum(parts))]
