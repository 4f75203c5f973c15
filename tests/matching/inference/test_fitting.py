"""Least squares, against numbers that are known."""

import pytest
import torch

from advcli.matching.inference.fitting import least_squares, shortened


def test_the_knobs_of_a_curve_are_found_again():
    x = torch.linspace(0, 3, 40, dtype=torch.float64)
    known = torch.tensor([0.7, 1.9], dtype=torch.float64)

    def left(numbers):
        return numbers[0] * torch.exp(-numbers[1] * x) - known[0] * torch.exp(-known[1] * x)

    found, square = least_squares(left, torch.tensor([1.0, 1.0], dtype=torch.float64), near=1.0)
    assert found.tolist() == pytest.approx(known.tolist(), rel=1e-9)
    assert square < 1e-20


def test_what_is_not_finite_is_left():
    found, _ = least_squares(lambda x: torch.log(x) - 1, torch.tensor([0.01], dtype=torch.float64), near=1e9)
    assert float(found) == pytest.approx(2.718281828)


def test_numbers_get_as_few_digits_as_fit():
    near = torch.tensor([0.12499999, 1e-9, 3.14159], dtype=torch.float64)
    short = shortened(near, lambda one: bool(((one - near).abs() < 1e-4).all()))
    assert short.tolist() == [0.125, 0.0, 3.1416]


def test_numbers_that_make_up_for_each_other_are_cut_together():
    numbers = torch.tensor([0.300004, 1.199996], dtype=torch.float64)
    fits = lambda one: abs(float(one.sum()) - 1.5) < 1e-9  # noqa: E731  a line of a test
    assert shortened(numbers, fits).tolist() == [0.3, 1.2]
