"""What is seen of a column of logged advantages."""

import pytest
import torch

from advcli.matching.logged import Logged, half_step, rounding

VALUES = torch.tensor(
    [1.23456789012, -0.7654321987, 0.135791357913, -0.2468024680246, 0.9182736450918], dtype=torch.float64
)


def test_nearly_the_same_is_a_hundred_thousandth_and_the_same_is_float32():
    log = Logged.of(torch.tensor([2.0, -1.0, torch.nan], dtype=torch.float64))
    assert log.tolerance == pytest.approx(1e-5 * 2 + 1e-6)
    assert log.exact == pytest.approx(4 * 2**-24 * 2)


@pytest.mark.parametrize("digits", [1, 2, 4, 7])
def test_decimals_are_seen(digits):
    log = Logged.of(VALUES.round(decimals=digits))
    assert log.coarse
    assert log.stored.absolute == pytest.approx(0.5 * 10**-digits)
    assert bool(((VALUES - log.values).abs() <= log.stored.room(log.values)).all())


@pytest.mark.parametrize(("dtype", "words"), [(torch.bfloat16, "bf16"), (torch.float16, "fp16")])
def test_16_bit_types_are_seen(dtype, words):
    log = Logged.of(VALUES.to(dtype).double())
    assert log.stored.words == words
    assert bool(((VALUES - log.values).abs() <= log.stored.room(log.values)).all())


def test_significant_digits_are_seen():
    values = torch.tensor([float(f"{v:.6g}") for v in (VALUES / 1000).tolist()], dtype=torch.float64)
    log = Logged.of(values)
    assert log.stored.words == "6 digits"
    assert bool(((VALUES / 1000 - values).abs() <= log.stored.room(values)).all())


@pytest.mark.parametrize(
    ("values", "words"),
    [
        # n = 3 binary over its std: ±0.57735 and ±1.1547.
        ([0.578125, -1.15625], "bf16"),
        ([0.57714844, 1.15429688], "fp16"),
        ([0.71, -0.71], "2 decimals"),
        ([0.866, 1.5, -0.5], "4 digits"),
    ],
)
def test_two_different_numbers_are_enough(values, words):
    given = torch.tensor(values, dtype=torch.float32).double() if "p" in words or "b" in words else None
    assert (
        Logged.of(torch.tensor(values, dtype=torch.float64) if given is None else given).stored.words == words
    )


@pytest.mark.parametrize("grid", [0.25, 0.5, 1 / 64])
def test_multiples_of_a_coarse_unit_were_not_rounded(grid):
    """Quarters have two decimals, and fit into 8 bits: by rounding they would fill all of those."""
    values = torch.tensor([-7, -5, -3, -2, -1, 1, 2, 3, 5, 6, 7, 9], dtype=torch.float64) * grid
    assert not Logged.of(values).coarse


def test_numbers_of_full_precision_are_not_coarse():
    assert not Logged.of(VALUES).coarse
    assert not Logged.of(VALUES.float().double()).coarse


def test_arithmetic_with_16_bits_is_wider():
    log = Logged.of(VALUES.to(torch.bfloat16).double())
    assert log.stored.arithmetic
    assert log.computed().stored.relative == 4 * log.stored.relative
    assert log.computed().exact > 1000 * log.exact


def test_half_step_of_rewards():
    many = torch.cat([VALUES, VALUES / 3])
    assert half_step(many.round(decimals=3)) == pytest.approx(0.0005)
    assert half_step(many) == 0.0
    # Binary rewards are not rounded.
    assert half_step(torch.tensor([0.0, 1.0, 1.0, 0.0], dtype=torch.float64)) == 0.0


def test_rounding_is_nothing_where_nothing_is_divided():
    rewards, std = torch.ones(2, dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    assert rounding(rewards, rewards, std, 0.0).tolist() == [0.0, 0.0]
    assert rounding(rewards, rewards, std, None, blur=0.5).tolist() == pytest.approx([1.5, 1.5], abs=1e-5)


def test_rounding_makes_nothing_of_equal_rewards():
    rewards, std = torch.ones(2, dtype=torch.float64), torch.tensor([0.0, 0.5], dtype=torch.float64)
    off = rounding(rewards, rewards, std, 1e-8)
    assert float(off[0]) == 0.0
    assert 0 < float(off[1]) < 1e-6
