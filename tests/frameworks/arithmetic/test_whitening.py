"""Mean and variance over the tokens of a step: by hand, and digit by digit where float32 loses some."""

import numpy as np
import pytest
import torch

from advcli.frameworks.arithmetic.whitening import moments, of_rows, of_tokens

KINDS = ("two-pass", "two-pass by token", "flat", "flat by token", "one-pass")


def of(values, lengths, step, **given):
    columns = torch.tensor(values), torch.tensor(lengths), torch.tensor(step)
    return [found.tolist() for found in moments(*columns, *of_rows(*columns), **given)]


@pytest.mark.parametrize("variance", KINDS)
@pytest.mark.parametrize("offset", [0.0, 64.0])
def test_every_kind_gives_the_variance(variance, offset):
    # Step 0: 3, 5, 5, mean 13/3, squares about it 8/3; step 1: 1, 1, 3, 3 with mean 2 and squares 4.
    values = [3.0 + offset, 1.0 + offset, 5.0 + offset, 3.0 + offset]
    mean, spread = of(values, [1.0, 2.0, 2.0, 2.0], [0, 1, 0, 1], variance=variance)
    assert mean == pytest.approx([13 / 3 + offset, 2 + offset])
    assert spread == pytest.approx([4 / 3, 4 / 3], rel=1e-3)
    assert of(values, [1.0, 2.0, 2.0, 2.0], [0, 1, 0, 1], variance=variance, ddof=0)[1] == pytest.approx(
        [8 / 9, 1], rel=1e-3
    )


@pytest.mark.parametrize("variance", KINDS)
def test_tokens_are_laid_out_where_they_stand(variance):
    # 65 at the first and third place of one row, 67 at the first of the other.
    values, row = torch.tensor([65.0, 65.0, 67.0]), torch.tensor([0, 0, 1])
    place, step = torch.tensor([0, 2, 0]), torch.zeros(3, dtype=torch.int64)
    sheet, cells = of_tokens(values, row, place, step)
    assert cells.tolist() == [6]
    laid, there = sheet(torch.arange(3))
    assert laid.tolist() == [[65, 0, 65], [67, 0, 0]]
    assert there.tolist() == [[True, False, True], [True, False, False]]
    mean, spread = moments(values, torch.ones(3), step, sheet, cells, variance=variance)
    assert (mean.item(), spread.item()) == pytest.approx((197 / 3, 4 / 3), rel=1e-3)


def test_one_pass_loses_the_digits_of_a_trainer():
    x = np.float32([1000.1, 1000.2, 1000.4, 1000.3])
    found = of(x.tolist(), [1.0] * 4, [0] * 4, variance="one-pass")
    assert found[0] == [pytest.approx(1000.25, rel=1e-6)]
    # E x² and (E x)² are near 1e6, where float32 has steps of 1/16: so has their difference, before · n/(n−1).
    steps = found[1][0] * 3 / 4 * 16
    assert steps == pytest.approx(round(steps), abs=1e-4)
    assert found[1][0] != pytest.approx(x.astype(np.float64).var(ddof=1), rel=0.01)


def test_the_matrix_of_rows():
    columns = torch.tensor([7.0, 9.0]), torch.tensor([2.0, 1.0]), torch.zeros(2, dtype=torch.int64)
    sheet, cells = of_rows(*columns)
    assert cells.tolist() == [4]
    assert sheet(torch.tensor([0, 1]))[0].tolist() == [[7, 7], [9, 0]]
