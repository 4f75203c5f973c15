"""Which rows are looked at first, and what is known of groups, by hand."""

import pytest
import torch

from advcli.matching.logged import Logged
from advcli.matching.sample import FIRST, SIZE, Groups, Slice, by_steps, sample

NAN = torch.nan


def numbers(*values):
    return torch.tensor(values, dtype=torch.float64)


def everything(group, step=None, rewards=None, logged=None):
    """All rows; rewards that differ within each group unless they are given."""
    group = torch.as_tensor(group)
    many = len(group)
    rewards = torch.arange(many, dtype=torch.float64) if rewards is None else rewards
    columns = {
        "rewards": rewards,
        "group": group,
        "step": torch.zeros(many, dtype=torch.int64) if step is None else step,
    }
    values = torch.arange(1, many + 1, dtype=torch.float64) if logged is None else logged
    return Slice.of(columns, Logged.of(values), None, whole=True)


def test_the_spread_of_groups():
    groups = Groups(numbers(1, -5, 3, 2, NAN, 9), torch.tensor([0, 1, 0, 1, 1, -1]))
    assert groups.stds.tolist() == pytest.approx([2**0.5, 7 / 2**0.5])
    assert groups.extent.tolist()[:5] == [3, 5, 3, 5, 5]
    assert groups.used.tolist() == [True] * 5 + [False]
    assert groups.valid.tolist() == [True] * 4 + [False] * 2


def test_groups_without_a_reward_have_no_spread():
    groups = Groups(numbers(NAN, NAN), torch.tensor([0, 0]))
    assert groups.stds.tolist() == [0]
    assert groups.extent.tolist() == [0, 0]


def test_few_rows_are_all_looked_at():
    assert sample(everything(torch.arange(2 * SIZE) // 4), FIRST) is None


@pytest.mark.parametrize("size", [FIRST, SIZE])
def test_groups_are_taken_whole(size):
    group = torch.arange(40_000) // 8
    rows = sample(everything(group), size)
    assert rows is not None
    taken = group[rows].bincount(minlength=5000)
    assert set(taken.tolist()) == {0, 8}
    assert size <= len(rows) <= 2 * size


def test_steps_are_taken_whole_where_they_are_small():
    group = torch.arange(40_000) // 8
    step = torch.arange(40_000) // 80
    part = everything(group, step)
    rows = sample(part, SIZE)
    assert by_steps(part, SIZE)
    assert set(step[rows].bincount().tolist()) <= {0, 80}
    assert len(rows) == pytest.approx(SIZE, rel=0.05)


def test_groups_over_several_steps_are_not_cut_by_steps():
    group = torch.arange(40_000) // 8
    step = torch.arange(40_000) % 500
    part = everything(group, step)
    assert not part.one_step_each
    assert not by_steps(part, SIZE)


def odd_one(what):
    """40,000 rows in groups of eight, of which number 3,333 is odd; it lies at no round place."""
    draw = torch.Generator().manual_seed(0)
    group = torch.arange(40_000) // 8
    rewards = torch.rand(40_000, dtype=torch.float64, generator=draw)
    logged = torch.rand(40_000, dtype=torch.float64, generator=draw) + 1
    mine = group == 3333
    if what == "dead":
        rewards[mine] = 0.5
    elif what == "missing":
        rewards[torch.nonzero(mine)[0]] = NAN
    elif what == "size":
        group[torch.nonzero(mine)[0]] = 3334
    elif what == "filtered":
        logged[torch.nonzero(mine)[0]] = 0
    elif what == "narrow":
        rewards[mine] = 0.5 + 1e-3 * rewards[mine]
    elif what == "wide":
        rewards[mine] *= 100
    return everything(group, rewards=rewards, logged=logged)


@pytest.mark.parametrize("what", ["dead", "missing", "size", "filtered", "narrow", "wide"])
@pytest.mark.parametrize("size", [FIRST, SIZE])
def test_an_odd_group_is_looked_at_wherever_it_lies(what, size):
    part = odd_one(what)
    assert 3333 in part.columns["group"][sample(part, size)].tolist()


def test_a_slice_renumbers_its_groups_and_keeps_rows_without_one():
    columns = {
        "rewards": numbers(1, 2, 3, 4, 5),
        "group": torch.tensor([4, 9, -1, 4, 9]),
        "step": torch.tensor([2, 2, 2, 7, 7]),
        "weights": numbers(1.0),
    }
    part = Slice.of(columns, Logged.of(numbers(10, 20, 30, 40, NAN)), torch.tensor([1, 2, 4]), whole=False)
    assert part.columns["group"].tolist() == [0, -1, 0]
    assert part.columns["step"].tolist() == [0, 0, 1]
    assert part.columns["weights"].tolist() == [1]
    assert part.compared().tolist() == [True, False, False]
    assert part.given.values.tolist() == [20]
    assert part.given.empty.tolist() == [False, False, True]


def test_another_comparison_keeps_what_was_computed():
    part = everything(torch.tensor([0, 0, 1, 1]))
    part.predictions["work"] = numbers(1, 2, 3, 4)
    loose = part.against(part.logged.computed(), blur=0.5)
    assert loose.predictions is part.predictions
    assert loose.groups is part.groups
    assert loose.blur == 0.5
