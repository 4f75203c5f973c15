"""Numbers as they are shown."""

import math

import pytest

from advcli.render.numbers import UNDEFINED, count, number, share


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (-0.0, "0"),
        (1, "1"),
        (-1.26491106, "-1.265"),
        (0.00005, "5e-05"),
        (-0.0001234, "-0.0001234"),
        (0.0006, "0.0006"),
        (1234.56789, "1235"),
        (123456.7, "1.235e+05"),
        (8.9e-19, "0"),
        (-1e-13, "0"),
        (1e-300, "0"),
        (1e300, "1e+300"),
        (math.inf, UNDEFINED),
        (-math.inf, UNDEFINED),
        (math.nan, UNDEFINED),
        (None, UNDEFINED),
    ],
)
def test_number(value, shown):
    assert number(value) == shown


@pytest.mark.parametrize("value", [1 / 3, -2e-7 / 3, 1e17 / 3, 99999.4, 5e-4, math.pi * 1e4])
def test_no_number_has_twelve_digits(value):
    assert len(number(value)) <= 10
    assert float(number(value)) == pytest.approx(value, rel=5e-3, abs=5e-5)


@pytest.mark.parametrize(
    ("value", "shown"), [(0, "0"), (999, "999"), (1000, "1,000"), (12345678, "12,345,678"), (None, UNDEFINED)]
)
def test_count(value, shown):
    assert count(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0.0%"),
        (0.125, "12.5%"),
        (1, "100.0%"),
        (2 / 3, "66.7%"),
        (math.nan, UNDEFINED),
        (None, UNDEFINED),
    ],
)
def test_share(value, shown):
    assert share(value) == shown
