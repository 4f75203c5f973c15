"""What float32 makes of equal rewards, against numpy's and torch's own sums."""

import numpy as np
import pytest
import torch

from advcli.matching.dead import carried, off_mean, phantoms

FIGURES = [
    (reward, size)
    for reward in (0.1, 0.3, 0.7, 1.1, 2.3, -0.4)
    for size in (2, 3, 5, 6, 7, 8, 12, 16, 33, 64)
]


@pytest.mark.parametrize(("reward", "size"), FIGURES)
def test_the_means_of_numpy_and_torch_are_among_them(reward, size):
    row = np.full(size, reward, dtype=np.float32)
    one_by_one = np.float32(0)
    for value in row:
        one_by_one += value
    means = [
        row.mean(),
        torch.from_numpy(row).mean().item(),
        one_by_one / np.float32(size),
        row.mean(dtype=np.float64),
    ]
    known = off_mean(reward, size)
    for mean in means:
        off = abs(float(row[0]) - float(np.float32(mean)))
        assert min(abs(off - one) for one in known) <= 1e-12


def test_whole_numbers_leave_nothing():
    assert all(off_mean(1.0, size) <= {0.0, 2.0**-24} for size in range(2, 65))
    assert off_mean(1.0, 4) == {0.0}


def test_phantoms_lie_between_a_std_that_is_0_and_one_of_rows_that_are_all_off():
    # 0.1 three times is off by a unit of 2^-27: 7.45e-9 / (0 + 1e-6) or over the std of three such rows.
    found = sorted(set(phantoms(0.1, 3, 1e-6, 1)))
    assert found == pytest.approx([0.0, 7.4505806e-9 / (7.4505806e-9 * 1.5**0.5 + 1e-6), 7.4505806e-3])


def test_a_quarter_is_carried_by_no_group_of_ones():
    rewards = torch.tensor([1.0, 1.0, 0.1, 0.1], dtype=torch.float64)
    values = torch.tensor([0.25, 0.0, 7.4505806e-3, 0.25], dtype=torch.float64)
    sizes, room = torch.tensor([4, 4, 3, 3]), torch.full((4,), 1e-7, dtype=torch.float64)
    found = carried(rewards, values, sizes, room, eps=1e-6, ddof=1, clip=torch.inf, dtype="float32")
    assert found.tolist() == [False, True, True, False]


def test_the_mean_of_torch_in_bfloat16_is_among_them():
    # One by one, each sum rounded to 8 bits; numpy has no such type.
    row = torch.full((7,), 0.1, dtype=torch.bfloat16)
    total = row[0]
    for value in row[1:]:
        total = total + value
    assert abs(float(row[0]) - float(total / 7)) in off_mean(0.1, 7, "bfloat16")
