"""Blocks of one size, through the segments that use them: beside Python's own max and min."""

import math
import random

import pytest
import torch

from advcli.tensors.blocks import in_blocks
from advcli.tensors.segments import Segments


@pytest.mark.parametrize("width", [1, 2, 3, 5, 6, 8, 12, 16, 17, 64])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.int64])
@pytest.mark.parametrize("step", [1, 2])
def test_extremes_of_blocks_of_any_width(width, dtype, step):
    chance = random.Random(width)
    rows = [[chance.randint(-9, 9) for _ in range(width)] for _ in range(4)]
    values = torch.tensor(rows, dtype=dtype).reshape(-1, 1).repeat(1, step)[:, 0]
    segments = Segments.of(torch.arange(4).repeat_interleave(width))
    assert segments.width == width
    assert segments.max(values).tolist() == [max(row) for row in rows]
    assert segments.min(values).tolist() == [min(row) for row in rows]
    assert segments.max(values).dtype == dtype


def test_extremes_of_a_block_with_a_nan_are_nan():
    segments = Segments.of(torch.arange(2).repeat_interleave(4))
    values = torch.tensor([0.0, math.nan, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert segments.max(values).isnan().tolist() == segments.min(values).isnan().tolist() == [True, False]


@pytest.mark.parametrize(
    ("index", "width"),
    [
        ([0, 0, 1, 0, 1, 1, 2, 2, 2], None),
        ([0, 1, 1, 0, 1, 1], None),
        ([0, 0, 2, 1, 1, 2], None),
        ([0, 1, 0, 1], None),
    ],
)
def test_rows_that_only_begin_and_end_like_blocks(index, width):
    assert Segments.of(torch.tensor(index)).width is width


@pytest.mark.parametrize(("index", "expected"), [([0, 0, 1, 1], True), ([0, 1, 0, 1], False)])
def test_an_index_at_which_numpy_cannot_look(index, expected):
    # Half precision, which it does not share with torch, stands for a device.
    assert in_blocks(torch.tensor(index, dtype=torch.bfloat16), 2, 2) is expected
