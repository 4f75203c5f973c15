"""How an advantage is spread, in numbers made by hand."""

import math

import pytest
import torch

from advcli.records.table import Rows
from advcli.stats.concentration import effective_rows, token_share


@pytest.mark.parametrize(
    ("advantages", "expected"),
    [
        ([1, 1, 1, 1], 4),
        ([1, -1, 0, 0], 2),
        ([5, 0, 0], 1),
        ([3, -1], 1.6),
        ([1e-200, 1e-200], 2),
        ([1e200, 1e200], 2),
    ],
)
def test_effective_rows(advantages, expected):
    assert effective_rows(torch.tensor(advantages, dtype=torch.float64)) == pytest.approx(expected)


@pytest.mark.parametrize("advantages", [[], [0.0, 0.0]])
def test_no_effective_rows(advantages):
    assert math.isnan(effective_rows(torch.tensor(advantages)))


def rows(lengths):
    group = torch.tensor([0, 0, 1, 1, 2])
    return Rows(torch.zeros(5), group, 3, torch.zeros(5, dtype=torch.int64), lengths)


def test_token_share():
    kept = torch.tensor([True, False, True, False, False])
    assert token_share(rows(torch.tensor([10.0, 20.0, math.nan, 20.0, -5.0])), kept) == 0.2
    assert token_share(rows(None), kept) is None
    assert math.isnan(token_share(rows(torch.zeros(5)), kept))
