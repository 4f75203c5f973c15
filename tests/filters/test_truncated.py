"""Rows at the longest length."""

import torch

from advcli.filters.truncated import truncated


def test_a_row_as_long_as_the_longest_was_cut_off():
    assert truncated(torch.tensor([0.0, 511.0, 512.0, 600.0]), max=512).tolist() == [True, True, False, False]
