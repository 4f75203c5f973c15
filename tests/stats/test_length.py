"""Lengths, compared with plain loops over the groups."""

import math

import pytest
import references_inspect as plain
import torch
from repeated import over

from advcli.records.table import Rows
from advcli.stats.length import correlation, lengths


def as_rows(rows, *, lengths=True):
    column = torch.tensor([row["length"] for row in rows], dtype=torch.float64)
    return Rows(
        rewards=torch.tensor([row["reward"] for row in rows], dtype=torch.float64),
        group=torch.tensor([row["group"] for row in rows]),
        count=40,
        step=torch.tensor([row["step"] for row in rows]),
        lengths=column if lengths else None,
    )


@over(seed=range(4))
def test_figures_of_a_messy_dump(seed):
    rows = plain.messy(seed)
    for place, row in enumerate(rows):
        row["advantage"] = math.nan if math.isnan(row["reward"]) else math.sin(place)
    found = lengths(as_rows(rows), torch.tensor([row["advantage"] for row in rows], dtype=torch.float64))
    told = [row for row in rows if row["group"] >= 0 and not math.isnan(row["length"])]
    dead = {group for group, values in plain.by_group(rows).items() if plain.is_dead(values)}
    tokens = [row["length"] for row in told]
    assert found.mean == pytest.approx(plain.mean(tokens))
    assert found.max == max(tokens)
    assert found.with_reward == pytest.approx(plain.correlation(rows, "length", "reward"))
    assert found.with_advantage == pytest.approx(plain.correlation(rows, "length", "advantage"))
    assert found.dead_tokens == pytest.approx(
        sum(row["length"] for row in told if row["group"] in dead) / sum(tokens)
    )


def test_no_lengths_is_none():
    rows = plain.messy(0)
    assert lengths(as_rows(rows, lengths=False), torch.zeros(len(rows))) is None


@pytest.mark.parametrize(("scale", "expected"), [(1.0, 1.0), (-3e200, -1.0)])
def test_groups_that_differ_in_level_do_not_count(scale, expected):
    # Across groups the longer ones have the smaller reward; inside each it is as `scale` says.
    tokens = torch.tensor([1.0, 3.0, 101.0, 103.0], dtype=torch.float64)
    rewards = torch.tensor([8.0, 9.0, 0.0, 1.0], dtype=torch.float64) * scale
    assert correlation(tokens, rewards, torch.tensor([0, 0, 1, 1]), 2) == pytest.approx(expected)


def test_constant_in_every_group_is_undefined():
    group = torch.tensor([0, 0, 1, 1])
    varied = torch.tensor([1.0, 2.0, 3.0, 4.0])
    assert math.isnan(correlation(varied, torch.tensor([5.0, 5.0, 7.0, 7.0]), group, 2))
    assert math.isnan(correlation(torch.zeros(0), torch.zeros(0), torch.zeros(0, dtype=torch.int64), 0))
