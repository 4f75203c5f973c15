"""Statistics over groups, against Python's own over plain lists."""

import math
import statistics

import pytest
import torch

from advcli.shaping.groups import Groups

REWARDS = [1.0, 0.0, math.nan, 1.0, 0.5, 0.0, 1.0]
GROUP = [0, 1, 0, 0, 1, -1, 2]
VALUES = [3.0, 5.0, 9.0, 1.0, math.nan, 7.0, 2.0]


def groups():
    return Groups.of(torch.tensor(REWARDS), torch.tensor(GROUP))


def counted(group):
    """The values of the rows of a group that have a reward and a value."""
    return [
        v
        for r, g, v in zip(REWARDS, GROUP, VALUES, strict=True)
        if g == group and math.isfinite(r) and math.isfinite(v)
    ]


@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("sum", sum),
        ("mean", statistics.fmean),
        ("min", min),
        ("max", max),
        ("std", lambda values: statistics.stdev(values) if len(values) > 1 else math.nan),
    ],
)
def test_a_statistic_is_that_of_the_rows_with_a_reward(name, of):
    found = getattr(groups(), name)(torch.tensor(VALUES, dtype=torch.float64)).tolist()
    for row, group in enumerate(GROUP):
        if group >= 0 and math.isfinite(REWARDS[row]):
            assert found[row] == pytest.approx(of(counted(group)), nan_ok=True)


def test_rank_gives_equal_values_the_lowest_place():
    found = Groups.of(torch.ones(6), torch.tensor([0, 1, 0, 0, 1, 0])).rank(
        torch.tensor([4.0, 9.0, 2.0, 4.0, 8.0, 7.0])
    )
    assert found.tolist() == [2, 2, 1, 2, 1, 4]


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.9, 1.0])
def test_quantiles_are_those_of_numpy(share):
    generator = torch.Generator().manual_seed(1)
    values, group = (
        torch.rand(40, generator=generator).double(),
        torch.randint(0, 5, (40,), generator=generator),
    )
    where = torch.rand(40, generator=generator) > 0.3
    found = Groups.of(torch.ones(40), group).quantile(values, share, where)
    for row in range(40):
        same = values[(group == group[row]) & where]
        assert float(found[row]) == pytest.approx(float(torch.quantile(same, share)))


def test_without_rows_there_is_nothing():
    one = Groups.of(torch.zeros(0), torch.zeros(0, dtype=torch.int64))
    assert one.mean(torch.zeros(0)).tolist() == one.rank(torch.zeros(0)).tolist() == []


def test_one_row_is_its_own_quantile():
    one = Groups.of(torch.tensor([1.0, math.nan, 1.0]), torch.tensor([0, 0, 1]))
    assert one.quantile(torch.tensor([3.0, 9.0, math.nan]), 0.25).tolist() == pytest.approx(
        [3.0, math.nan, math.nan], nan_ok=True
    )


def test_rank_among_some_of_the_rows():
    some = torch.tensor([True, False, True])
    found = Groups.of(torch.ones(3), torch.zeros(3, dtype=torch.int64)).rank(
        torch.tensor([3.0, 1.0, 2.0]), some
    )
    assert found.tolist() == pytest.approx([2, math.nan, 1], nan_ok=True)
