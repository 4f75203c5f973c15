"""Dead groups, singletons and missing rewards, counted by hand."""

import math

import pytest
import torch

from advcli.records.table import CAUSES, Rows
from advcli.stats.health import dead_groups, health
from advcli.tensors.segments import Segments

NAN = math.nan


def check(groups, skipped=0):
    """Health of the groups, given as their rewards; `skipped` rows belong to no group."""
    rewards = [reward for group in groups for reward in group] + [NAN] * skipped
    index = [number for number, group in enumerate(groups) for _ in group] + [-1] * skipped
    rows = Rows(
        rewards=torch.tensor(rewards, dtype=torch.float64),
        group=torch.tensor(index, dtype=torch.int64),
        count=len(groups),
        step=torch.zeros(len(rewards), dtype=torch.int64),
    )
    return health(rows, torch.zeros(len(rewards), dtype=torch.int8), {})


@pytest.mark.parametrize(
    ("groups", "dead", "top", "bottom", "singletons"),
    [
        # all-max, all-min, constant in between, alive
        ([[1, 1], [0, 0, 0], [0.5, 0.5], [0, 1]], 3, 1, 1, 0),
        # a missing row neither saves nor makes a dead group
        ([[1, 1, NAN], [0, NAN, 1], [0, 0, NAN, NAN]], 2, 1, 1, 0),
        # one valid row is a singleton, not dead; none is neither
        ([[1], [0, NAN], [NAN, NAN], [0, 1]], 0, 0, 0, 2),
        # constants that are inexact in binary
        ([[0.1] * 8, [0.9] * 7, [0.3] * 6], 3, 1, 1, 0),
        # by the smallest difference alive
        ([[1.0, 1.0 + 2**-52], [1e-300, 2e-300]], 0, 0, 0, 0),
        # one level only: at neither end
        ([[0.5, 0.5], [0.5, 0.5]], 2, 0, 0, 0),
        # the largest reward may be that of a singleton
        ([[0.5, 0.5], [9.0]], 1, 0, 1, 1),
        ([[-2, -2], [-1, -1]], 2, 1, 1, 0),
        ([[NAN]], 0, 0, 0, 0),
        ([], 0, 0, 0, 0),
    ],
)
def test_dead_groups_and_singletons(groups, dead, top, bottom, singletons):
    found = check(groups)
    assert (found.dead_groups, found.dead_max, found.dead_min, found.singletons) == (
        dead,
        top,
        bottom,
        singletons,
    )
    assert (found.rows, found.groups) == (sum(map(len, groups)), len(groups))


def test_rows_that_were_left_out_do_not_count():
    found = check([[1, 1], [0]], skipped=2)
    assert (found.rows, found.groups, found.dead_groups, found.singletons) == (3, 2, 1, 1)


def test_missing_by_cause():
    rows = Rows(
        rewards=torch.tensor([1.0, NAN, NAN, NAN, NAN, NAN, NAN, 0.0]),
        group=torch.zeros(8, dtype=torch.int64),
        count=1,
        step=torch.zeros(8, dtype=torch.int64),
    )
    found = health(rows, torch.tensor([0, 1, 2, 2, 3, 3, 3, 0], dtype=torch.int8), {8: 1})
    assert CAUSES == ("null", "NaN", "inf")
    assert found.missing_by_cause == {"null": 1, "NaN": 2, "inf": 3}
    assert (found.missing, found.sizes) == (6, {8: 1})


def test_dead_groups_gives_the_level():
    index = torch.tensor([0, 1, 0, 2, 2])
    dead, level = dead_groups(torch.tensor([0.1, 5.0, 0.1, 3.0, 4.0]), Segments.of(index, 3))
    assert dead.tolist() == [True, False, False]
    assert level.tolist() == pytest.approx([0.1, 5.0, 4.0])
