"""Reward shaping against the formulas, number by number."""

import math

import pytest
import torch

from advcli.shaping import rewards


def numbers(*values):
    return torch.tensor(values, dtype=torch.float64)


@pytest.mark.parametrize(
    ("length", "free", "capped"),
    [(0, 1.0, 1.0), (3584, 1.0, 1.0), (3585, 0.998046875, 0.998046875), (4096, 0.0, 0.0), (4608, -1.0, 0.0)],
)
def test_overlong(length, free, capped):
    # DAPO's numbers: 4096 tokens, the last 512 of them punished more and more.
    given = {"max": 4096, "buffer": 512}
    assert rewards.overlong(numbers(1.0), numbers(length), **given).item() == free
    assert rewards.overlong(numbers(1.0), numbers(length), **given, cap=1).item() == capped


def test_the_factor_of_overlong_is_the_penalty_at_the_longest_length():
    found = rewards.overlong(numbers(1.0, 1.0), numbers(100, 140), max=100, buffer=20, factor=0.5, cap=1)
    assert found.tolist() == [0.5, 0.5]


def test_affine_shifts_first():
    assert rewards.affine(numbers(1.0, 0.0), scale=10, shift=-0.5).tolist() == [5.0, -5.0]


def test_clip():
    found = rewards.clip(numbers(-3.0, 0.5, 7.0, math.nan), min=-1, max=2)
    assert found[:3].tolist() == [-1.0, 0.5, 2.0]
    assert found[3].isnan()


def test_less_kl():
    assert rewards.less_kl(numbers(1.0, 0.0), numbers(2.0, -1.0), coef=0.25).tolist() == [0.5, 0.25]


@pytest.mark.parametrize(
    "shaped",
    [
        lambda r: rewards.overlong(r, numbers(1, 2), max=2, buffer=1),
        lambda r: rewards.affine(r, scale=2, shift=1),
        lambda r: rewards.clip(r, min=0, max=1),
        lambda r: rewards.less_kl(r, numbers(1, 2), coef=1),
    ],
)
def test_missing_stays_missing_and_nothing_is_written_to(shaped):
    given = numbers(math.nan, 5.0)
    found = shaped(given)
    assert found[0].isnan()
    assert found[1].isfinite()
    assert given[1].item() == 5.0
