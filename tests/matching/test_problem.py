"""What is looked at once, and what a changed search keeps."""

import torch
from searched import problem

ROWS = 40_000


def large(step_rows=80):
    draw = torch.Generator().manual_seed(1)
    rewards = torch.rand(ROWS, generator=draw).double().tolist()
    rows = range(ROWS)
    return problem(rewards, [row // 8 for row in rows], rewards, [row // step_rows for row in rows])


def test_rows_are_looked_at_once():
    given = large()
    way = given.partitions[0]
    assert given.whole(way) is given.whole(way)
    assert given.part(way) is given.part(way)
    assert given.part(way).rows is not None


def test_other_rules_see_the_same_rows():
    given = large()
    way = given.partitions[0]
    other = given.but(candidates=given.candidates[:1])
    assert other.part(way) is given.part(way)


def test_other_rewards_are_looked_at_in_the_same_rows():
    given = large()
    way = given.partitions[0]
    part = given.part(way)
    other = given.but(columns={**given.columns, "rewards": 2 * given.columns["rewards"]}).part(way)
    assert other.rows is part.rows
    assert other.columns["rewards"].tolist() == (2 * part.columns["rewards"]).tolist()


def test_excluded_rows_are_in_no_group():
    given = problem([1.0, 2.0, 3.0], [0, 0, 1], [1.0, 2.0, 3.0])
    left_out = given.but(excluded=torch.tensor([False, True, False]))
    assert left_out.whole(given.partitions[0]).columns["group"].tolist() == [0, -1, 1]
    assert given.whole(given.partitions[0]).columns["group"].tolist() == [0, 0, 1]


def test_another_tolerance_is_seen_in_rows_that_were_looked_at():
    given = problem([1.0, 2.0], [0, 0], [0.1, 0.2])
    way = given.partitions[0]
    given.whole(way)
    assert given.but(blur=0.5).whole(way).blur == 0.5


def test_one_step_is_whole_the_largest_that_is_quickly_looked_at():
    step = [0] * 6 + [1] * 4 + [2] * 8
    group = [row // 2 for row in range(18)]
    given = problem([float(row) for row in range(18)], group, [1.0] * 18, step)
    part = given.step(given.partitions[0])
    assert part.rows.tolist() == list(range(10, 18))
    assert part.whole


def test_there_is_no_whole_step_where_groups_reach_over_steps():
    given = problem([0.0, 1.0, 2.0, 3.0], [0, 0, 0, 0], [1.0] * 4, [0, 0, 1, 1])
    assert given.step(given.partitions[0]) is None
