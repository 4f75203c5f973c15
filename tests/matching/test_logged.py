"""What is seen of a column of logged advantages."""

import pytest
import torch

from advcli.matching.logged import Logged, half_step, rounding

VALUES = torch.tensor(
    [1.234567, -0.765432, 0.1357913, -0.2468024, 0.9182736, -1.0192837], dtype=torch.float64
)


def test_the_tolerance_is_that_of_the_contract():
    log = Logged.of(torch.tensor([2.0, -1.0, torch.nan], dtype=torch.float64))
    assert log.tolerance == pytest.approx(1e-5 * 2 + 1e-6)


@pytest.mark.parametrize("digits", [2, 4])
def test_decimals_are_seen(digits):
    log = Logged.of(VALUES.round(decimals=digits))
    assert log.decimals == digits
    assert log.coarse
    assert float(log.loosened().room().min()) >= 0.5 * 10**-digits


@pytest.mark.parametrize(("dtype", "unit"), [(torch.bfloat16, 2**-8), (torch.float16, 2**-10)])
def test_16_bit_types_are_seen(dtype, unit):
    log = Logged.of(VALUES.to(dtype).double())
    assert log.half_precision == unit
    room = log.loosened().room()
    assert bool(((VALUES - log.values).abs() <= room).all())


def test_numbers_of_full_precision_are_not_coarse():
    assert not Logged.of(VALUES).coarse
    assert not Logged.of(VALUES.float().double()).coarse


def test_half_step_of_rewards():
    assert half_step(VALUES.round(decimals=3)) == pytest.approx(0.0005)
    assert half_step(VALUES) == 0.0


def test_rounding_is_nothing_where_nothing_is_divided():
    rewards, std = torch.ones(2, dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    assert rounding(rewards, rewards, std, 0.0).tolist() == [0.0, 0.0]
    assert rounding(rewards, rewards, std, None, blur=0.5).tolist() == pytest.approx([1.5, 1.5], abs=1e-5)
