"""The ways to group the rows: by hand what they are, and in which order."""

import numpy as np
from logged_tables import table

import advcli.matching.partitions as module
from advcli.matching.partitions import Kind, partitions


def rows(group, step, logged=None):
    group, step = np.array(group), np.array(step)
    rewards = np.arange(len(group), dtype=float)[:, None]
    given = np.zeros(len(group)) if logged is None else np.array(logged, dtype=float)
    return table(rewards, group, step, given)


def groups(ways):
    return [way.grouping.group.tolist() for way in ways]


def test_the_recognised_groups_come_first():
    ways = partitions(rows([7, 7, 3, 3], [0, 0, 0, 0]))
    assert ways[0].kind is Kind.KEY
    assert ways[0].grouping.group.tolist() == [0, 0, 1, 1]


def test_a_prompt_in_two_steps_is_grouped_with_and_without_the_step():
    found = groups(partitions(rows([5, 5, 5, 5], [0, 0, 1, 1])))
    assert found[0] == [0, 0, 1, 1]
    assert [0, 0, 0, 0] in found


def test_a_prompt_drawn_twice_is_cut_by_the_commonest_size():
    found = groups(partitions(rows([1, 1, 2, 2, 3, 3, 3, 3], [0] * 8)))
    assert found[0] == [0, 0, 1, 1, 2, 2, 2, 2]
    assert [0, 0, 1, 1, 2, 2, 3, 3] in found


def test_interleaved_rows_are_grouped_by_position_too():
    found = groups(partitions(rows([1, 2, 1, 2], [0] * 4)))
    assert found[0] == [0, 1, 0, 1]
    assert [0, 0, 1, 1] in found


def test_position_goes_by_the_size_at_which_the_advantages_sum_to_zero():
    logged = [1.0, 1.0, -2.0, 0.5, 0.5, -1.0]
    found = groups(partitions(rows([1, 2, 3, 4, 5, 5], [0] * 6, logged)))
    assert [0, 0, 0, 1, 1, 1] in found


def test_whole_steps_come_last():
    assert (
        groups(partitions(rows([1, 1, 2, 2, 3, 3, 4, 4], [0, 0, 0, 0, 1, 1, 1, 1])))[-1] == [0] * 4 + [1] * 4
    )


def test_no_grouping_comes_twice():
    found = groups(partitions(rows([1, 1, 2, 2], [0, 0, 1, 1])))
    assert len(found) == len({tuple(group) for group in found})


def test_n_cuts_what_was_recognised():
    found = groups(partitions(rows([1, 1, 1, 1], [0] * 4), n=2))
    assert found[0] == [0, 0, 1, 1]


def test_of_later_ways_none_is_made_before_it_is_asked_for(monkeypatch):
    made = []

    real = module.group
    monkeypatch.setattr(module, "group", lambda *given, **more: made.append(1) or real(*given, **more))
    ways = partitions(rows([1, 1, 2, 2], [0] * 4))
    assert ways
    assert ways[0].kind is Kind.KEY
    assert len(made) == 1
    assert len(ways) > 1
    assert len(made) > 1
